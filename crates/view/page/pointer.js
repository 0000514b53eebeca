// Mouse, touch and keyboard.

import { element } from './format.js';

const KEYS = [
  ['← →', 'move along the axis', { ArrowLeft: (app) => app.pan(-0.15), ArrowRight: (app) => app.pan(0.15) }],
  ['↑ ↓', 'move up and down when zoomed in height', { ArrowUp: (app) => app.panHeight(0.1), ArrowDown: (app) => app.panHeight(-0.1) }],
  ['Shift ← →', 'move the cursor by one column', { 'Shift+ArrowLeft': (app) => app.step(-1), 'Shift+ArrowRight': (app) => app.step(1) }],
  ['Shift ↑ ↓', 'choose the allocation above or below', { 'Shift+ArrowUp': (app) => app.climb(1), 'Shift+ArrowDown': (app) => app.climb(-1) }],
  ['+ −', 'zoom', { '+': (app) => app.zoom(0.6), '=': (app) => app.zoom(0.6), '-': (app) => app.zoom(1 / 0.6) }],
  ['[ ]', 'zoom the height', { ']': (app) => app.zoomHeight(0.7), '[': (app) => app.zoomHeight(1 / 0.7) }],
  ['0', 'show everything', { 0: (app) => app.fit() }],
  ['p', 'go to the peak', { p: (app) => app.toPeak() }],
  ['o', 'go to where memory ran out', { o: (app) => app.toRefused() }],
  ['Enter', 'pin the cursor', { Enter: (app) => app.pin() }],
  ['z', 'zoom to the chosen allocation', { z: (app) => app.zoomToChosen() }],
  ['c, a', 'change colours, change axis', { c: (app) => app.nextGrouping(), a: (app) => app.nextAxis() }],
  ['1 … 9', 'switch a group of the legend', Object.fromEntries([...'123456789'].map((key) => [key, (app) => app.toggleRow(Number(key) - 1)]))],
  ['/', 'search', { '/': () => document.getElementById('query').focus() }],
  ['Esc', 'unpin, close, clear', { Escape: (app) => app.escape() }],
  ['?', 'this help', { '?': (app) => app.help() }],
];

const SEARCH_HELP = [
  ['attention', 'in function, file, module or category'],
  ['size>100MiB', 'also <, >=, <=, ='],
  ['file:train.py', 'also function:, module:, category:'],
  ['phase:backward', 'also step:3'],
  ['alive', 'not freed by the end'],
  ['-word', 'all but those'],
];

export function fillHelp() {
  const rows = (list) => list.flatMap(([key, meaning]) => [element('dt', '', element('kbd', '', key)), element('dd', '', meaning)]);
  document.getElementById('keys').replaceChildren(...rows(KEYS));
  document.getElementById('search-help').replaceChildren(...rows(SEARCH_HELP));
}

export function listenToKeys(app) {
  const actions = Object.assign({}, ...KEYS.map(([, , keys]) => keys));
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches('input[type=search], select, dialog *')) return;
    // Enter and the arrows belong to buttons and radios that have the focus.
    if (event.target.matches('button, input') && /^(Enter|Arrow)/.test(event.key) && !event.shiftKey) return;
    const name = event.shiftKey && event.key.startsWith('Arrow') ? `Shift+${event.key}` : event.key;
    if (!actions[name]) return;
    event.preventDefault();
    actions[name](app);
  });
}

/** Dragging pans, with Shift it chooses a range; the wheel zooms, sideways it pans, with Alt it zooms the height. */
export function listenToPointer(canvas, app) {
  let held = null;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    held = { x: event.clientX, y: event.clientY, moved: false, range: event.shiftKey ? app.chart.unitsAt(event.clientX) : null };
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!held) return app.hover(event);
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    if (!held.moved && Math.abs(dx) + Math.abs(dy) < 4) return undefined;
    held.moved = true;
    canvas.classList.add('dragging');
    if (held.range !== null) return app.selectRange(held.range, app.chart.unitsAt(event.clientX));
    app.drag(-dx, dy);
    [held.x, held.y] = [event.clientX, event.clientY];
    return undefined;
  });
  const release = (event) => {
    canvas.classList.remove('dragging');
    if (held?.moved && held.range !== null) app.zoomToRange();
    else if (held && !held.moved && event.type === 'pointerup') app.click(event);
    held = null;
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('pointerleave', () => held || app.leave());
  canvas.addEventListener('dblclick', () => app.zoomToChosen());
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const amount = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    if (event.altKey) app.chart.zoomHeight(Math.exp(amount * 0.0016), app.chart.bytesAt(event.clientY));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) app.chart.pan(event.deltaX || amount);
    else app.chart.zoom(Math.exp(amount * 0.0016), app.chart.unitsAt(event.clientX));
    app.redraw();
    app.hover(event);
  }, { passive: false });
}
