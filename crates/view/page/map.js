// The segment map: memory as one long tape, cut into rows, with its holes.

import { bytes, count, plural } from './format.js';
import { groupColours, theme } from './palette.js';

const ROW = 17;
const ROW_GAP = 5;
const SEGMENT_GAP = 3;

export class SegmentMap {
  constructor(canvas, facts, app) {
    this.canvas = canvas;
    this.facts = facts;
    this.app = app;
    this.boxes = [];
    canvas.addEventListener('pointermove', (event) => app.pointAt(this.under(event), event));
    canvas.addEventListener('pointerleave', () => app.pointAt(null));
    canvas.addEventListener('click', (event) => {
      const box = this.under(event);
      if (box?.id !== undefined) app.choose(box.id);
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  /** Bytes that one pixel of the tape stands for: smaller pieces need not be told apart. */
  floorFor(reserved) {
    return Math.floor(reserved / Math.max(1, this.rows * this.canvas.clientWidth));
  }

  get rows() {
    return Math.max(1, Math.floor((this.canvas.clientHeight + ROW_GAP) / (ROW + ROW_GAP)));
  }

  show(map) {
    this.map = map;
    this.draw();
    const { reserved, free, largest_hole: hole, holes, segments } = map;
    const parts = [`${bytes(reserved)} in ${plural(segments, 'segment')}`, `${bytes(free)} free in ${plural(holes, 'hole')}`];
    if (free > 0) parts.push(`largest ${bytes(hole)}`);
    const refused = this.app.main.refused.find((it) => Math.abs(it.when.moment - map.moment) <= 1);
    if (refused) parts.push(`refused ${bytes(refused.bytes)}`);
    const kept = this.app.source.saved ? ` · at event ${count(map.moment)}, the nearest that was saved` : '';
    this.facts.textContent = parts.join(' · ') + kept;
  }

  draw() {
    const { canvas, map } = this;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (!map || map.reserved === 0) return;
    this.boxes = this.layOut();
    const colours = groupColours(this.app.grouping);
    for (const box of this.boxes) this.drawBox(context, box, colours);
  }

  /** Pieces as boxes: a piece that reaches over the end of a row goes on in the next. */
  layOut() {
    const { map, rows } = this;
    const width = this.canvas.clientWidth;
    const gaps = map.strips.length * SEGMENT_GAP;
    const perByte = Math.max(1, rows * width - gaps) / map.reserved;
    const boxes = [];
    let x = 0;
    for (const strip of map.strips) {
      for (const piece of strip.pieces) {
        let left = piece.bytes * perByte;
        while (left > 0) {
          const row = Math.floor(x / width);
          const room = Math.min(left, (row + 1) * width - x);
          boxes.push({ ...piece, strip, x: x - row * width, y: row * (ROW + ROW_GAP), width: room });
          x += Math.max(room, 1e-6);
          left -= room;
        }
      }
      x += SEGMENT_GAP;
    }
    return boxes;
  }

  drawBox(context, box, colours) {
    const { hole, strip, background, soft, select } = theme();
    context.globalAlpha = 1;
    if (box.kind === 'held') context.fillStyle = colours[box.group];
    else if (box.kind === 'free') context.fillStyle = hole;
    else context.fillStyle = strip;
    if (box.kind === 'held' && this.app.hide >> box.group & 1) context.globalAlpha = 0.25;
    context.fillRect(box.x, box.y, box.width, ROW);
    if (box.kind === 'mixed') {
      context.fillStyle = hole;
      const free = (1 - box.used / box.bytes) * ROW;
      context.fillRect(box.x, box.y, box.width, free);
    }
    if (box.kind === 'free' || box.kind === 'mixed') {
      context.fillStyle = soft;
      context.fillRect(box.x, box.y, box.width, 0.5);
      context.fillRect(box.x, box.y + ROW - 0.5, box.width, 0.5);
    } else if (box.width > 4) {
      context.fillStyle = background;
      context.globalAlpha = 0.55;
      context.fillRect(box.x + box.width - 0.75, box.y, 0.75, ROW);
    }
    context.globalAlpha = 1;
    if (box.id !== undefined && box.id === this.app.chosen) {
      context.strokeStyle = select;
      context.lineWidth = 2;
      context.strokeRect(box.x + 1, box.y + 1, Math.max(1, box.width - 2), ROW - 2);
    }
  }

  under(event) {
    const rect = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - rect.left, event.clientY - rect.top];
    return this.boxes.find((box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + ROW) ?? null;
  }
}

/** A piece of the map in words. */
export function describePiece(box, grouping) {
  const where = box.strip.small ? `${plural(box.strip.segments, 'segment')} of the small pool` : `segment ${box.strip.address}, ${bytes(box.strip.bytes)}`;
  const words = { free: 'free', pending: 'freed, waiting for a stream', mixed: `small pieces, ${bytes(box.used)} used` };
  return { title: words[box.kind] ?? grouping.groups[box.group].name, where: `${where}${box.strip.expandable ? ', expandable' : ''}` };
}
