// The picture: copies bitmaps of tiles to the canvas and draws axes, marks and the cursor over them.

import { byteTicks, unitTicks, visibleSteps } from './axis.js';
import { bytes, seconds } from './format.js';
import { Frame } from './frame.js';
import { PHASES, groupColours, theme } from './palette.js';
import { COLUMNS, hitTile, spanOf } from './tile.js';

const STRIP = { gap: 4, height: 12 };

export class Chart extends Frame {
  constructor(canvas, app) {
    super(canvas, app);
    this.context = canvas.getContext('2d', { alpha: false });
    /** For measuring: how often it was drawn. */
    this.frames = 0;
  }

  // Reading.

  /** What is at a position: its tile, column and moment, and what is at a height. */
  read(units, amount = null) {
    const { level } = this;
    const column = Math.floor(units / 2 ** level);
    const index = Math.floor(column / COLUMNS);
    const tile = this.app.tiles.has(this.app.tileSet(), level, index);
    const inside = column - index * COLUMNS;
    if (!tile || inside < 0 || inside >= tile.columns) return null;
    const hit = amount === null ? null : hitTile(tile, inside, amount);
    return { tile, column: inside, moment: tile.moments[inside], units: column * 2 ** level, width: 2 ** level, hit };
  }

  // Drawing.

  draw() {
    const { context, plot } = this;
    const colours = theme();
    context.fillStyle = colours.background;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.imageSmoothingEnabled = false;
    this.drawTiles(this.app.tileSet(), this.look());
    if (this.app.against) this.drawTiles(this.app.lineSet(), { ...this.look(), plain: true, key: `line ${this.look().key}` });
    this.clipped(() => {
      this.drawGrid(colours);
      this.drawMarks(colours);
      this.drawOutlines(colours);
    });
    this.drawLeftLabels(colours);
    this.drawBottom(colours);
    context.fillStyle = colours.grid;
    context.fillRect(plot.left, plot.top + plot.height, plot.width, this.ratio);
    this.frames += 1;
  }

  look() {
    const { hide, q, grouping } = this.app;
    const { low, high } = this;
    const { height } = this.plot;
    const wide = 2 ** this.level / this.unitsPerPixel > 3 * this.ratio;
    const key = [height, low, high, wide, theme().background].join(' ');
    return { height, low, high, wide, filtered: hide !== 0 || q !== '', colours: groupColours(grouping), key };
  }

  drawTiles(set, look) {
    const { level } = this;
    const width = COLUMNS * 2 ** level;
    const last = Math.min(this.x0 + this.span, this.app.extentOf(set)) - 1e-9;
    this.missing = look.plain ? this.missing : 0;
    for (let index = Math.floor(this.x0 / width); index * width <= last; index += 1) {
      if (!this.drawTile(set, level, index, look)) this.missing += 1;
    }
    this.prefetch(set, level, Math.floor(this.x0 / width), Math.floor(last / width));
  }

  /** Draws the tile, or what a coarser one or the last picture knows about its place. Says whether it was the tile. */
  drawTile(set, level, index, look) {
    const tile = this.app.tiles.get(set, level, index);
    if (tile) {
      const bitmap = this.app.tiles.bitmap(set, level, index, tile, look);
      this.copy(bitmap, tile.columns, level, index * COLUMNS, look.plain ? null : tile);
      return true;
    }
    for (const other of [set, this.app.lastSet(set)].filter(Boolean)) {
      for (let up = other === set ? 1 : 0; level + up <= this.app.coarsest; up += 1) {
        const above = this.app.tiles.has(other, level + up, Math.floor(index / 2 ** up));
        if (!above) continue;
        const at = Math.floor(index / 2 ** up);
        const bitmap = this.app.tiles.bitmap(other, level + up, at, above, look);
        const share = COLUMNS / 2 ** up;
        const first = (index - at * 2 ** up) * share;
        const columns = Math.min(share, above.columns - first);
        if (columns > 0) this.copy(bitmap, columns, level + up, at * COLUMNS + first, null, first);
        return false;
      }
    }
    return false;
  }

  copy(bitmap, columns, level, firstColumn, tile, from = 0) {
    const left = Math.round(this.toX(firstColumn * 2 ** level));
    const right = Math.round(this.toX((firstColumn + columns) * 2 ** level));
    const { plot } = this;
    // Only the part inside the plot: the margins belong to the labels.
    const start = Math.max(left, plot.left);
    const end = Math.min(right, plot.left + plot.width);
    if (end <= start) return;
    const perPixel = columns / (right - left);
    this.context.drawImage(bitmap, from + (start - left) * perPixel, 0, (end - start) * perPixel, plot.height, start, plot.top, end - start, plot.height);
    if (tile) this.drawStrip(tile, (start - left) * perPixel, (end - start) * perPixel, start, end - start);
  }

  drawStrip(tile, from, columns, x, width) {
    tile.strip ??= paintStrip(tile);
    const y = this.plot.top + this.plot.height + STRIP.gap * this.ratio;
    this.context.drawImage(tile.strip.get(theme()), from, 0, columns, 1, x, y, width, STRIP.height * this.ratio);
  }

  /** The neighbours, so that a pan finds them ready. */
  prefetch(set, level, first, last) {
    const most = Math.ceil(this.app.extentOf(set) / (COLUMNS * 2 ** level)) - 1;
    for (const index of [first - 1, last + 1, last + 2]) {
      if (index >= 0 && index <= most) this.app.tiles.get(set, level, index);
    }
  }

  clipped(action) {
    const { context, plot } = this;
    context.save();
    context.beginPath();
    context.rect(plot.left, 0, plot.width, this.canvas.height);
    context.clip();
    action();
    context.restore();
  }

  get ticks() {
    return byteTicks(this.low, this.high, this.plot.height / (64 * this.ratio));
  }

  drawGrid(colours) {
    const { context, plot } = this;
    context.globalAlpha = 0.16;
    context.fillStyle = colours.ink;
    for (const { at } of this.ticks) context.fillRect(plot.left, Math.round(this.toY(at)), plot.width, 1);
    const { axis } = this.app;
    for (const step of visibleSteps(axis.steps, this.x0, this.x0 + this.span, plot.width / (24 * this.ratio))) {
      context.fillRect(Math.round(this.toX(axis.steps[step])), plot.top, 1, plot.height);
    }
    context.globalAlpha = 1;
  }

  /** The card's limit, refused allocations, skipped pauses, the cursor. */
  drawMarks(colours) {
    const { plot } = this;
    const { main, axis } = this.app;
    if (main.limit) this.drawLimit(main.limit, colours);
    let free = 0;
    for (const pause of axis.pauses) free = this.drawPause(pause, colours, free);
    main.refused.slice().reverse().forEach((refused, at, all) => this.drawRefused(refused, colours, at === all.length - 1));
    const cursor = this.app.cursor;
    if (cursor) {
      this.context.fillStyle = colours.ink;
      const x = Math.round(this.toX(cursor.units + cursor.width / 2));
      this.context.fillRect(x, plot.top, this.ratio, plot.height + (STRIP.gap + STRIP.height) * this.ratio);
    }
  }

  drawLimit(limit, colours) {
    const { context, plot, ratio } = this;
    const y = Math.round(this.toY(limit.bytes));
    if (y < plot.top - 2 || y > plot.top + plot.height) return;
    context.fillStyle = colours.limit;
    for (let x = plot.left; x < plot.left + plot.width; x += 10 * ratio) context.fillRect(x, y, 6 * ratio, 1.5 * ratio);
    const label = `${limit.name ? `${limit.name}, ` : 'limit '}${bytes(limit.bytes)}`;
    const above = y - plot.top > 20 * ratio;
    context.fillStyle = colours.background;
    context.fillRect(plot.left + 4 * ratio, above ? y - 19 * ratio : y + 4 * ratio, this.measure(label) + 10 * ratio, 16 * ratio);
    this.text(label, plot.left + 9 * ratio, above ? y - 7 * ratio : y + 16 * ratio, colours.limit);
  }

  drawRefused(refused, colours, labelled) {
    const { context, plot, ratio } = this;
    const x = Math.round(this.toX(positionOf(refused.when, this.app.axis)));
    if (x < plot.left || x > plot.left + plot.width) return;
    context.fillStyle = colours.limit;
    context.fillRect(x - ratio, plot.top, 2 * ratio, plot.height);
    if (!labelled) return;
    const label = `refused ${bytes(refused.bytes)}`;
    const width = this.measure(label) + 14 * ratio;
    const left = x + width > plot.left + plot.width ? x - width : x;
    context.fillRect(left, plot.top, width, 20 * ratio);
    this.text(label, left + 7 * ratio, plot.top + 14 * ratio, colours.background);
  }

  /** Its label only where the one before leaves room. Returns where there is room again. */
  drawPause(pause, colours, free) {
    const { context, plot, ratio } = this;
    const x = Math.round(this.toX(pause.at));
    if (x < plot.left || x > plot.left + plot.width) return free;
    context.globalAlpha = 0.5;
    context.fillStyle = colours.soft;
    for (let y = plot.top; y < plot.top + plot.height; y += 8 * ratio) context.fillRect(x, y, ratio, 3 * ratio);
    context.globalAlpha = 1;
    const label = `${seconds(pause.skipped_us / 1e6)} skipped`;
    if (x < free) return free;
    this.text(label, x + 4 * ratio, plot.top + 12 * ratio, colours.soft);
    return x + this.measure(label) + 12 * ratio;
  }

  drawOutlines(colours) {
    for (const [id, width] of [[this.app.pointed, 1.5], [this.app.chosen, 2]]) {
      if (id !== null) this.outline(id, width * this.ratio, colours);
    }
  }

  /** Runs round the allocation over all tiles it is seen in. */
  outline(id, width, colours) {
    const { context, level } = this;
    const set = this.app.tileSet();
    const tops = [];
    const bottoms = [];
    const tileWidth = COLUMNS * 2 ** level;
    for (let index = Math.floor(this.x0 / tileWidth); index * tileWidth < this.x0 + this.span; index += 1) {
      const tile = this.app.tiles.has(set, level, index);
      const lane = tile ? tile.laneIds.indexOf(id) : -1;
      for (let at = tile?.laneFirst[lane] ?? 0; at < (tile?.laneEnd[lane] ?? 0); at += 1) {
        const span = cachedSpan(tile, at, id);
        const column = index * COLUMNS + at;
        const [left, right] = [this.toX(column * 2 ** level), this.toX((column + 1) * 2 ** level)];
        tops.push([left, this.toY(span[1])], [right, this.toY(span[1])]);
        bottoms.push([left, this.toY(span[0])], [right, this.toY(span[0])]);
      }
    }
    if (tops.length === 0) return;
    context.beginPath();
    [...tops, ...bottoms.reverse()].forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.strokeStyle = colours.background;
    context.lineWidth = width + 2 * this.ratio;
    context.stroke();
    context.strokeStyle = colours.select;
    context.lineWidth = width;
    context.stroke();
  }

  drawLeftLabels(colours) {
    this.context.textAlign = 'right';
    for (const { at, label } of this.ticks) {
      this.text(label, this.plot.left - 8 * this.ratio, this.toY(at) + 4 * this.ratio, colours.soft);
    }
    this.context.textAlign = 'left';
  }

  /** Under the plot: phases in the strip, then steps, then ticks. */
  drawBottom(colours) {
    const { context, plot, ratio } = this;
    const { axis, main } = this.app;
    const stripTop = plot.top + plot.height + STRIP.gap * ratio;
    this.clipped(() => this.drawPhaseNames(stripTop + 10 * ratio, colours));
    const steps = visibleSteps(axis.steps, this.x0, this.x0 + this.span, plot.width / (64 * ratio));
    const y = stripTop + (STRIP.height + 14) * ratio;
    for (const step of steps) {
      const x = this.toX(axis.steps[step]);
      this.text(`step ${main.steps.numbers[step]}`, x + 2 * ratio, y, colours.soft);
    }
    context.textAlign = 'center';
    const row = axis.id === 'steps' || steps.length > 0 || axis.steps.length > 0 ? y + 14 * ratio : y;
    for (const { at, label } of unitTicks(axis, this.x0, this.x0 + this.span, plot.width / (130 * ratio))) {
      const half = this.measure(label) / 2;
      this.text(label, Math.min(this.toX(at), this.canvas.width - half - 2 * ratio), row, colours.soft);
    }
    context.textAlign = 'left';
  }

  drawPhaseNames(y, colours) {
    for (const run of this.phaseRuns()) {
      const [left, right] = [Math.max(this.toX(run.from), this.plot.left), Math.min(this.toX(run.to), this.plot.left + this.plot.width)];
      const name = PHASES[run.phase];
      if (name && right - left > this.measure(name) + 10 * this.ratio) this.text(name, left + 5 * this.ratio, y, colours.ink, 10);
    }
  }

  /** Neighbouring columns of one phase, over all visible tiles. */
  phaseRuns() {
    const { level } = this;
    const tileWidth = COLUMNS * 2 ** level;
    const runs = [];
    for (let index = Math.floor(this.x0 / tileWidth); index * tileWidth < this.x0 + this.span; index += 1) {
      const tile = this.app.tiles.has(this.app.tileSet(), level, index);
      tile?.phases.forEach((phase, at) => {
        const from = (index * COLUMNS + at) * 2 ** level;
        const last = runs.at(-1);
        if (last?.phase === phase && last.to === from) last.to += 2 ** level;
        else runs.push({ phase, from, to: from + 2 ** level });
      });
    }
    return runs;
  }

  text(label, x, y, colour, size = 11.5) {
    const { context } = this;
    context.font = `${size * this.ratio}px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif`;
    context.fillStyle = colour;
    context.fillText(label, x, y);
  }

  measure(label) {
    this.context.font = `${11.5 * this.ratio}px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif`;
    return this.context.measureText(label).width;
  }
}

/** A tile's phases as a bitmap one pixel high, one for each theme. */
function paintStrip(tile) {
  const strips = new Map();
  return {
    get(colours) {
      if (!strips.has(colours)) strips.set(colours, paintStripIn(tile, colours));
      return strips.get(colours);
    },
  };
}

function paintStripIn(tile, colours) {
  const canvas = new OffscreenCanvas(COLUMNS, 1);
  const context = canvas.getContext('2d');
  tile.phases.forEach((phase, x) => {
    context.fillStyle = colours.phases[phase] ?? colours.background;
    context.fillRect(x, 0, 1, 1);
  });
  return canvas;
}

/** Outlines are drawn in every frame: the height of each column is looked up once. */
function cachedSpan(tile, column, id) {
  if (!tile.spans || tile.spans.size > 64 * COLUMNS) tile.spans = new Map();
  const key = id * COLUMNS + column;
  if (!tile.spans.has(key)) tile.spans.set(key, spanOf(tile, column, id) ?? [0, 0]);
  return tile.spans.get(key);
}

/** Where a moment is on an axis. */
export function positionOf(when, axis) {
  return when.position.find(([kind]) => kind === axis.id)?.[1] ?? 0;
}
