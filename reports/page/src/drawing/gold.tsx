// The gold links of a sentence pair, which lie below what a head does.

import type { SampledSentence } from "../data";
import type { Word } from "../view";

interface Props {
  links: SampledSentence["links"];
  focus: Word | null;
  path: (row: number, column: number) => string | null;
}

/** A band, or a frame, for each gold link. Those that are only possible are dashed. */
export function GoldLinks({ links, focus, path }: Props) {
  const shown = links.filter((link) => !focus || link[focus.side] === focus.index);
  return (
    <g class="links">
      {shown.map((link) => {
        const drawn = path(link.row, link.column);
        return drawn && <path key={`${link.row} ${link.column}`} class={link.sure ? "gold sure" : "gold possible"} d={drawn} />;
      })}
    </g>
  );
}
