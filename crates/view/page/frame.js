// Where things are on the canvas: from units and bytes to pixels and back, and how far one may zoom.

const MARGIN = { left: 66, right: 16, top: 18, bottom: 50 };
/** Pixels that a single event may be wide. */
const WIDEST_UNIT = 200;

export class Frame {
  constructor(canvas, app) {
    this.canvas = canvas;
    this.app = app;
    /** Units at the left edge of the plot, and units per pixel of the device. */
    this.x0 = 0;
    this.unitsPerPixel = 1;
    /** Bytes at the bottom and at the top. */
    this.low = 0;
    this.high = 1;
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    const before = this.plot?.width;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.ratio = ratio;
    this.plot = {
      left: Math.round(MARGIN.left * ratio),
      top: Math.round(MARGIN.top * ratio),
      width: Math.max(1, this.canvas.width - Math.round((MARGIN.left + MARGIN.right) * ratio)),
      height: Math.max(1, this.canvas.height - Math.round((MARGIN.top + MARGIN.bottom) * ratio)),
    };
    if (before && this.app.ready) {
      this.unitsPerPixel *= before / this.plot.width;
      this.app.redraw();
    }
  }

  show(from, to) {
    const span = Math.max(to - from, this.plot.width / (WIDEST_UNIT * this.ratio));
    this.unitsPerPixel = span / this.plot.width;
    this.x0 = from;
    this.clamp();
  }

  get span() {
    return this.unitsPerPixel * this.plot.width;
  }

  clamp() {
    const { extent } = this.app.axis;
    const finest = 1 / (WIDEST_UNIT * this.ratio);
    this.unitsPerPixel = Math.min(Math.max(this.unitsPerPixel, finest), extent / this.plot.width);
    this.x0 = Math.min(Math.max(this.x0, 0), extent - this.span);
  }

  toX(units) {
    return this.plot.left + (units - this.x0) / this.unitsPerPixel;
  }

  toY(amount) {
    return this.plot.top + this.plot.height * (1 - (amount - this.low) / (this.high - this.low));
  }

  unitsAt(clientX) {
    const x = (clientX - this.canvas.getBoundingClientRect().left) * this.ratio;
    return this.x0 + (x - this.plot.left) * this.unitsPerPixel;
  }

  bytesAt(clientY) {
    const y = (clientY - this.canvas.getBoundingClientRect().top) * this.ratio;
    return this.low + (1 - (y - this.plot.top) / this.plot.height) * (this.high - this.low);
  }

  pan(pixels) {
    this.x0 += pixels * this.ratio * this.unitsPerPixel;
    this.clamp();
  }

  /** Below 1 zooms in. The units under `around` stay where they are. */
  zoom(factor, around = this.x0 + this.span / 2) {
    const before = this.unitsPerPixel;
    this.unitsPerPixel *= factor;
    this.clamp();
    this.x0 = around - (around - this.x0) * (this.unitsPerPixel / before);
    this.clamp();
  }

  zoomHeight(factor, around = this.low) {
    const most = this.app.fullHeight;
    const height = Math.min(Math.max((this.high - this.low) * factor, 4096), most);
    const part = (around - this.low) / (this.high - this.low);
    this.low = Math.min(Math.max(0, around - part * height), most - height);
    this.high = this.low + height;
  }

  panHeight(part) {
    const height = this.high - this.low;
    this.low = Math.min(Math.max(0, this.low + part * height), this.app.fullHeight - height);
    this.high = this.low + height;
  }

  /** The coarsest level at which no column is narrower than a pixel. */
  get level() {
    const wanted = Math.ceil(Math.log2(this.unitsPerPixel) - 1e-9);
    return Math.min(Math.max(wanted, this.app.finest), this.app.coarsest);
  }

  /** Allocations less than a pixel high are not told apart; a power of two, so that it seldom changes. */
  get floor() {
    return 2 ** Math.floor(Math.log2((this.high - this.low) / this.plot.height));
  }
}
