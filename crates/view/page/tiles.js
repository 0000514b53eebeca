// Tiles that were asked for, and the bitmaps painted from them. The oldest go first.

import { paintLine, paintTile } from './paint.js';

const MOST_TILES = 200;
const MOST_BITMAPS = 56;
/** As many as a browser opens connections to one host, less one for everything else. */
const AT_ONCE = 5;
const MOST_WAITING = 40;

export class Tiles {
  constructor(source, arrived) {
    this.source = source;
    this.arrived = arrived;
    this.known = new Map();
    this.bitmaps = new Map();
    this.waiting = new Map();
    this.asked = new Set();
  }

  /** The tile if it is here; otherwise it is asked for. */
  get(set, level, index) {
    const key = `${set.key}|${level}|${index}`;
    const tile = this.known.get(key);
    if (tile) return touch(this.known, key, tile);
    if (!this.asked.has(key)) {
      this.waiting.delete(key);
      this.waiting.set(key, { ...set.params, level, index });
      if (this.waiting.size > MOST_WAITING) this.waiting.delete(this.waiting.keys().next().value);
      this.pump();
    }
    return null;
  }

  has(set, level, index) {
    return this.known.get(`${set.key}|${level}|${index}`) ?? null;
  }

  /** The latest questions first: what was asked before a pan went on may not be needed any more. */
  pump() {
    while (this.asked.size < AT_ONCE && this.waiting.size > 0) {
      const [key, params] = [...this.waiting].at(-1);
      this.waiting.delete(key);
      this.asked.add(key);
      this.source.tile(params).then(
        (tile) => this.keep(key, tile),
        () => {},
      ).finally(() => {
        this.asked.delete(key);
        this.pump();
      });
    }
  }

  keep(key, tile) {
    this.known.set(key, tile);
    if (this.known.size > MOST_TILES) this.known.delete(this.known.keys().next().value);
    this.arrived();
  }

  /** Nothing is asked for or waited for. */
  get idle() {
    return this.asked.size === 0 && this.waiting.size === 0;
  }

  bitmap(set, level, index, tile, look) {
    const key = `${set.key}|${level}|${index}|${look.key}`;
    const painted = this.bitmaps.get(key) ?? (look.plain ? paintLine : paintTile)(tile, look);
    touch(this.bitmaps, key, painted);
    if (this.bitmaps.size > MOST_BITMAPS) this.bitmaps.delete(this.bitmaps.keys().next().value);
    return painted;
  }
}

/** Maps remember the order of insertion: the last one put in was the last one used. */
function touch(map, key, value) {
  map.delete(key);
  map.set(key, value);
  return value;
}
