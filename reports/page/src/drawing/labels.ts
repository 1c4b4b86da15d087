// Labels of arcs, which are moved down until none lies on another one.

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function meet(a: Box, b: Box): boolean {
  return Math.abs(a.x - b.x) * 2 < a.width + b.width && Math.abs(a.y - b.y) * 2 < a.height + b.height;
}

/** The positions of boxes, given by their centers: those above stay, and those that lie on them move down. */
export function apart(boxes: Box[]): Box[] {
  const placed: Box[] = [];
  const order = boxes.map((box, i) => ({ box, i })).sort((a, b) => a.box.y - b.box.y || a.i - b.i);
  const result: Box[] = [];
  for (const { box, i } of order) {
    let next = box;
    for (let other = placed.find((item) => meet(item, next)); other; other = placed.find((item) => meet(item, next))) {
      next = { ...next, y: other.y + (other.height + next.height) / 2 };
    }
    placed.push(next);
    result[i] = next;
  }
  return result;
}
