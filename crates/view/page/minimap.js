// The whole recording in a strip, with the part that is on show. Dragging in it chooses a range.

import { theme } from './palette.js';

const HANDLE = 7;

export class Minimap {
  constructor(canvas, app) {
    this.canvas = canvas;
    this.app = app;
    this.margin = { left: 66, right: 16 };
    canvas.addEventListener('pointerdown', (event) => this.grab(event));
    canvas.addEventListener('pointermove', (event) => this.drag(event));
    canvas.addEventListener('pointerup', () => { this.held = null; });
    new ResizeObserver(() => app.ready && app.redraw()).observe(canvas);
  }

  get width() {
    return Math.max(1, this.canvas.clientWidth - this.margin.left - this.margin.right);
  }

  toUnits(clientX) {
    const x = clientX - this.canvas.getBoundingClientRect().left - this.margin.left;
    return Math.min(Math.max(x / this.width, 0), 1) * this.app.axis.extent;
  }

  toX(units) {
    return this.margin.left + units / this.app.axis.extent * this.width;
  }

  /** The edges of the window are moved, the window itself too; anywhere else a new range begins. */
  grab(event) {
    this.canvas.setPointerCapture(event.pointerId);
    const { x0, span } = this.app.chart;
    const at = this.toUnits(event.clientX);
    const reach = HANDLE / this.width * this.app.axis.extent;
    if (Math.abs(at - x0) < reach) this.held = { fixed: x0 + span };
    else if (Math.abs(at - x0 - span) < reach) this.held = { fixed: x0 };
    else if (at > x0 && at < x0 + span && span < this.app.axis.extent * 0.98) this.held = { offset: at - x0 };
    else this.held = { fixed: at };
  }

  drag(event) {
    if (!this.held) return;
    const at = this.toUnits(event.clientX);
    const { chart } = this.app;
    if (this.held.offset !== undefined) {
      chart.show(at - this.held.offset, at - this.held.offset + chart.span);
    } else if (at !== this.held.fixed) {
      chart.show(Math.min(at, this.held.fixed), Math.max(at, this.held.fixed));
    }
    this.app.redraw();
  }

  draw() {
    const ratio = devicePixelRatio || 1;
    const { canvas } = this;
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    this.drawSilhouette(context);
    this.drawWindow(context);
  }

  drawSilhouette(context) {
    const tile = this.app.tiles.get(this.app.wholeSet(), this.app.coarsest, 0);
    if (!tile) return;
    const colours = theme();
    const column = 2 ** this.app.coarsest / this.app.axis.extent * this.width;
    const height = this.canvas.clientHeight - 6;
    const scale = height / this.app.fullHeight;
    context.fillStyle = colours.strip;
    context.beginPath();
    context.moveTo(this.margin.left, height);
    tile.allocated.forEach((allocated, at) => {
      const x = this.margin.left + at * column;
      context.lineTo(x, height - allocated * scale);
      context.lineTo(Math.min(x + column, this.margin.left + this.width), height - allocated * scale);
    });
    context.lineTo(Math.min(this.margin.left + tile.columns * column, this.margin.left + this.width), height);
    context.fill();
    context.fillStyle = colours.limit;
    for (const refused of this.app.main.refused) {
      const at = refused.when.position.find(([kind]) => kind === this.app.axis.id)[1];
      context.fillRect(this.toX(at) - 1, 0, 2, height);
    }
  }

  drawWindow(context) {
    const colours = theme();
    const { x0, span } = this.app.chart;
    const [left, right] = [this.toX(x0), Math.max(this.toX(x0 + span), this.toX(x0) + 3)];
    const height = this.canvas.clientHeight - 6;
    context.globalAlpha = 0.72;
    context.fillStyle = colours.background;
    context.fillRect(this.margin.left, 0, left - this.margin.left, height);
    context.fillRect(right, 0, this.margin.left + this.width - right, height);
    context.globalAlpha = 1;
    context.strokeStyle = colours.soft;
    context.strokeRect(Math.round(left) + 0.5, 0.5, Math.round(right - left) - 1, height - 0.5);
  }
}
