// What a slot is filled with: a field for a text, the sentences of the sample, the run or model, the map and the head.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { SampledSentence } from "./data";
import { headIndex, headName, rowsOf, runningText } from "./data";
import type { Filled } from "./filled";
import { count } from "./format";
import { useName } from "./hooks";
import { withKind, withSource } from "./question";
import { headIn, kindsOf, NAMES, opened, otherKind, samplesOf, sourceOf, split } from "./slots";
import type { Source } from "./sources";
import type { Go, View } from "./view";
import { withSlot } from "./view";

interface Props {
  which: number;
  filled: Filled;
  view: View;
  go: Go;
  sources: Source[];
  /** What A shows of the sample. */
  chosen: SampledSentence | null;
  /** Of B: what A is filled with, which B follows if it has no sentence of its own. */
  follows: Filled | null;
}

const WORDS = 12; // of a sentence in a list
const AS_IN_A = "="; // no id of a sentence

function Box({ which, filled, view, go, chosen, follows }: Props) {
  const name = NAMES[which] ?? "A";
  const { slot, waiting, problem } = filled;
  const shown = slot.text || (slot.sentence === null && follows?.slot.text) || "";
  const sampled = filled.sampled ?? filled.sentence ?? chosen;
  const text = shown || (sampled ? runningText(rowsOf(sampled)) : "");
  const [draft, setDraft] = useState<string | null>(null);
  const id = useName();
  // What is being typed stays when the page reads its sample, or when another head is asked about another sentence.
  useEffect(() => setDraft(null), [slot.text, slot.sentence, follows?.slot.text]);
  const draw = (): void => {
    if (draft === null && !slot.text) return; // a sentence of the sample keeps its annotation
    const [first, second] = split(draft ?? text);
    if (!first) return;
    const own = withSlot(view, which, { text: first, sentence: null });
    if (second) go(which ? withSlot(own, 0, { text: second, sentence: null }) : withSlot(own, 1, { text: second, sentence: null }));
    else go(own);
  };
  return (
    <form
      class="box"
      aria-busy={waiting}
      onSubmit={(event) => {
        event.preventDefault();
        draw();
      }}
    >
      <textarea
        id={id}
        rows={1}
        aria-label={`Sentence ${name}`}
        aria-invalid={problem !== ""}
        aria-describedby={problem ? `${id}-problem` : undefined}
        value={draft ?? text}
        maxLength={100_000}
        spellcheck={false}
        autocomplete="off"
        placeholder="Type a sentence. [word] masks a word, and “one ||| other” fills both slots."
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") setDraft(null);
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          draw();
        }}
      />
      <button type="submit" aria-label={`Draw ${name}`} title="Draw (Enter)">
        ▸
      </button>
      <small id={`${id}-problem`} class="wrong" role="alert">
        {problem}
      </small>
    </form>
  );
}

/** A list of the sentences of the sample. B may follow A. */
function Samples({ which, filled, view, go, chosen, follows }: Props) {
  const name = NAMES[which] ?? "A";
  const sentences = samplesOf(filled.source);
  const options = useMemo(
    () =>
      sentences.map((sentence) => (
        <option key={sentence.id} value={sentence.id}>
          {runningText(rowsOf(sentence), WORDS)}
        </option>
      )),
    [sentences],
  );
  const typed = filled.slot.text !== "";
  const value = typed ? "" : (filled.slot.sentence ?? (follows ? AS_IN_A : (chosen?.id ?? "")));
  return (
    <label class="field wide">
      <span>Sentence{filled.source.live ? " of the sample" : ""}</span>
      <select aria-label={`Sentence ${name}${filled.source.live ? " of the sample" : ""}`} value={value} onChange={(event) => go(withSlot(view, which, { sentence: event.currentTarget.value === AS_IN_A ? null : event.currentTarget.value, text: "" }))}>
        {value === "" && <option value="">{typed ? "typed" : "–"}</option>}
        {filled.id === value && !filled.sampled && filled.source.live && <option value={value}>{value}, of the corpus</option>}
        {follows && <option value={AS_IN_A}>as in A</option>}
        {options}
      </select>
    </label>
  );
}

/** The head of a slot, which is the chosen one if the field is empty. */
function Head({ which, filled, view, go }: Props) {
  const { data, slot } = filled;
  const own = slot.head === null ? "" : headName(slot.head, data);
  const [text, setText] = useState<string | null>(null);
  const id = useName();
  useEffect(() => setText(null), [own]);
  const value = text ?? own;
  const index = headIndex(value, data);
  const wrong = /^\s*\d+-\d+\s*$/.test(value) && index === null;
  const keep = (): void => {
    if (text === null) return;
    if (index !== null || !text.trim()) go(withSlot(view, which, { head: index }));
    if (!wrong) setText(null);
  };
  return (
    <form
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        keep();
      }}
    >
      <label for={id}>Head</label>
      <input
        id={id}
        aria-label={`Head ${NAMES[which]}`}
        value={value}
        size={5}
        placeholder={headName(filled.head, data)}
        title="Empty: the chosen head"
        autocomplete="off"
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={keep}
      />
      {wrong && (
        <small id={`${id}-wrong`} class="wrong">
          The model has {count(data.layers, "layer")} of {count(data.heads, "head")}.
        </small>
      )}
    </form>
  );
}

/** The heads that are switched off, and the switch of the one that is drawn. */
function Off({ which, filled, view, go }: Props) {
  const { data, slot, head } = filled;
  const toggle = (index: number): void => {
    const off = slot.off.includes(index) ? slot.off.filter((each) => each !== index) : [...slot.off, index].sort((a, b) => a - b);
    go(withSlot(view, which, { off }));
  };
  return (
    <div class="field" role="group" aria-label={`Heads that are off in ${NAMES[which]}`}>
      <span>Off</span>
      <span class="offs">
        <button type="button" aria-pressed={slot.off.includes(head)} onClick={() => toggle(head)} title="Switch this head off, or on again">
          {headName(head, data)} off
        </button>
        {slot.off
          .filter((each) => each !== head)
          .map((each) => (
            <button key={each} type="button" class="chip" aria-label={`Switch head ${headName(each, data)} on`} onClick={() => toggle(each)}>
              {headName(each, data)} ×
            </button>
          ))}
      </span>
    </div>
  );
}

/** What A can be compared with: another map, run or model, the nearest heads, or another sentence. */
function CompareWith({ filled, view, go, sources, chosen }: Props) {
  const { source, data, kind, head, slot } = filled;
  const choices: { text: string; make: () => View }[] = [];
  for (const item of kindsOf(source)) {
    if (item !== kind) choices.push({ text: `the map ${item}`, make: () => withSlot(view, 1, { kind: item }) });
  }
  for (const other of sources) {
    if (other !== source) choices.push({ text: other.name, make: () => ({ ...view, slots: [slot, opened(other, kind)] }) });
  }
  for (const name of data.cards[head]?.nearest.slice(0, 3) ?? []) {
    const index = headIndex(name, data);
    if (index !== null) choices.push({ text: `head ${name}, which is like it`, make: () => withSlot(view, 1, { head: index }) });
  }
  const next = samplesOf(source).find((sentence) => sentence !== chosen);
  if (next || source.live) choices.push({ text: "another sentence", make: () => withSlot(view, 1, source.live ? { text: slot.text || (chosen ? runningText(rowsOf(chosen)) : "") } : { sentence: next?.id ?? null }) });
  choices.push({ text: "another head", make: () => withSlot(view, 1, { head: (head + 1) % (data.layers * data.heads) }) });
  return (
    <label class="field">
      <span>Compare with …</span>
      <select
        value=""
        onChange={(event) => {
          const made = choices[Number(event.currentTarget.value)]?.make();
          if (made) go(made);
        }}
      >
        <option value="">nothing</option>
        {choices.map(({ text }, i) => (
          <option key={text} value={i}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

const END = / (good|bad)$/; // of the ids of the two sentences of a minimal pair

/** The ids of both sentences of the minimal pair in a slot, the acceptable one first; null if they cannot both be drawn. */
export function pairOf({ id, source }: Pick<Filled, "id" | "source">): [string, string] | null {
  if (id === null || !END.test(id)) return null;
  const [good, bad] = ["good", "bad"].map((end) => id.replace(END, ` ${end}`)) as [string, string];
  const samples = samplesOf(source);
  const stored = [good, bad].every((each) => samples.some((sentence) => sentence.id === each));
  return stored || (source.live && source.run !== null && samples.every((sentence) => END.test(sentence.id))) ? [good, bad] : null;
}

/** A button that puts the acceptable sentence of a minimal pair into A, and the other one into B. */
function BothOfPair({ filled, view, go }: Props) {
  const pair = pairOf(filled);
  const [a, b] = view.slots;
  if (!pair || (filled.id === pair[0] && b?.sentence === pair[1] && !a.text && !b.text)) return null;
  const [good, bad] = pair;
  return (
    <button type="button" onClick={() => go(withSlot(withSlot(view, 0, { sentence: good, text: "" }), 1, { sentence: bad, text: "" }))}>
      Both sentences of the pair
    </button>
  );
}

export function SlotControls(props: Props) {
  const { which, filled, view, go, sources } = props;
  const { source, slot } = filled;
  const name = NAMES[which] ?? "A";
  const kinds = kindsOf(source);
  const chooseSource = (index: number): void => {
    const next = sources[index];
    if (!next) return;
    const head = slot.head === null ? null : headIn(slot.head, filled.data, next.data);
    const kind = kindsOf(next).includes(slot.kind) ? slot.kind : otherKind(next, slot.kind);
    go(which ? withSlot(view, 1, { run: next.run, model: next.model, kind, head, off: [] }) : withSource(view, next, sources));
  };
  return (
    <div class="slot-controls">
      {source.live && <Box {...props} />}
      <div class="controls">
        {view.slots[1] && (
          <b class="badge" aria-hidden="true">
            {name}
          </b>
        )}
        {samplesOf(source).length > 0 && <Samples {...props} />}
        {which === 1 && (
          <button type="button" class="remove" aria-label="Remove B" title="Remove B" onClick={() => go(withSlot(view, 1, null))}>
            ×
          </button>
        )}
        {sources.length > 1 && (
          <label class="field">
            <span>Run</span>
            <select aria-label={`Run ${name}`} value={sources.indexOf(sourceOf(slot, sources))} onChange={(event) => chooseSource(Number(event.currentTarget.value))}>
              {sources.map((each, i) => (
                <option key={each.name} value={i}>
                  {each.name}
                </option>
              ))}
            </select>
          </label>
        )}
        {kinds.length > 1 && (
          <label class="field">
            <span>Map</span>
            <select aria-label={`Map ${name}`} value={slot.kind} onChange={(event) => go(withKind(view, which, event.currentTarget.value, sourceOf(view.slots[0], sources).data))}>
              {kinds.map((kind) => (
                <option key={kind}>{kind}</option>
              ))}
            </select>
          </label>
        )}
        <Head {...props} />
        {source.live && <Off {...props} />}
        {which === 0 && <BothOfPair {...props} />}
        {which === 0 && !view.slots[1] && <CompareWith {...props} />}
      </div>
      {!source.live && filled.problem && (
        <p class="wrong" role="alert">
          {filled.problem}
        </p>
      )}
    </div>
  );
}
