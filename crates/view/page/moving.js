// Moving about.

import { positionOf } from './chart.js';
import { Shown } from './shown.js';

export class Moving extends Shown {
  fit() {
    this.chart.low = 0;
    this.chart.high = this.fullHeight;
    this.chart.show(0, this.extent);
    this.redraw();
  }

  pan(part) {
    this.chart.pan(part * this.chart.plot.width / this.chart.ratio);
    this.redraw();
  }

  panHeight(part) {
    this.chart.panHeight(part);
    this.redraw();
  }

  drag(dx, dy) {
    this.chart.pan(dx);
    this.chart.panHeight(dy * this.chart.ratio / this.chart.plot.height);
    this.tip.hide();
    this.redraw();
  }

  zoom(factor) {
    this.chart.zoom(factor, this.pinned && this.inSight(this.cursor.units) ? this.cursor.units : undefined);
    this.redraw();
  }

  zoomHeight(factor) {
    this.chart.zoomHeight(factor);
    this.redraw();
  }

  inSight(units) {
    return units >= this.chart.x0 && units <= this.chart.x0 + this.chart.span;
  }

  goTo(when) {
    const at = positionOf(when, this.axis);
    if (!this.inSight(at)) this.chart.show(at - this.chart.span / 2, at + this.chart.span / 2);
    this.wanted = at;
    this.wantedMoment = when.moment;
    this.redraw();
  }

  toPeak() {
    this.goTo(this.main.peak.when);
  }

  toRefused() {
    if (this.main.refused.length > 0) this.goTo(this.main.refused[0].when);
  }

  selectRange(from, to) {
    this.rangeWanted = [Math.min(from, to), Math.max(from, to)];
    this.cursor = { units: this.rangeWanted[0], width: this.rangeWanted[1] - this.rangeWanted[0] };
    this.redraw();
  }

  zoomToRange() {
    this.cursor = null;
    this.chart.show(...this.rangeWanted);
    this.redraw();
  }

  zoomToChosen() {
    const it = this.chosenFacts;
    if (!it) return;
    const from = it.born ? positionOf(it.born, this.axis) : 0;
    const to = it.died ? positionOf(it.died, this.axis) : this.extent;
    const margin = Math.max((to - from) * 0.15, 2);
    this.chart.show(from - margin, to + margin);
    this.redraw();
  }
}
