// Ticks: round numbers, neither crowded nor sparse.

import { bytes, count, seconds } from './format.js';

const UNITS_PER_STEP = 2 ** 20;

/** A step of 1, 2 or 5 times a power of ten that gives about `wanted` ticks. */
export function niceStep(span, wanted) {
  const raw = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= raw);
}

/** Ticks of bytes: round in the unit that they are written in. */
export function byteTicks(low, high, wanted) {
  const unit = 1024 ** Math.min(4, Math.max(0, Math.floor(Math.log(high - low) / Math.log(1024) + 0.02)));
  const step = Math.max(1, niceStep((high - low) / unit, wanted) * unit);
  const first = Math.ceil(low / step);
  const ticks = [];
  for (let at = first; at * step <= high; at += 1) ticks.push({ at: at * step, label: bytes(at * step) });
  return ticks;
}

/** Ticks of the horizontal axis; steps have their own labels. Between skipped pauses, times are round again. */
export function unitTicks(axis, from, to, wanted) {
  if (axis.id === 'steps') return [];
  const step = Math.max(1, niceStep(to - from, wanted));
  const ticks = [];
  let start = 0;
  let skipped = 0;
  for (const pause of [...axis.pauses, { at: axis.extent, skipped_us: 0 }]) {
    const [first, last] = [Math.max(from, start), Math.min(to, pause.at)];
    for (let at = Math.ceil((first + skipped) / step) * step; at - skipped <= last; at += step) {
      ticks.push({ at: at - skipped, label: unitLabel(axis, at - skipped) });
    }
    start = pause.at;
    skipped += pause.skipped_us;
  }
  return ticks;
}

/** A position as people read it. */
export function unitLabel(axis, at) {
  if (axis.id === 'events') return count(at);
  if (axis.id === 'steps') return `${(at / UNITS_PER_STEP).toFixed(2)}`;
  const time = at + skippedBefore(axis, at);
  return time === 0 ? '0 s' : seconds(time / 1e6);
}

/** Microseconds of pauses that the axis leaves out on the way to a position. */
export function skippedBefore(axis, at) {
  return axis.pauses.reduce((sum, pause) => (pause.at < at ? sum + pause.skipped_us : sum), 0);
}

/** The steps that begin in a range, thinned out so that labels have room. */
export function visibleSteps(starts, from, to, room) {
  const first = lowerBound(starts, from);
  const end = lowerBound(starts, to);
  const fit = Math.max(1, Math.ceil((end - first) / Math.max(1, room)));
  const every = fit === 1 ? 1 : niceStep(fit, 1);
  const seen = [];
  for (let at = first; at < end; at += 1) if (at % every === 0) seen.push(at);
  return seen;
}

/** The first index whose value is not below `value`. */
export function lowerBound(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The top of the picture: the card's limit where that leaves room to see something, else the peak. */
export function fitHeight(series) {
  const most = Math.max(...series.map((it) => Math.max(it.peak.reserved, it.peak.allocated)), 2 ** 20);
  const limit = series[0].limit?.bytes ?? 0;
  return (limit > 0 && limit < 2.2 * most ? Math.max(limit, most) : most) * 1.04;
}
