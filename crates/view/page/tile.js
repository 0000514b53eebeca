// A tile: 256 columns of the picture with all that is in them. `tile.rs` has the table of its bytes.

export const COLUMNS = 256;

export function decodeTile(buffer, offset = 0) {
  const [, columns, groups, lanes] = new Uint32Array(buffer, offset, 4);
  let at = offset + 16;
  const take = (Type, length) => {
    const array = new Type(buffer, at, length);
    at += array.byteLength;
    return array;
  };
  return {
    columns,
    groups,
    seconds: take(Float64Array, columns),
    low: take(Float32Array, columns),
    allocated: take(Float32Array, columns),
    reserved: take(Float32Array, columns),
    rest: Array.from({ length: groups }, () => take(Float32Array, columns)),
    moments: take(Uint32Array, columns),
    laneBytes: take(Float32Array, lanes),
    laneIds: take(Uint32Array, lanes),
    laneFirst: take(Uint16Array, lanes),
    laneEnd: take(Uint16Array, lanes),
    laneGroup: take(Uint8Array, lanes),
    phases: take(Uint8Array, columns),
  };
}

/** Calls `each(from, to, lane or -1, group)` for everything in a column, from the bottom up, until it returns true. */
export function walkColumn(tile, column, each) {
  let y = 0;
  let lane = 0;
  for (let group = 0; group < tile.groups; group += 1) {
    for (; lane < tile.laneIds.length && tile.laneGroup[lane] === group; lane += 1) {
      if (column < tile.laneFirst[lane] || column >= tile.laneEnd[lane]) continue;
      if (each(y, y + tile.laneBytes[lane], lane, group)) return;
      y += tile.laneBytes[lane];
    }
    const rest = tile.rest[group][column];
    if (rest > 0 && each(y, y + rest, -1, group)) return;
    y += rest;
  }
}

/** What is at this height of a column. */
export function hitTile(tile, column, height) {
  let hit = null;
  walkColumn(tile, column, (from, to, lane, group) => {
    if (height < from || height >= to) return false;
    hit = { group, id: lane < 0 ? null : tile.laneIds[lane], bytes: to - from };
    return true;
  });
  return hit;
}

/** Bytes of each group in a column. */
export function columnSums(tile, column) {
  const sums = new Array(tile.groups).fill(0);
  walkColumn(tile, column, (from, to, lane, group) => {
    sums[group] += to - from;
  });
  return sums;
}

/** Where an allocation is in a column, or null. */
export function spanOf(tile, column, id) {
  let span = null;
  walkColumn(tile, column, (from, to, lane) => {
    if (lane < 0 || tile.laneIds[lane] !== id) return false;
    span = [from, to];
    return true;
  });
  return span;
}

/** Without hidden groups, and with only the allocations of a set: what the server does, for saved files. */
export function filteredTile(tile, hide, ids) {
  const shown = (lane) => !(hide >> tile.laneGroup[lane] & 1) && (!ids || ids.has(tile.laneIds[lane]));
  const kept = Array.from(tile.laneIds.keys()).filter(shown);
  const pick = (column, Type) => Type.from(kept, (lane) => column[lane]);
  return {
    ...tile,
    low: new Float32Array(tile.columns),
    rest: tile.rest.map((row, group) => (ids || hide >> group & 1 ? new Float32Array(tile.columns) : row)),
    laneBytes: pick(tile.laneBytes, Float32Array),
    laneIds: pick(tile.laneIds, Uint32Array),
    laneFirst: pick(tile.laneFirst, Uint16Array),
    laneEnd: pick(tile.laneEnd, Uint16Array),
    laneGroup: pick(tile.laneGroup, Uint8Array),
  };
}
