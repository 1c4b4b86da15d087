// A small matrix of one head. Where a pixel stands for several values, it shows the largest one, so that a diagonal of a
// long sentence is not lost between the pixels.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { HeadMap } from "../inflate";
import { shadesOf } from "../inflate";

/** The shades of an image of `width` × `height` pixels: for each, the largest one of the cells that it covers. */
export function pooled(map: HeadMap, rows: number[], columns: number[], width: number, height: number): Uint8ClampedArray {
  const shades = shadesOf(map);
  const covered = (pixel: number, pixels: number, cells: number): [number, number] => {
    const middle = Math.floor(((pixel + 0.5) * cells) / pixels);
    return pixels >= cells ? [middle, middle + 1] : [Math.floor((pixel * cells) / pixels), Math.ceil(((pixel + 1) * cells) / pixels)];
  };
  const across = Array.from({ length: width }, (_, x) => covered(x, width, columns.length));
  const image = new Uint8ClampedArray(width * height);
  const line = new Uint8ClampedArray(columns.length); // the largest shades of the rows of a line of pixels
  for (let y = 0; y < height; y++) {
    const [first, end] = covered(y, height, rows.length);
    line.fill(0);
    for (let i = first; i < end; i++) {
      const start = (rows[i] ?? 0) * map.columns;
      for (let j = 0; j < columns.length; j++) {
        const shade = shades[start + (columns[j] ?? 0)] ?? 0;
        if (shade > (line[j] ?? 0)) line[j] = shade;
      }
    }
    across.forEach(([from, to], x) => {
      let most = 0;
      for (let j = from; j < to; j++) most = Math.max(most, line[j] ?? 0);
      image[y * width + x] = most;
    });
  }
  return image;
}

interface Props {
  map: HeadMap;
  rows: number[];
  columns: number[];
  /** The width of all thumbnails beside each other, with which theirs changes. */
  room: number;
}

export function Thumbnail({ map, rows, columns, room }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const size = Math.max(1, Math.round(element.clientWidth * devicePixelRatio));
    element.width = size;
    element.height = size;
    const image = context.createImageData(size, size);
    const color = getComputedStyle(element).color.match(/[\d.]+/g)?.slice(0, 3).map(Number) ?? [0, 0, 0];
    pooled(map, rows, columns, size, size).forEach((shade, i) => image.data.set([...color, shade], 4 * i));
    context.putImageData(image, 0, 0);
  }, [map, rows, columns, room]);
  return <canvas ref={canvas} aria-hidden="true" />;
}
