// The right-hand side: the moment under the cursor, the legend, who holds memory, one allocation with its stack.

import { lowerBound } from './axis.js';
import { bytes, count, element, percent, plural, seconds, shortFile, shortFunction, signedBytes } from './format.js';
import { PHASES, groupColours } from './palette.js';
import { columnSums } from './tile.js';

const byId = (id) => document.getElementById(id);
/** More lines of a stack than this are folded. */
const FOLDED = 14;

/** Step, phase and time of a moment. */
export function momentWords(app, reading) {
  const { tile, column, moment } = reading;
  const steps = app.main.steps;
  const step = lowerBound(steps.moments, moment + 1) - 1;
  const words = [`event ${count(moment)}`];
  if (step >= 0) words.push(`step ${steps.numbers[step]}`);
  const phase = PHASES[tile.phases[column]];
  if (phase) words.push(phase);
  if (Number.isFinite(tile.seconds[column])) words.push(seconds(tile.seconds[column]) || '0 s');
  return words.join(' · ');
}

/** `title` says which moment it is, `reading` is a column of a tile, `other` the same place of the run laid over. */
export function showMoment(app, title, reading, other) {
  byId('now-title').textContent = title;
  byId('now-where').textContent = momentWords(app, reading);
  const { tile, column } = reading;
  const sums = columnSums(tile, column);
  const shown = sums.reduce((sum, value) => sum + value, 0);
  const rows = [['Allocated', tile.allocated[column], '']];
  if (app.hide || app.q) rows.unshift(['Shown', shown, percent(shown / tile.allocated[column])]);
  rows.push(['Reserved', tile.reserved[column], app.main.limit ? `of ${bytes(app.main.limit.bytes)}` : '']);
  if (other) {
    const theirs = other.tile.allocated[other.column];
    rows.push([app.againstName, theirs, signedBytes(theirs - tile.allocated[column])]);
  }
  byId('now-totals').replaceChildren(...rows.flatMap(([name, value, note]) => [
    element('dt', '', name), element('dd', '', bytes(value)), element('dd', 'note', note),
  ]));
  showSums(sums, shown);
}

/** The legend is made once per grouping; the numbers in it change with every move. */
export function makeLegend(app) {
  const colours = groupColours(app.grouping);
  const rows = app.grouping.groups.map((group, at) => {
    const button = element('button', '', element('i'), element('span', 'name', group.name), element('span', 'size'), element('span', 'part'));
    button.type = 'button';
    button.style.setProperty('--colour', colours[at]);
    button.title = `${group.title ?? group.name}: click to switch, double-click for this one alone`;
    button.setAttribute('aria-pressed', String(!(app.hide >> at & 1)));
    button.addEventListener('click', () => app.toggle(at));
    button.addEventListener('dblclick', () => app.solo(at));
    return element('li', '', button);
  });
  // The top of the stack comes first.
  byId('legend').replaceChildren(...rows.reverse());
  byId('basis').textContent = basisWords(app);
}

function basisWords(app) {
  const words = [];
  if (app.grouping.marked === false) words.push('Categories are inferred from stacks and lifetimes where the recording has no marks.');
  if (!app.main.exact) words.push('The recording began after memory was in use; blocks older than it have no stack.');
  return words.join(' ');
}

function showSums(sums, shown) {
  const rows = [...byId('legend').children].reverse();
  sums.forEach((sum, at) => {
    rows[at].querySelector('.size').textContent = sum > 0 ? bytes(sum) : '';
    rows[at].querySelector('.part').textContent = percent(sum / shown);
    rows[at].classList.toggle('none', sum === 0);
  });
}

export function markLegend(app) {
  [...byId('legend').querySelectorAll('button')].reverse().forEach((button, at) => {
    button.setAttribute('aria-pressed', String(!(app.hide >> at & 1)));
  });
}

/** Lines of code with what they hold. */
export function showHolders(app, title, holders) {
  byId('held-title').textContent = title;
  const colours = groupColours(app.grouping);
  byId('holders').replaceChildren(...holders.slice(0, 25).map((holder) => {
    const known = holder.line > 0;
    const where = known ? `${shortFile(holder.file)}:${holder.line}` : shortFunction(holder.function) || 'no stack kept';
    const what = [known ? holder.function : '', holder.module].filter(Boolean).join(' · ');
    const button = element('button', '',
      element('span', 'where', where), element('span', 'size', bytes(holder.bytes)),
      element('span', 'what', what), element('span', 'count', plural(holder.count, 'block')));
    button.type = 'button';
    button.title = `${holder.file}:${holder.line} ${what}`;
    button.style.setProperty('--colour', colours[holder.group ?? groupNamed(app, holder.category)]);
    button.addEventListener('click', () => app.choose(holder.id, holder.born));
    return element('li', '', button);
  }));
}

function groupNamed(app, name) {
  const found = app.grouping.groups.findIndex((group) => group.name === name);
  return found < 0 ? app.grouping.groups.length - 1 : found;
}

/** One allocation: sizes, life, purpose, stack. */
export function showAllocation(it) {
  const facts = [
    ['For', `${it.category}${it.inferred ? ' (inferred)' : ''}`],
    ['Module', it.module],
    ['Asked for', it.requested === it.bytes ? '' : bytes(it.requested)],
    ['Made', whenWords(it.born) || 'before the recording'],
    ['Freed', whenWords(it.died) || 'not by the end'],
    ['Lived', lifeWords(it)],
    ['Address', it.address],
    ['Pool', [it.pool, it.small ? 'small blocks' : ''].filter(Boolean).join(', ')],
  ];
  const list = element('dl', '', ...facts.filter(([, value]) => value).flatMap(([name, value]) => [element('dt', '', name), element('dd', '', value)]));
  byId('chosen-body').replaceChildren(element('p', 'size', bytes(it.bytes)), list, ...stackOf(it));
  byId('chosen').hidden = false;
}

function whenWords(when) {
  if (!when) return '';
  const words = [`event ${count(when.moment)}`];
  const phase = [when.step === null ? '' : `step ${when.step}`, when.phase ?? ''].filter(Boolean).join(' ');
  if (phase) words.push(phase);
  if (when.seconds !== null) words.push(seconds(when.seconds) || '0 s');
  return words.join(' · ');
}

function lifeWords({ born, died }) {
  if (!born || !died) return '';
  const events = plural(died.moment - born.moment, 'event');
  const time = died.seconds === null ? '' : seconds(died.seconds - born.seconds);
  return time ? `${events}, ${time}` : events;
}

/** The Python part of it; C++ is folded, if there is anything else. */
function stackOf(it) {
  if (it.stack.length === 0) return [element('p', '', 'No stack was recorded for it.')];
  const python = it.stack.some((line) => line.line > 0);
  const lines = it.stack.map((line, at) => stackLine(line, at === it.site));
  const folded = lines.filter((line, at) => at !== it.site && (python ? it.stack[at].line === 0 : at >= FOLDED));
  const list = element('ol', 'stack', ...lines);
  if (folded.length === 0) return [list];
  folded.forEach((line) => { line.hidden = true; });
  const more = element('button', '', `Show ${count(folded.length)} more ${python ? 'C++ ' : ''}frames`);
  more.type = 'button';
  more.addEventListener('click', () => {
    folded.forEach((line) => { line.hidden = false; });
    more.remove();
  });
  return [list, more];
}

function stackLine(line, blamed) {
  const place = line.line > 0 ? `${line.file}:${line.line}` : '';
  const item = element('li', [line.own ? 'own' : '', blamed ? 'site' : ''].join(' ').trim(),
    line.line > 0 ? line.function : shortFunction(line.function) || '?', element('span', '', place));
  item.title = line.function;
  return item;
}

export function showWarnings(series) {
  const box = byId('warnings');
  box.hidden = series.warnings.length === 0;
  box.replaceChildren(element('h2', '', 'Notes on the file'), element('ul', '', ...series.warnings.slice(0, 12).map((text) => element('li', '', text))));
}
