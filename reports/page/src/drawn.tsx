// Heads drawn on sentences, without measures and without a sample to choose from: what `attentionology show` writes.

import { useMemo } from "preact/hooks";
import { Drawings, SomeOf } from "./controls";
import type { Explorer, Sample, SampledSentence } from "./data";
import { headIndex, headName } from "./data";
import { Figure } from "./drawing/figure";
import { canInflate, Maps } from "./inflate";
import { wordTasks } from "./tasks";
import type { Go, View } from "./view";
import { withSlot } from "./view";

interface Props {
  data: Explorer;
  sample: Sample;
  view: View;
  go: Go;
}

/** The heads whose maps are stored, in the order in which they were asked for. */
function storedHeads(sample: Sample): number[] {
  const maps = sample.sentences.flatMap((sentence) => sample.kinds.map((kind) => ({ kind, map: sentence.maps[kind] })));
  const ofHeads = maps.filter(({ kind }) => !sample.layer_kinds?.includes(kind));
  return [...new Set((ofHeads.length ? ofHeads : maps).flatMap(({ map }) => map?.heads ?? []))];
}

/** The heads and kinds of maps that are drawn. */
function drawnBy(view: View): { heads: number[]; kinds: string[] } {
  return view.drawn ?? { heads: [view.head], kinds: [view.slots[0].kind] };
}

function Drawn({ sentence, maps, data, view, go }: Omit<Props, "sample"> & { sentence: SampledSentence; maps: Maps }) {
  const asked = useMemo(() => wordTasks(sentence), [sentence]);
  const { heads, kinds } = drawnBy(view);
  const current = view.slots[0].sentence === sentence.id ? view : { ...view, word: null };
  return (
    <section class="drawn" aria-label={`Sentence ${sentence.id}`}>
      <h3>
        <bdi>{sentence.id}</bdi>
      </h3>
      <Figure
        data={data}
        view={current}
        onKeep={(word) => go({ ...withSlot(view, 0, { sentence: sentence.id }), word }, true)}
        heads={heads}
        kinds={kinds}
        subtract={view.subtract && heads.length * kinds.length > 1}
        maps={maps}
        sentence={sentence}
        asked={asked}
        every
        guesses={view.direction ?? "dep->head"}
        title={`${sentence.id} · ${data.model}`}
      />
    </section>
  );
}

export function DrawnSentences({ data, sample, view, go }: Props) {
  const maps = useMemo(() => new Maps(), [data]);
  const heads = useMemo(() => storedHeads(sample).map((head) => headName(head, data)), [sample]);
  const drawn = drawnBy(view);
  const choose = (change: Partial<typeof drawn>): void => go({ ...view, drawn: { ...drawn, ...change } });
  if (!canInflate) return <p>This browser cannot inflate the stored maps. Browsers from 2024 or later can.</p>;
  return (
    <section class="sentences" aria-label="Sentences">
      <div class="controls">
        {heads.length > 1 && (
          <SomeOf
            label="Heads"
            options={heads}
            values={drawn.heads.map((head) => headName(head, data))}
            onChange={(names) => choose({ heads: names.map((name) => headIndex(name, data) ?? 0) })}
          />
        )}
        {sample.kinds.length > 1 && <SomeOf label="Map" options={sample.kinds} values={drawn.kinds} onChange={(kinds) => choose({ kinds })} />}
        <Drawings view={view} go={go} pair={false} difference={drawn.heads.length * drawn.kinds.length > 1 ? "difference" : null} />
      </div>
      {sample.sentences.map((sentence) => (
        <Drawn key={sentence.id} {...{ sentence, maps, data, view, go }} />
      ))}
      {sample.note && <p class="note">{sample.note}</p>}
    </section>
  );
}
