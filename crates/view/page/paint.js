// A tile as a bitmap: one pixel a column, painted pixel by pixel, so that a frame is a handful of copied bitmaps.

import { COLUMNS } from './tile.js';
import { rgb, theme } from './palette.js';

/** Lanes at least this tall get an edge, and at least that tall a shade of their own. */
const EDGE_FROM = 4;
const SHADE_FROM = 2;

/**
 * `look`: height in pixels, bytes at the bottom (`low`) and at the top (`high`), `colours` of the groups, `filtered`
 * whether something is switched off, `wide` whether columns are drawn so wide that upright lines would be bars.
 */
export function paintTile(tile, look) {
  const canvas = new OffscreenCanvas(COLUMNS, look.height);
  const context = canvas.getContext('2d', { alpha: false });
  const brush = new Brush(context.createImageData(COLUMNS, look.height), look);
  paintStack(brush, tile, look);
  paintAround(brush, tile, look);
  context.putImageData(brush.image, 0, 0);
  return canvas;
}

/** All groups, each with its lanes first and the rest of it on top. */
function paintStack(brush, tile, look) {
  const shades = look.colours.map((colour) => shadesOf(rgb(colour)));
  const reached = new Float64Array(tile.columns);
  let lane = 0;
  for (let group = 0; group < tile.groups; group += 1) {
    for (; lane < tile.laneIds.length && tile.laneGroup[lane] === group; lane += 1) {
      const bytes = tile.laneBytes[lane];
      const height = bytes * brush.scale;
      const shade = height >= SHADE_FROM ? shades[group].lanes[tile.laneIds[lane] % 2] : shades[group].rest;
      const edge = height >= EDGE_FROM ? shades[group].edge : null;
      for (let x = tile.laneFirst[lane]; x < tile.laneEnd[lane]; x += 1) {
        brush.bar(x, reached[x], reached[x] + bytes, shade);
        if (edge) brush.dot(x, reached[x] + bytes, edge);
        reached[x] += bytes;
      }
    }
    const rest = tile.rest[group];
    for (let x = 0; x < tile.columns; x += 1) {
      if (rest[x] > 0) brush.bar(x, reached[x], reached[x] + rest[x], shades[group].rest);
      reached[x] += rest[x];
    }
  }
  tile.tops = reached;
}

/** What is switched off, what is reserved and unused, and the line of what is reserved. */
function paintAround(brush, tile, look) {
  const colours = theme();
  const [hidden, idle, line] = [rgb(colours.hidden), rgb(colours.idle), rgb(colours.reserved)];
  const pale = line.map((value, part) => (value + 2 * hidden[part]) / 3);
  for (let x = 0; x < tile.columns; x += 1) {
    const top = tile.tops[x];
    const allocated = Math.max(top, tile.allocated[x]);
    if (look.filtered) brush.bar(x, top, allocated, hidden);
    brush.bar(x, look.filtered ? allocated : top, tile.reserved[x], idle);
    const before = tile.reserved[x > 0 && !look.wide ? x - 1 : x];
    brush.line(x, before, tile.reserved[x], line, pale);
  }
}

function shadesOf(colour) {
  const mixed = (part, with_) => colour.map((value) => value + (with_ - value) * part);
  return { lanes: [colour, mixed(0.1, 255)], rest: mixed(0.05, 255), edge: mixed(0.24, 0) };
}

/** Adds coloured bars to an opaque background; parts of a pixel count in part. */
class Brush {
  constructor(image, look) {
    this.image = image;
    this.pixels = image.data;
    this.height = look.height;
    this.low = look.low;
    this.scale = look.height / (look.high - look.low);
    this.background = rgb(theme().background);
    const [r, g, b] = this.background;
    new Uint32Array(this.pixels.buffer).fill(0xff000000 | b << 16 | g << 8 | r);
  }

  y(bytes) {
    return this.height - (bytes - this.low) * this.scale;
  }

  bar(x, from, to, colour) {
    const top = Math.max(0, this.y(to));
    const bottom = Math.min(this.height, this.y(from));
    if (!(bottom > top)) return;
    const first = Math.floor(top);
    const last = Math.ceil(bottom) - 1;
    if (first === last) return this.add(x, first, bottom - top, colour);
    this.add(x, first, first + 1 - top, colour);
    this.add(x, last, bottom - last, colour);
    this.fill(x, first + 1, last, colour);
  }

  fill(x, start, end, [r, g, b]) {
    const pixels = this.pixels;
    for (let at = (start * COLUMNS + x) * 4; start < end; start += 1, at += COLUMNS * 4) {
      pixels[at] = r;
      pixels[at + 1] = g;
      pixels[at + 2] = b;
    }
  }

  /** Coverages of one pixel sum up to at most 1, so the order of bars does not matter. */
  add(x, y, coverage, colour) {
    const at = (y * COLUMNS + x) * 4;
    for (let part = 0; part < 3; part += 1) {
      this.pixels[at + part] += coverage * (colour[part] - this.background[part]);
    }
  }

  set(x, y, colour) {
    const row = Math.round(y);
    if (row >= 0 && row < this.height) this.fill(x, row, row + 1, colour);
  }

  dot(x, bytes, colour) {
    this.set(x, this.y(bytes), colour);
  }

  /** A stepped line: from the height of the column before to this one's, the upright part paler. */
  line(x, before, now, colour, pale) {
    const [a, b] = [Math.round(this.y(before)), Math.round(this.y(now))];
    for (let y = Math.min(a, b); y <= Math.max(a, b); y += 1) this.set(x, y, pale);
    this.set(x, b, colour);
  }
}

/** Only the line of what is allocated, on nothing: for the run that is laid over. */
export function paintLine(tile, look) {
  const canvas = new OffscreenCanvas(COLUMNS, look.height);
  const context = canvas.getContext('2d');
  const scale = look.height / (look.high - look.low);
  const y = (bytes) => Math.round(look.height - (bytes - look.low) * scale);
  for (const [colour, spread] of [[theme().background, 2], [theme().second, 1]]) {
    context.fillStyle = colour;
    for (let x = 0; x < tile.columns; x += 1) {
      const [a, b] = [y(tile.allocated[x > 0 && !look.wide ? x - 1 : x]), y(tile.allocated[x])];
      context.fillRect(x, Math.min(a, b) - spread, 1, Math.abs(a - b) + 2 * spread);
    }
  }
  return canvas;
}
