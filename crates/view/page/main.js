// The page's state, and what happens when it changes.

import { unitLabel } from './axis.js';
import { Chart } from './chart.js';
import { fillRuns, listenToControls } from './controls.js';
import { bytes, count, element, plural, settled } from './format.js';
import { SegmentMap } from './map.js';
import { Minimap } from './minimap.js';
import { Moving } from './moving.js';
import { onThemeChange } from './palette.js';
import { momentWords, showAllocation, showHolders, showMoment } from './panel.js';
import { fillHelp, listenToKeys, listenToPointer } from './pointer.js';
import { openSource } from './source.js';
import { COLUMNS, walkColumn } from './tile.js';
import { Tiles } from './tiles.js';
import { Tip } from './tip.js';

const $ = (id) => document.getElementById(id);

class App extends Moving {
  ready = false;
  cursor = null;
  pinned = false;
  pointed = null;
  chosen = null;
  chosenFacts = null;

  async start() {
    this.source = await openSource();
    this.model = await this.source.json('model');
    if (this.model.series.length === 0) return this.say('There is no GPU in this file.');
    this.tiles = new Tiles(this.source, () => this.redraw());
    this.chart = new Chart($('chart'), this);
    this.chart.resize();
    this.minimap = new Minimap($('minimap'), this);
    this.map = new SegmentMap($('map'), $('map-facts'), this);
    this.tip = new Tip($('tip'), $('chart-box'), this);
    fillRuns(this);
    fillHelp();
    listenToKeys(this);
    listenToPointer($('chart'), this);
    listenToControls(this);
    onThemeChange(() => { this.redraw(); this.map.draw(); });
    this.open(0, this.otherRun(0));
    return undefined;
  }

  say(text) {
    $('empty').textContent = text;
    $('empty').hidden = !text;
  }

  // The cursor.

  hover(event) {
    const { chart } = this;
    const reading = chart.read(chart.unitsAt(event.clientX), chart.bytesAt(event.clientY));
    this.pointed = reading?.hit?.id ?? null;
    if (reading?.hit) this.tip.ofReading(event, reading);
    else this.tip.hide();
    if (!this.pinned) this.setCursor(reading);
    this.redraw();
  }

  leave() {
    this.tip.hide();
    this.pointed = null;
    if (!this.pinned) {
      this.setCursor(null);
      this.rest();
    }
    this.redraw();
  }

  setCursor(reading) {
    this.cursor = reading;
    if (!reading) return;
    showMoment(this, this.pinned ? 'At the pinned moment' : 'At the cursor', reading, this.otherReading(reading));
    this.askMoment(reading.moment);
  }

  /** The same place of the run that is laid over. */
  otherReading(reading) {
    if (!this.against) return null;
    const { level } = this.chart;
    const column = Math.floor(reading.units / 2 ** level);
    const index = Math.floor(column / COLUMNS);
    const tile = this.tiles.has(this.lineSet(), level, index);
    return tile && column - index * COLUMNS < tile.columns ? { tile, column: column - index * COLUMNS } : null;
  }

  click(event) {
    const { chart } = this;
    const reading = chart.read(chart.unitsAt(event.clientX), chart.bytesAt(event.clientY));
    if (!reading) return;
    if (reading.hit?.id !== null && reading.hit?.id !== undefined) this.choose(reading.hit.id);
    this.pinAt(reading);
  }

  pinAt(reading) {
    this.pinned = true;
    $('unpin').hidden = false;
    this.setCursor(reading);
    this.redraw();
  }

  pin() {
    if (this.cursor?.tile) this.pinAt(this.cursor);
  }

  unpin() {
    this.pinned = false;
    $('unpin').hidden = true;
    this.setCursor(null);
    this.rest();
    this.redraw();
  }

  /** Moves the cursor by columns; without one it starts in the middle. */
  step(columns) {
    const width = 2 ** this.chart.level;
    const from = this.cursor?.units ?? this.chart.x0 + this.chart.span / 2;
    const to = Math.min(Math.max(0, from + columns * width), this.extent - 1);
    if (!this.inSight(to)) this.chart.show(to - this.chart.span / 2, to + this.chart.span / 2);
    this.wanted = to;
    this.redraw();
  }

  /** Chooses the next allocation up or down in the column of the cursor. */
  climb(direction) {
    if (!this.cursor?.tile) return;
    const { tile, column } = this.cursor;
    const ids = [];
    walkColumn(tile, column, (from, to, lane) => { if (lane >= 0) ids.push(tile.laneIds[lane]); });
    if (ids.length === 0) return;
    const at = ids.indexOf(this.chosen);
    const next = at < 0 ? (direction > 0 ? 0 : ids.length - 1) : Math.min(Math.max(at + direction, 0), ids.length - 1);
    this.choose(ids[next]);
  }

  /** With no cursor, the panel shows the peak. */
  rest() {
    if (this.pinned && this.cursor) this.wanted = this.cursor.units;
    else if (!this.cursor) this.restWanted = true;
    this.redraw();
  }

  /** A cursor that was asked for before its tile was here. */
  settleCursor() {
    if (this.wanted !== undefined) {
      const reading = this.chart.read(this.wanted);
      if (!reading) return;
      const moment = this.wantedMoment;
      this.wanted = undefined;
      this.wantedMoment = undefined;
      this.pinAt(reading);
      // The map and the holders are of that very moment, not of the largest one in its column.
      if (moment !== undefined) this.askMoment(moment);
      $('reading').textContent = `${momentWords(this, reading)}, ${bytes(reading.tile.allocated[reading.column])} allocated`;
    } else if (this.restWanted) {
      const at = this.tiles.get(this.tileSet(), this.coarsest, 0);
      if (!at) return;
      this.restWanted = false;
      const column = at.moments.reduce((best, moment, here) => (at.allocated[here] > at.allocated[best] ? here : best), 0);
      showMoment(this, 'At the peak', { tile: at, column, moment: at.moments[column] }, null);
      this.askMoment(at.moments[column]);
    }
  }

  askMoment = settled(60, async (moment) => {
    const params = { series: this.mainNumber, by: this.grouping.id, moment };
    const floor = this.map.floorFor(this.main.peak.reserved);
    try {
      const [who, map] = await Promise.all([
        this.q ? null : this.source.json('moment', { ...params, hide: this.hide }),
        this.source.json('map', { ...params, floor }),
      ]);
      if (params.by !== this.grouping.id || params.series !== this.mainNumber) return;
      if (who && !this.q) showHolders(this, heldTitle(this, who), who.holders);
      this.map.show(map);
    } catch (error) {
      $('map-facts').textContent = error.message;
    }
  });

  // Allocations.

  async choose(id, when = null) {
    this.chosen = id;
    this.redraw();
    this.map.draw();
    try {
      this.chosenFacts = await this.source.json('allocation', { series: this.mainNumber, id });
      showAllocation(this.chosenFacts);
    } catch (error) {
      $('chosen').hidden = false;
      $('chosen-body').replaceChildren(element('p', '', `Nothing more is known about it: ${error.message}.`));
    }
    if (when) this.goTo(when);
  }

  unchoose() {
    this.chosen = null;
    this.chosenFacts = null;
    $('chosen').hidden = true;
    this.redraw();
    this.map.draw();
  }

  /** A piece of the segment map under the pointer. */
  pointAt(box, event) {
    this.pointed = box?.id ?? null;
    if (box) this.tip.ofPiece(event, box);
    else this.tip.hide();
    this.redraw();
  }

  // Search.

  search = settled(160, async (text) => {
    this.q = text.trim();
    this.searched = null;
    this.rest();
    if (!this.q) return;
    const found = await this.source.json('search', { series: this.mainNumber, by: this.grouping.id, hide: this.hide, q: this.q });
    if (text.trim() !== this.q) return;
    this.searched = found;
    const most = found.peak_bytes ? `, ${bytes(found.peak_bytes)} at most at once` : '';
    const title = found.count === 0 ? 'Nothing found' : `${plural(found.count, 'allocation')} found${most}`;
    showHolders(this, title, found.holders);
    $('reading').textContent = title;
  });

  clearSearch() {
    $('query').value = '';
    this.search('');
  }

  escape() {
    if (this.chosen !== null) this.unchoose();
    else if (this.pinned) this.unpin();
    else if (this.q) this.clearSearch();
    else this.tip.hide();
  }

  help() {
    $('help').showModal();
  }

  // Frames.

  /** At most one drawing per frame of the screen. */
  redraw() {
    if (this.drawing || !this.ready) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.chart.draw();
      this.minimap.draw();
      this.showRange();
      this.settleCursor();
      this.noteFirstPicture();
    });
  }

  showRange() {
    const { x0, span } = this.chart;
    const whole = span > this.extent * 0.999;
    const text = this.axis.id === 'steps' ? '' : `${unitLabel(this.axis, x0)} to ${unitLabel(this.axis, x0 + span)}`;
    $('range').textContent = whole ? '' : text;
  }

  /** For measuring: when everything that is in sight was drawn for the first time, in ms since navigation began. */
  noteFirstPicture() {
    if (this.firstPicture === undefined && this.chart.missing === 0) {
      this.firstPicture = performance.now();
      document.documentElement.dataset.ready = String(Math.round(this.firstPicture));
    }
  }
}

function heldTitle(app, who) {
  return app.source.saved ? `Held by, at event ${count(who.when.moment)}` : 'Held by';
}

const oomph = new App();
globalThis.oomph = oomph;
oomph.start().catch((error) => oomph.say(`Could not open it: ${error.message}`));
