// All heads on one sentence: a small matrix for each, layers as rows and heads as columns. A click opens one.

import { useMemo } from "preact/hooks";
import { shownValue } from "./panel";
import { Thumbnail } from "./thumbnail";
import { Buttons } from "../buttons";
import { captionOf } from "../caption";
import type { Explorer, SampledSentence } from "../data";
import { columnsOf, headName, rowsOf, runningText, storedHead } from "../data";
import { moved, usePromise, useWidth } from "../hooks";
import type { HeadMap, Maps } from "../inflate";
import { commonScale, sharedAmongWords } from "../scales";
import type { View } from "../view";

interface Props {
  data: Explorer;
  view: View;
  kind: string;
  head: number;
  onOpen: (head: number) => void;
  maps: Maps;
  sentence: SampledSentence;
}

/** The maps of all heads on one scale, without special tokens unless they are shown. */
async function mapsOf({ data, view, kind, maps, sentence }: Props): Promise<(HeadMap | null)[]> {
  const special = columnsOf(sentence).special;
  const layered = data.sample?.layer_kinds?.includes(kind) ?? false;
  const found: (HeadMap | null)[] = [];
  for (let head = 0; head < data.layers * data.heads; head++) {
    const map = layered && storedHead(head, kind, data) !== head ? null : await maps.head(sentence, kind, head);
    found.push(map && view.scale === "words" ? sharedAmongWords(map, special) : map);
  }
  const shares = view.scale === "words" || (data.sample?.share_kinds?.includes(kind) ?? kind === "weight");
  const scale = commonScale(found.filter((map) => map !== null), shares);
  return found.map((map) => map && { ...map, scale });
}

export function AllHeads(props: Props) {
  const { data, view, kind, head: chosen, onOpen, sentence } = props;
  const found = usePromise(() => mapsOf(props), [sentence, kind, view.scale]);
  const columnWords = columnsOf(sentence);
  const rows = useMemo(() => sentence.rows.map((_, i) => i).filter((i) => view.special || !sentence.special[i]), [sentence, view.special]);
  const columns = useMemo(() => columnWords.words.map((_, i) => i).filter((i) => view.special || !columnWords.special[i]), [sentence, view.special]);
  const [grid, room] = useWidth<HTMLDivElement>();
  const scale = found?.find((map) => map !== null)?.scale ?? 1;
  const shares = view.scale === "words" || (data.sample?.share_kinds?.includes(kind) ?? kind === "weight");
  return (
    <div>
      <div
        ref={grid}
        class="thumbnails"
        role="group"
        aria-label={`All heads on this sentence, ${kind}. Rows are layers, columns are heads.`}
        style={{ gridTemplateColumns: `repeat(${data.heads}, minmax(0, 1fr))` }}
        onKeyDown={(event) => {
          const buttons = [...(grid.current?.querySelectorAll("button") ?? [])];
          const target = moved(event.key, buttons.indexOf(event.target as HTMLButtonElement), buttons.length, data.heads);
          if (target === null) return;
          event.preventDefault();
          buttons[target]?.focus();
        }}
      >
        {found?.map(
          (map, head) =>
            map && (
              <button
                type="button"
                key={head}
                class={head === chosen ? "thumbnail current" : "thumbnail"}
                tabIndex={head === chosen ? 0 : -1}
                aria-label={`Open head ${headName(head, data)}`}
                onClick={() => onOpen(head)}
              >
                <Thumbnail map={map} rows={rows} columns={columns} room={room} />
                <span>{headName(head, data)}</span>
              </button>
            ),
        )}
      </div>
      <p class="key">
        <span class="domain">
          0 <span class="ramp" /> {shownValue({ shares }, scale)}
        </span>
        <span class="plain">Rows attend to columns, in the order of the words.</span>
      </p>
      <Buttons
        again={() => <AllHeads {...props} onOpen={() => undefined} />}
        name={`${sentence.id}-all-heads`}
        title={`All heads on ${sentence.id}`}
        caption={captionOf(data, [`sentence ${sentence.id}`, `map “${kind}”`, `${data.layers * data.heads} heads`, runningText(rowsOf(sentence))])}
      />
    </div>
  );
}
