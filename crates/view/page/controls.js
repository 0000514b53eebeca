// The bar, the header and the search box.

import { bytes, count, element } from './format.js';

const control = (id) => document.getElementById(id);

export function listenToControls(app) {
  const on = (id, action, kind = 'click') => control(id).addEventListener(kind, action);
  on('to-peak', () => app.toPeak());
  on('to-refused', () => app.toRefused());
  on('zoom-in', () => app.zoom(0.6));
  on('zoom-out', () => app.zoom(1 / 0.6));
  on('fit', () => app.fit());
  on('unpin', () => app.unpin());
  on('unchoose', () => app.unchoose());
  on('help-button', () => app.help());
  on('query', (event) => app.search(event.target.value), 'input');
  on('query', (event) => searchKey(app, event), 'keydown');
  on('search', (event) => event.preventDefault(), 'submit');
  on('main', (event) => app.open(Number(event.target.value), app.otherRun(Number(event.target.value))), 'change');
  on('against', (event) => app.open(app.mainNumber, event.target.value === '' ? null : Number(event.target.value)), 'change');
}

/** Enter goes to where most of what was found is, Escape back to where one was. */
function searchKey(app, event) {
  if (event.key !== 'Escape' && event.key !== 'Enter') return;
  event.preventDefault();
  if (event.key === 'Escape') app.clearSearch();
  else if (app.searched?.peak) app.goTo(app.searched.peak);
  control('chart').focus();
}

export function fillRuns(app) {
  const { series } = app.model;
  const options = () => series.map((it, at) => new Option(seriesLabel(it, app.model), String(at)));
  control('main').replaceChildren(...options());
  control('against').replaceChildren(new Option('nothing', ''), ...options());
  control('against-label').hidden = series.length < 2;
  document.title = `${[...new Set(series.map((it) => it.name))].join(', ')} · oomph view`;
}

/** The file, and the GPU where there are several. */
export function seriesLabel(series, model) {
  const several = model.series.filter((it) => it.run === series.run).length > 1;
  return several ? `${series.name} · GPU ${series.device}` : series.name;
}

/** A row of radio buttons. */
export function showChoices(id, names, chosen, action) {
  const box = control(id);
  box.querySelectorAll('label').forEach((it) => it.remove());
  box.append(...names.map((name) => {
    const input = element('input');
    Object.assign(input, { type: 'radio', name: id, value: name, checked: name === chosen });
    input.addEventListener('change', () => action(name));
    return element('label', '', input, element('span', '', name));
  }));
  box.hidden = names.length < 2;
}

export function checkChoice(id, name) {
  for (const input of control(id).querySelectorAll('input')) input.checked = input.value === name;
}

/** The file in a line. */
export function showFacts({ peak, limit, refused, events, torch }) {
  const parts = [['peak ', bytes(peak.allocated)], ['reserved ', bytes(peak.reserved)]];
  if (limit) parts.push([`${limit.name ?? 'limit'} `, bytes(limit.bytes)]);
  const nodes = parts.flatMap(([word, value]) => [word, element('b', '', value), ' · ']);
  nodes.push(`${count(events)} events`, torch ? ` · torch ${torch}` : '');
  control('facts').replaceChildren(...nodes);
  control('to-refused').hidden = refused.length === 0;
}
