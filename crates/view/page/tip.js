// The note beside the pointer.

import { bytes, element, settled, shortFile, shortFunction } from './format.js';
import { describePiece } from './map.js';
import { groupColours } from './palette.js';
import { momentWords } from './panel.js';

/** Allocations whose words are kept. */
const MOST_DESCRIBED = 400;

export class Tip {
  constructor(tip, box, app) {
    this.tip = tip;
    this.box = box;
    this.app = app;
    this.described = new Map();
  }

  hide() {
    this.tip.hidden = true;
  }

  ofReading(event, reading) {
    const { hit } = reading;
    const name = this.app.grouping.groups[hit.group].name;
    const swatch = element('i', 'swatch');
    swatch.style.setProperty('--colour', groupColours(this.app.grouping)[hit.group]);
    const title = [swatch, element('span', 'size', bytes(hit.bytes)), hit.id === null ? `${name}, in small blocks` : name];
    this.show(event, title, momentWords(this.app, reading), hit.id);
  }

  ofPiece(event, box) {
    const { title, where } = describePiece(box, this.app.grouping);
    this.show(event, [element('span', 'size', bytes(box.bytes)), title], where, box.id ?? null);
  }

  show(event, title, soft, id) {
    const site = element('div', 'site');
    this.tip.replaceChildren(element('div', 'kind', ...title), site, element('div', 'soft', soft));
    this.tip.hidden = false;
    this.place(event);
    if (id === null) return;
    const known = this.described.get(`${this.app.mainNumber}/${id}`);
    if (known) fillSite(site, known);
    else this.describe(id, site);
  }

  /** Beside the pointer, on the side where there is room. */
  place(event) {
    const around = this.box.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = this.tip;
    const [x, y] = [event.clientX - around.left, event.clientY - around.top];
    const left = x + 18 + offsetWidth > around.width ? x - 18 - offsetWidth : x + 18;
    const top = y + 36 + offsetHeight > around.height ? y - 30 - offsetHeight : y + 18;
    this.tip.style.transform = `translate(${Math.max(0, left)}px, ${Math.max(-40, top)}px)`;
  }

  describe = settled(25, async (id, site) => {
    const { mainNumber, source } = this.app;
    const it = await source.json('allocation', { series: mainNumber, id }).catch(() => null);
    if (this.described.size > MOST_DESCRIBED) this.described.clear();
    this.described.set(`${mainNumber}/${id}`, it);
    if (it) fillSite(site, it);
  });
}

/** The line to blame, and the module. */
function fillSite(site, it) {
  const line = it.stack[it.site ?? 0];
  if (!line) return;
  const where = line.line ? `${shortFile(line.file)}:${line.line} ${line.function}` : shortFunction(line.function);
  site.replaceChildren(where, ...(it.module ? [element('div', 'soft', it.module)] : []));
}
