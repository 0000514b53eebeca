// What is on show: which run, over which, in which colours, on which axis, without which groups.

import { fitHeight } from './axis.js';
import { checkChoice, seriesLabel, showChoices, showFacts } from './controls.js';
import { makeLegend, markLegend, showWarnings } from './panel.js';
import { COLUMNS } from './tile.js';

export class Shown {
  /** A bit for every group that is switched off. */
  hide = 0;
  /** The search. */
  q = '';

  open(main, against) {
    this.mainNumber = main;
    this.main = this.model.series[main];
    this.againstNumber = against;
    this.against = against === null ? null : this.model.series[against];
    this.againstName = this.against && seriesLabel(this.against, this.model);
    document.getElementById('main').value = String(main);
    document.getElementById('against').value = against === null ? '' : String(against);
    this.grouping = this.main.groupings.find((it) => it.id === this.grouping?.id) ?? this.main.groupings[0];
    const wanted = this.against && this.shared('steps') ? 'steps' : 'events';
    this.axis = this.axisNamed(this.axis?.id ?? wanted) ?? this.axisNamed('events');
    this.hide = 0;
    showChoices('by', this.main.groupings.map((it) => it.id), this.grouping.id, (id) => this.setGrouping(id));
    showChoices('axis', this.main.axes.map((it) => it.id), this.axis.id, (id) => this.setAxis(id));
    showFacts(this.main);
    showWarnings(this.main);
    makeLegend(this);
    this.say(this.main.events === 0 ? 'The file has no events: only the segments at its end are known.' : '');
    this.fullHeight = fitHeight([this.main, this.against].filter(Boolean));
    this.ready = true;
    this.fit();
    this.rest();
  }

  /** As long as the longer of the runs on it. */
  axisNamed(id) {
    const axis = this.main.axes.find((it) => it.id === id);
    const other = this.against?.axes.find((it) => it.id === id);
    return axis && { ...axis, extent: Math.max(axis.extent, other?.extent ?? 0) };
  }

  shared(axis) {
    return [this.main, this.against].every((it) => it.axes.some(({ id }) => id === axis));
  }

  otherRun(main) {
    const { run, device } = this.model.series[main];
    const others = this.model.series.map((it, at) => ({ ...it, at })).filter((it) => it.run !== run);
    return (others.find((it) => it.device === device) ?? others[0])?.at ?? null;
  }

  get extent() {
    return this.axis.extent;
  }

  extentOf(set) {
    return this.model.series[set.params.series].axes.find(({ id }) => id === this.axis.id)?.extent ?? 0;
  }

  get coarsest() {
    return Math.max(0, Math.ceil(Math.log2(Math.ceil(this.axis.extent / COLUMNS))));
  }

  /** A saved file does not have the finest levels. */
  get finest() {
    if (!this.source.saved) return 0;
    const shown = [this.mainNumber, this.againstNumber].filter((number) => number !== null);
    return Math.max(...shown.map((number) => this.source.finestOf(number, this.axis.id)));
  }

  /** Which tiles: everything that a tile's content depends on but its place. */
  tileSet() {
    const params = { series: this.mainNumber, by: this.grouping.id, axis: this.axis.id, hide: this.hide, q: this.q, floor: this.chart.floor };
    return this.remember(setOf(params));
  }

  wholeSet() {
    return setOf({ series: this.mainNumber, by: this.main.groupings[0].id, axis: this.axis.id, hide: 0, q: '', floor: 2 ** 50 });
  }

  lineSet() {
    return setOf({ series: this.againstNumber, by: this.against.groupings[0].id, axis: this.axis.id, hide: 0, q: '', floor: 2 ** 50 });
  }

  /** The set before the current one is drawn until tiles of the current one are here. */
  remember(set) {
    if (this.currentSet?.key === set.key) return this.currentSet;
    const same = this.currentSet?.params.series === set.params.series && this.currentSet.params.axis === set.params.axis
      && this.currentSet.params.by === set.params.by;
    this.previousSet = same ? this.currentSet : null;
    this.currentSet = set;
    return set;
  }

  lastSet(set) {
    return set === this.currentSet ? this.previousSet : null;
  }

  setGrouping(id) {
    this.grouping = this.main.groupings.find((it) => it.id === id);
    this.hide = 0;
    makeLegend(this);
    checkChoice('by', id);
    this.redraw();
    this.rest();
  }

  /** The middle of the picture stays where it was in the recording. */
  setAxis(id) {
    const whole = this.chart.span > this.extent * 0.98;
    const middle = this.chart.read(this.chart.x0 + this.chart.span / 2);
    const part = this.chart.span / this.extent;
    this.axis = this.axisNamed(id);
    checkChoice('axis', id);
    this.cursor = null;
    if (whole || !middle) return this.fit();
    const share = middle.moment / Math.max(1, this.main.events);
    const centre = share * this.extent;
    this.chart.show(centre - part * this.extent / 2, centre + part * this.extent / 2);
    this.redraw();
    return undefined;
  }

  nextGrouping() {
    this.setGrouping(after(this.main.groupings.map((it) => it.id), this.grouping.id));
  }

  nextAxis() {
    this.setAxis(after(this.main.axes.map((it) => it.id), this.axis.id));
  }

  toggle(group) {
    this.setHidden(this.hide ^ 1 << group);
  }

  /** The n-th row of the legend, which is written from the top of the stack down. */
  toggleRow(row) {
    const group = this.grouping.groups.length - 1 - row;
    if (group >= 0) this.toggle(group);
  }

  /** This group alone, or all again. */
  solo(group) {
    const others = this.everyGroup & ~(1 << group);
    this.setHidden(this.hide === others ? 0 : others);
  }

  get everyGroup() {
    return (1 << this.grouping.groups.length) - 1;
  }

  setHidden(mask) {
    this.hide = mask === this.everyGroup ? 0 : mask;
    markLegend(this);
    this.redraw();
    this.rest();
    this.map.draw();
  }
}

function setOf(params) {
  return { params, key: Object.values(params).join('|') };
}

function after(list, item) {
  return list[(list.indexOf(item) + 1) % list.length];
}
