// Where answers come from: the server, or the store of a saved file.

import { decodeTile, filteredTile } from './tile.js';
import { matcher } from './search.js';

class Server {
  saved = false;

  async json(path, params = {}) {
    const answer = await fetch(address(path, params));
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }

  async tile(params) {
    const answer = await fetch(address('tile', params));
    if (!answer.ok) throw new Error(await answer.text());
    return decodeTile(await answer.arrayBuffer());
  }
}

function address(path, params) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== '' && value !== 0));
  return `${path}?${query}`;
}

/** Knows fewer answers, and finds the nearest one to a question it does not know. */
class Saved {
  saved = true;
  details = new Map();
  finest = new Map();

  constructor(bytes) {
    const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const start = Math.ceil((8 + length) / 8) * 8;
    const index = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    this.answers = new Map(index.map(([key, at, size]) => [key, bytes.subarray(start + at, start + at + size)]));
  }

  async json(path, params = {}) {
    if (path === 'model') return this.parsed('model');
    if (path === 'allocation') return this.allocation(params);
    if (path === 'search') return this.search(params);
    return this.parsed(this.nearest(path, params));
  }

  parsed(key) {
    return JSON.parse(new TextDecoder().decode(this.answers.get(key)));
  }

  /** Maps and holders are kept for a few moments only. */
  nearest(path, { series, by, moment }) {
    const prefix = `${path}?series=${series}&by=${by}&moment=`;
    const kept = [...this.answers.keys()].filter((key) => key.startsWith(prefix));
    const distance = (key) => Math.abs(Number(key.slice(prefix.length)) - moment);
    return kept.reduce((best, key) => (distance(key) < distance(best) ? key : best));
  }

  async tile({ series, by, axis, level, index, hide, q }) {
    const bytes = this.answers.get(`tile?series=${series}&by=${by}&axis=${axis}&level=${level}&index=${index}`);
    if (!bytes) throw new Error('not in the saved file');
    const tile = decodeTile(bytes.buffer, bytes.byteOffset);
    return hide || q ? filteredTile(tile, hide, q && this.matching(series, q)) : tile;
  }

  /** The finest level that was kept for an axis. */
  finestOf(series, axis) {
    const key = `${series} ${axis}`;
    if (!this.finest.has(key)) this.finest.set(key, this.lookForFinest(series, axis));
    return this.finest.get(key);
  }

  lookForFinest(series, axis) {
    const wanted = new RegExp(`^tile\\?series=${series}&by=\\w+&axis=${axis}&level=(\\d+)&`);
    const levels = [...this.answers.keys()].map((key) => key.match(wanted)?.[1]).filter(Boolean);
    return levels.length ? Math.min(...levels.map(Number)) : 0;
  }

  table(series) {
    if (!this.details.has(series)) {
      const { rows, stacks, frames } = this.parsed(`allocations?series=${series}`);
      const whole = rows.map(([facts, stack]) => [facts.id, { ...facts, stackNumber: stack }]);
      this.details.set(series, { rows: new Map(whole), stacks, frames });
    }
    return this.details.get(series);
  }

  allocation({ series, id }) {
    const { rows } = this.table(series);
    if (!rows.has(id)) throw new Error('not in the saved file');
    return this.withStack(series, rows.get(id));
  }

  withStack(series, facts) {
    const { stacks, frames } = this.table(series);
    return { ...facts, stack: stacks[facts.stackNumber].map((frame) => frames[frame]) };
  }

  matching(series, query) {
    const matches = matcher(query);
    const { rows } = this.table(series);
    return new Set([...rows.values()].filter((row) => matches(this.withStack(series, row))).map((row) => row.id));
  }

  search({ series, q }) {
    const { rows } = this.table(series);
    const found = [...this.matching(series, q)].map((id) => this.withStack(series, rows.get(id)));
    return gathered(found);
  }
}

/** Allocations by the line that made them, as the server's `search` answers. */
function gathered(found) {
  const lines = new Map();
  for (const it of found) {
    const site = it.stack[it.site ?? 0] ?? { function: '', file: '', line: 0 };
    const key = `${site.file}:${site.line}`;
    const line = lines.get(key) ?? { ...site, module: it.module, count: 0, bytes: 0, id: it.id, category: it.category, born: it.born };
    line.count += 1;
    line.bytes += it.bytes;
    lines.set(key, line);
  }
  const holders = [...lines.values()].sort((a, b) => b.bytes - a.bytes).slice(0, 40);
  return { count: found.length, bytes: found.reduce((sum, it) => sum + it.bytes, 0), holders, peak: null };
}

export async function openSource() {
  const store = document.getElementById('store');
  if (!store) return new Server();
  const packed = Uint8Array.from(atob(store.textContent), (c) => c.charCodeAt(0));
  store.remove();
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Saved(new Uint8Array(await new Response(stream).arrayBuffer()));
}
