// How fast the page is: time to the first picture, frames a second while panning, memory of the page.
//
//     node crates/view/browser/measure.mjs big.pickle
//
// `make measure-view` makes the file and runs this. Prints one line per number with its bound; exit 1 if one is missed.

import { readFileSync } from 'node:fs';
import os from 'node:os';

import { blank, launch, serve, settle } from './browser.mjs';

const PAN_SECONDS = 5;
const BOUNDS = { firstPicture: 2_000, framesPerSecond: 30, megabytes: 300 };

const browser = await launch();
// A person has a browser open: its own start does not count.
const page = await blank(browser);
await page.goto('about:blank');

const server = await serve(process.argv[2]);
await page.goto(server.url);
await page.waitForSelector('html[data-ready]', { timeout: 60_000 });
const firstPicture = performance.now() - server.started - server.times.read;
await settle(page);

const pans = [];
for (const share of [0.5, 0.05, 0.002]) pans.push(await pan(page, share));
const megabytes = await rendererMegabytes();
const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 2 ** 20);
const script = await page.evaluate(() => fetch('page.js').then((answer) => answer.text()).then((text) => text.length));

const slowest = Math.min(...pans.map((it) => it.framesPerSecond));
report('first picture after reading', firstPicture, BOUNDS.firstPicture, 'ms', firstPicture <= BOUNDS.firstPicture);
const { read, url, readCpu, urlCpu } = server.times;
console.log(`  of that: laying out ${Math.round(url - read)} ms (${urlCpu - readCpu} ms of a core), page ${Math.round(await page.evaluate(() => oomph.firstPicture))} ms`);
pans.forEach((it) => report(`panning over ${it.share * 100}% of the file`, it.framesPerSecond, BOUNDS.framesPerSecond, 'frames/s', it.framesPerSecond >= BOUNDS.framesPerSecond));
console.log(`  longest frame ${Math.round(Math.max(...pans.map((it) => it.longest)))} ms, drawing ${Math.max(...pans.map((it) => it.drawing)).toFixed(1)} ms at most on average`);
report('memory of the page (process, proportional)', megabytes, BOUNDS.megabytes, 'MB', megabytes <= BOUNDS.megabytes);
console.log(`  JavaScript heap ${heap.toFixed(1)} MB; script ${(script / 1024).toFixed(1)} KiB; load average ${os.loadavg()[0].toFixed(1)} on ${os.cpus().length} cores`);
await browser.close();
await server.stop();
process.exitCode = firstPicture <= BOUNDS.firstPicture && slowest >= BOUNDS.framesPerSecond && megabytes <= BOUNDS.megabytes ? 0 : 1;

function report(name, value, bound, unit, kept) {
  console.log(`${kept ? 'ok  ' : 'MISS'} ${name}: ${Math.round(value)} ${unit} (bound ${bound})`);
}

/** Drags the picture to and fro as a hand does: one pointer event per frame of the screen. */
async function pan(page, share) {
  await page.evaluate((part) => {
    const { chart, axis } = oomph;
    chart.show(axis.extent * 0.4, axis.extent * (0.4 + part));
    oomph.redraw();
  }, share);
  await settle(page);
  const seen = await page.evaluate(panInPage, PAN_SECONDS);
  return { share, ...seen };
}

function panInPage(duration) {
  const { chart } = oomph;
  const canvas = chart.canvas;
  const box = canvas.getBoundingClientRect();
  const event = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, button: 0, clientX: x, clientY: box.top + 150, bubbles: true }));
  canvas.setPointerCapture = () => {};
  let drawing = 0;
  const draw = chart.draw.bind(chart);
  chart.draw = () => {
    const start = performance.now();
    draw();
    drawing += performance.now() - start;
  };
  return new Promise((resolve) => {
    const start = performance.now();
    const before = chart.frames;
    let [x, direction, last, longest] = [box.left + 400, -1, start, 0];
    event('pointerdown', x);
    const move = (now) => {
      longest = Math.max(longest, now - last);
      last = now;
      x += 9 * direction;
      if (x < box.left + 100 || x > box.left + 900) direction = -direction;
      event('pointermove', x);
      if (now - start < duration * 1000) return requestAnimationFrame(move);
      event('pointerup', x);
      delete chart.draw;
      const frames = chart.frames - before;
      return resolve({ framesPerSecond: frames / ((now - start) / 1000), longest, drawing: drawing / frames });
    };
    requestAnimationFrame(move);
  });
}

/** What the renderer's process has to itself, and its part of what it shares. */
async function rendererMegabytes() {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const sizes = processInfo.filter((it) => it.type === 'renderer').map((it) => {
    const [, kilobytes] = readFileSync(`/proc/${it.id}/smaps_rollup`, 'utf8').match(/^Pss:\s+(\d+)/m);
    return kilobytes * 1024 / 1e6;
  });
  return Math.max(...sizes);
}
