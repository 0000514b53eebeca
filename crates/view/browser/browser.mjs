// Starts `oomph view` and Debian's Chromium for the tests and the measurement.
//
// OOMPH names the command, CHROMIUM the browser; PLAYWRIGHT is the folder with node_modules/playwright-core.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const OOMPH = process.env.OOMPH ?? 'target/release/oomph';
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** Software rendering, nothing in the background, no network: what a small CI machine has. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

export async function launch() {
  const folder = path.resolve(process.env.PLAYWRIGHT ?? '.', 'package.json');
  const { chromium } = createRequire(folder)('playwright-core');
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** Runs `oomph view` until it says where the page is. Times are in ms since it started. */
export async function serve(...args) {
  const started = performance.now();
  const child = spawn(OOMPH, ['view', ...args], { stdio: ['ignore', 'inherit', 'pipe'] });
  const times = {};
  let said = '';
  const url = await new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      said += chunk;
      if (/^Read /m.test(said) && !times.read) Object.assign(times, { read: performance.now() - started, readCpu: cpu(child.pid) });
      const found = said.match(/http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]+\//);
      if (found) resolve(found[0]);
    });
    child.on('exit', (code) => reject(new Error(`oomph view ended with ${code}: ${said}`)));
  });
  Object.assign(times, { url: performance.now() - started, urlCpu: cpu(child.pid) });
  const ended = new Promise((resolve) => { child.on('exit', (code, signal) => resolve({ code, signal })); });
  const stop = (signal = 'SIGINT') => {
    child.kill(signal);
    return ended;
  };
  return { url, times, started, stop, pid: child.pid };
}

/** Milliseconds of processor time that a process has used: on a busy machine, times on the clock say little. */
function cpu(pid) {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}

/** Runs a command to its end. */
export async function run(...args) {
  const child = spawn(OOMPH, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  child.stdout.on('data', (chunk) => { out += chunk; });
  child.stderr.on('data', (chunk) => { out += chunk; });
  const code = await new Promise((resolve) => { child.on('exit', resolve); });
  return { code, out };
}

/** A page that has drawn its first picture. Collects what it asks for and what goes wrong in it. */
export async function open(browser, url, options = {}) {
  const page = await blank(browser, options);
  await page.goto(url);
  await page.waitForSelector('html[data-ready]', { timeout: 30_000 });
  return page;
}

/** An empty page that collects. */
export async function blank(browser, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, ...options });
  page.problems = [];
  page.asked = [];
  page.on('request', (request) => page.asked.push(request.url()));
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('console', (message) => { if (message.type() === 'error') page.problems.push(message.text()); });
  return page;
}

/** Waits until nothing is asked for and everything in sight is drawn. */
export async function settle(page) {
  await page.waitForFunction(() => oomph.chart.missing === 0 && oomph.tiles.idle && !oomph.drawing);
  await page.waitForTimeout(150);
  await page.waitForFunction(() => oomph.tiles.idle && !oomph.drawing);
}
