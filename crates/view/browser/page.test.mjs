// The page in a real browser: drawn, read, steered by mouse and keyboard, from the server and from a saved file.
//
// CI machines may have no browser, so this is not part of `make test`: `make browser` installs what it needs and runs it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { launch, open, run, serve, settle } from './browser.mjs';

const FOLDER = mkdtempSync(path.join(os.tmpdir(), 'view-'));
/** Pictures are kept here for people to look at. */
const SHOTS = process.env.SHOTS ?? path.join(FOLDER, 'shots');
const ACTIVATION = [0xe8, 0xa2, 0x1c];
const PARAMETER = [0x2f, 0x6d, 0xb5];
const file = (name) => path.join(FOLDER, name);

let browser;
let server;

before(async () => {
  mkdirSync(SHOTS, { recursive: true });
  execFileSync('python3', [path.join(import.meta.dirname, 'fixture.py'), FOLDER]);
  browser = await launch();
  server = await serve(file('one.pickle'));
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(FOLDER, { recursive: true });
});

/** How many pixels of the chart are about of a colour. */
function pixels(page, colour, canvas = 'chart') {
  return page.evaluate(([id, wanted]) => {
    const element = document.getElementById(id);
    const { data } = element.getContext('2d').getImageData(0, 0, element.width, element.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (wanted.every((value, part) => Math.abs(data[at + part] - value) < 30)) count += 1;
    }
    return count;
  }, [canvas, colour]);
}

/** Where on the screen an event and a height are. */
function point(page, moment, mib) {
  return page.evaluate(([at, amount]) => {
    const { chart } = oomph;
    const box = chart.canvas.getBoundingClientRect();
    return { x: box.left + chart.toX(at + 0.5) / chart.ratio, y: box.top + chart.toY(amount * 2 ** 20) / chart.ratio };
  }, [moment, mib]);
}

const state = (page) => page.evaluate(() => ({ span: oomph.chart.span, x0: oomph.chart.x0, extent: oomph.extent, axis: oomph.axis.id, by: oomph.grouping.id }));
const shot = (page, name) => page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
const text = (page, selector) => page.locator(selector).innerText();

async function withPage(options, action, url = server.url) {
  const page = await open(browser, url, options);
  await settle(page);
  try {
    await action(page);
    assert.deepEqual(page.problems, []);
  } finally {
    await page.close();
  }
}

describe('from the server', () => {
  test('draws memory by category, the limit and what was refused', () => withPage({}, async (page) => {
    assert.ok(await pixels(page, ACTIVATION) > 5_000);
    assert.ok(await pixels(page, PARAMETER) > 5_000);
    assert.ok(await pixels(page, [0xb3, 0x17, 0x1e]) > 200);
    assert.ok(await pixels(page, PARAMETER, 'map') > 500);
    assert.match(await text(page, '#facts'), /peak 1\.31 GiB · reserved 2 GiB · Test Card 2 GiB/);
    assert.match(await text(page, '#now'), /At the peak/);
    await shot(page, 'light');
  }));

  test('is dark where the desktop is', () => withPage({ colorScheme: 'dark' }, async (page) => {
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(background, 'rgb(20, 22, 26)');
    assert.ok(await pixels(page, [20, 22, 26]) > 20_000);
    await shot(page, 'dark');
  }));

  test('switches groups off and on in the legend', () => withPage({}, async (page) => {
    const activation = page.getByRole('button', { name: /^activation/ });
    const before = await pixels(page, ACTIVATION);
    await activation.click();
    await settle(page);
    assert.equal(await activation.getAttribute('aria-pressed'), 'false');
    assert.ok(await pixels(page, ACTIVATION) < before / 20);
    assert.match(await text(page, '#now-totals'), /Shown/);
    await activation.click();
    await settle(page);
    assert.equal(await pixels(page, ACTIVATION), before);
  }));

  test('zooms with the wheel to single events and back', () => withPage({}, async (page) => {
    const { x, y } = await point(page, 60, 100);
    await page.mouse.move(x, y);
    for (let turn = 0; turn < 12; turn += 1) await page.mouse.wheel(0, -200);
    await settle(page);
    const near = await state(page);
    assert.ok(near.span < 20 && near.x0 <= 60 && near.x0 + near.span >= 60, JSON.stringify(near));
    await shot(page, 'zoomed');
    await page.keyboard.press('0');
    await settle(page);
    assert.equal((await state(page)).span, near.extent);
  }));

  test('says what is under the pointer, and all about it on a click', () => withPage({}, async (page) => {
    // After segment_alloc, four parameters and four activations of the first step.
    const { x, y } = await point(page, 9, 4 * 64 + 100);
    await page.mouse.move(x, y);
    await page.waitForFunction(() => document.querySelector('#tip .site')?.textContent);
    const tip = await text(page, '#tip');
    assert.match(tip, /256 MiB\s*activation/);
    assert.match(tip, /model\.py:20 forward/);
    assert.match(tip, /step 1 · forward/);
    await shot(page, 'hover');
    await page.mouse.click(x, y);
    await page.waitForSelector('#chosen:not([hidden])');
    const chosen = await text(page, '#chosen-body');
    assert.match(chosen, /256 MiB/);
    assert.match(chosen, /model\.layers\.0\.linear/);
    assert.match(chosen, /\/home\/me\/model\.py:20/);
    assert.match(chosen, /event 6 · step 1 forward/);
    assert.match(await text(page, '#now-title'), /pinned/);
    await shot(page, 'chosen');
    await page.keyboard.press('Escape');
    assert.ok(await page.locator('#chosen').isHidden());
  }));

  test('finds by function and size, and shows only that', () => withPage({}, async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('forward size>100MiB');
    await page.waitForFunction(() => /found/.test(document.getElementById('held-title').textContent));
    await settle(page);
    assert.match(await text(page, '#held-title'), /20 allocations found, 1 GiB at most at once/);
    assert.match(await text(page, '#holders'), /model\.py:20/);
    assert.ok(await pixels(page, ACTIVATION) > 2_000);
    assert.ok(await pixels(page, PARAMETER) < 100);
    await shot(page, 'search');
    await page.keyboard.press('Escape');
    await settle(page);
    assert.ok(await pixels(page, PARAMETER) > 5_000);
  }));

  test('can be used from the keyboard alone', () => withPage({}, async (page) => {
    const focused = [];
    for (let stop = 0; stop < 12; stop += 1) {
      await page.keyboard.press('Tab');
      focused.push(await page.evaluate(() => document.activeElement.id || document.activeElement.name || document.activeElement.tagName));
    }
    for (const wanted of ['main', 'query', 'help-button', 'by', 'axis', 'to-peak', 'chart']) assert.ok(focused.includes(wanted), `${wanted} in ${focused}`);
    await page.locator('#chart').focus();
    for (let press = 0; press < 4; press += 1) await page.keyboard.press('+');
    const zoomed = await state(page);
    assert.ok(zoomed.span < zoomed.extent / 4);
    await page.keyboard.press('ArrowLeft');
    assert.ok((await state(page)).x0 < zoomed.x0);
    await page.keyboard.press('p');
    await settle(page);
    assert.match(await text(page, '#now-title'), /pinned/);
    assert.match(await text(page, '#now-totals'), /Allocated\s+1\.31 GiB/);
    await page.keyboard.press('Shift+ArrowUp');
    await page.waitForSelector('#chosen:not([hidden])');
    await page.keyboard.press('o');
    await settle(page);
    assert.match(await text(page, '#map-facts'), /refused 3 GiB/);
    await page.keyboard.press('a');
    await page.keyboard.press('c');
    await settle(page);
    const changed = await state(page);
    assert.deepEqual([changed.axis, changed.by], ['time', 'module']);
    await page.keyboard.press('?');
    assert.ok(await page.locator('#help').isVisible());
    await shot(page, 'help');
  }));

  test('chooses a range in the strip below', () => withPage({}, async (page) => {
    const box = await page.locator('#minimap').boundingBox();
    await page.mouse.move(box.x + 300, box.y + 15);
    await page.mouse.down();
    await page.mouse.move(box.x + 500, box.y + 15, { steps: 5 });
    await page.mouse.up();
    await settle(page);
    const { span, extent } = await state(page);
    assert.ok(span / extent > 0.1 && span / extent < 0.35, `${span} of ${extent}`);
  }));
});

test('lays one run over another, step by step', async () => {
  const both = await serve(file('one.pickle'), file('two.pickle'));
  after(() => both.stop());
  await withPage({}, async (page) => {
    assert.equal((await state(page)).axis, 'steps');
    assert.ok(await pixels(page, [0x11, 0x13, 0x18]) > 500);
    // In the forward pass of the first step, where the activations are.
    const { x, y } = await point(page, 1.18 * 2 ** 20, 400);
    await page.mouse.move(x, y);
    await settle(page);
    assert.match(await text(page, '#now-totals'), /two\.pickle\s+[\d.]+ [MG]iB\s+−/);
    await shot(page, 'two-runs');
    // The other way round, the axis is still as long as the longer one.
    const { extent } = await state(page);
    await page.selectOption('#main', '1');
    await settle(page);
    assert.equal((await state(page)).extent, extent);
    assert.match(await text(page, '#facts'), /peak 832 MiB/);
  }, both.url);
});

test('two runs can be saved together', async () => {
  const saved = file('both.html');
  const { code, out } = await run('view', file('two.pickle'), file('one.pickle'), '--save', saved);
  assert.equal(code, 0, out);
  await withPage({ offline: true }, async (page) => {
    assert.equal((await state(page)).axis, 'steps');
    assert.ok(await pixels(page, [0x11, 0x13, 0x18]) > 500);
  }, pathToFileURL(saved).href);
});

test('a saved file opens offline and can do the same', async () => {
  const saved = file('saved.html');
  const { code, out } = await run('view', file('one.pickle'), '--save', saved);
  assert.equal(code, 0, out);
  await withPage({ offline: true }, async (offline) => {
    assert.ok(await pixels(offline, ACTIVATION) > 5_000);
    const { x, y } = await point(offline, 9, 4 * 64 + 100);
    await offline.mouse.move(x, y);
    await offline.waitForFunction(() => document.querySelector('#tip .site')?.textContent);
    assert.match(await text(offline, '#tip'), /256 MiB\s*activation\s*model\.py:20 forward/);
    await offline.mouse.click(x, y);
    await offline.waitForSelector('#chosen:not([hidden])');
    assert.match(await text(offline, '#chosen-body'), /\/home\/me\/model\.py:20/);
    await offline.fill('#query', 'category:parameter');
    await settle(offline);
    await offline.waitForFunction(() => /found/.test(document.getElementById('held-title').textContent));
    assert.match(await text(offline, '#held-title'), /4 allocations found/);
    assert.ok(await pixels(offline, ACTIVATION) < 500);
    assert.deepEqual(offline.asked.filter((url) => !/^(file|data|blob):/.test(url)), []);
    await shot(offline, 'saved');
  }, pathToFileURL(saved).href);
});

describe('nobody else', () => {
  const status = (url, headers = {}) => new Promise((resolve, reject) => {
    http.get(url, { headers }, (answer) => resolve(answer.statusCode)).on('error', reject);
  });

  test('gets in without the token, from another site, or by another name', async () => {
    const { origin } = new URL(server.url);
    assert.equal(await status(server.url), 200);
    assert.equal(await status(`${origin}/`), 404);
    assert.equal(await status(`${origin}/model`), 404);
    assert.equal(await status(server.url, { Host: 'evil.example' }), 403);
    assert.equal(await status(`${server.url}model`, { Origin: 'https://evil.example' }), 403);
    assert.equal(await status(`${server.url}model`, { Origin: origin }), 200);
  });

  test('is kept waiting when it ends', async () => {
    const other = await serve(file('two.pickle'));
    const { code } = await other.stop('SIGINT');
    assert.equal(code, 0);
    const another = await serve(file('two.pickle'));
    assert.equal((await another.stop('SIGTERM')).code, 0);
  });
});
