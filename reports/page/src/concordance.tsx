// The concordance of a head: one row for each word that it is asked about, as a key word in its context. Only the rows
// in view are drawn, so that a hundred thousand of them scroll as quickly as ten.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { OneOf } from "./controls";
import type { SampledSentence } from "./data";
import { saveCsv } from "./export";
import { count, percent, signed } from "./format";
import { useName, useWidth } from "./hooks";
import type { Question, Shown } from "./judging";
import type { Pick } from "./picks";
import { PICK_NAMES, PICKS } from "./picks";
import type { Sort } from "./sorting";
import { SORTS, SORT_NAMES } from "./sorting";
import { COREFERENCE } from "./tasks";
import type { Filter, Progress, Use, UseSource } from "./uses";
import { arranged, disagreeing, kept, keyOf, searching, tableOf } from "./uses";

const ONE_LINE = 30; // the height of a row in pixels
const TWO_LINES = 50; // on narrow screens
const NARROW = 720;
const AROUND = 8; // rows that are drawn above and below those in view
const STEP = 6; // rows by which a list is scrolled before others are drawn
const OFTEN = 150; // milliseconds between two drawings of rows that are being read

interface Read {
  rows: Use[];
  progress: Progress | null;
  problem: string;
  done: boolean;
}

/** The uses for a question, as they are read. The rows of the question before stay until the first new ones come. */
function useUses(source: UseSource, question: Question | null, dependencies: unknown[]): Read {
  const [state, setState] = useState<Read & { of: unknown[] }>({ rows: [], progress: null, problem: "", done: false, of: [] });
  useEffect(() => {
    if (!question) {
      setState({ rows: [], progress: null, problem: "", done: true, of: dependencies });
      return undefined;
    }
    const stop = new AbortController();
    const rows: Use[] = [];
    let progress: Progress | null = null;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const show = (problem = "", done = false): void => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      if (!stop.signal.aborted) setState({ rows: [...rows], progress, problem, done, of: dependencies });
    };
    const give = (more: Use[], read: Progress): void => {
      for (const row of more) rows.push(row);
      progress = read;
      timer ??= setTimeout(show, OFTEN);
    };
    source.read(question, give, stop.signal).then(
      () => show("", true),
      (error: unknown) => show(error instanceof Error ? error.message : String(error), true),
    );
    return () => {
      stop.abort();
      if (timer !== null) clearTimeout(timer);
    };
  }, dependencies);
  const current = state.of.length === dependencies.length && state.of.every((item, i) => item === dependencies[i]);
  return current ? state : { ...state, progress: null, problem: "", done: false };
}

interface Props {
  source: UseSource;
  /** The sentences that are stored, which are searched as a whole. */
  sentences: SampledSentence[];
  question: Question;
  /** What the head is compared with, for the order by disagreement, and where its uses come from. */
  other: Question | null;
  otherSource: UseSource;
  /** What the address of the page keeps of the filter. */
  kept: Filter & { sort: Sort };
  onKeep: (change: Partial<Filter & { sort: Sort }>, replace?: boolean) => void;
  /** The sentence that is drawn, and the word at hand. */
  chosen: { sentence: string | null; word: number | null };
  onChoose: (use: Use) => void;
  /** What is saved is named after the question. */
  name: string;
  /** What a sentence is called. */
  noun: string;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** The value of a word; a dash if there is a word, but its input is stored without maps. */
function number(value: number | null, word: string | null): string {
  if (value === null) return word === null ? "" : "–";
  if (value > 0 && value < 0.005) return "<.01";
  return value >= 10 ? value.toPrecision(3) : value.toFixed(2).replace(/^0/, "");
}

function said(use: Use): string {
  if (use.verdict === null) return "";
  return use.verdict === "right" ? "✓" : `✗ ${use.mistake}`;
}

interface RowProps {
  use: Use;
  index: number;
  id: string;
  judged: boolean;
  selected: boolean;
  current: boolean;
  active: boolean;
  top: number;
  onClick: () => void;
  onSelect: () => void;
}

function Row({ use, index, id, judged, selected, current, active, top, onClick, onSelect }: RowProps) {
  const direction = RIGHT_TO_LEFT.test(use.form + use.left + use.right) ? "rtl" : "ltr";
  const classes = ["use", current && "current", active && "active"].filter(Boolean).join(" ");
  return (
    <div role="row" id={id} aria-rowindex={index + 2} aria-selected={selected} class={classes} style={{ top: `${top}px` }} onClick={onClick} title={use.sentence}>
      <span role="gridcell" class="select">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${use.form} in ${use.sentence}`}
          checked={selected}
          onClick={(event) => event.stopPropagation()}
          onChange={onSelect}
        />
      </span>
      <span role="gridcell" class="context" dir={direction}>
        <span class="left">
          <bdi>{use.left}</bdi>
        </span>
        <b>
          <bdi>{use.form}</bdi>
        </b>
        <span class="right-context">
          <bdi>{use.right}</bdi>
        </span>
      </span>
      <span role="gridcell" class="picked">
        <bdi>{use.picked ?? "–"}</bdi>
      </span>
      <span role="gridcell" class="number">
        {number(use.weight, use.picked)}
      </span>
      {judged && (
        <span role="gridcell" class="gold">
          <bdi>{use.gold ?? "–"}</bdi>
        </span>
      )}
      {judged && (
        <span role="gridcell" class="number">
          {number(use.gold_weight, use.gold)}
        </span>
      )}
      <span role="gridcell" class="number">
        {use.distance === null ? "" : signed(String(use.distance), true)}
      </span>
      {judged && (
        <span role="gridcell" class={`verdict ${use.verdict ?? ""}`}>
          {said(use)}
        </span>
      )}
    </div>
  );
}

const DISTANCE_NAMES: [string, string][] = [
  ["before", "before the word"],
  ["after", "after the word"],
  ["1", "1 word"],
  ["2-3", "2–3 words"],
  ["4-6", "4–6 words"],
  ["7-", "7 or more words"],
];

/** The rows in view, and those around them. */
export function inView(top: number, height: number, row: number, n: number): [number, number] {
  return [Math.max(0, Math.floor(top / row) - AROUND), Math.min(n, Math.ceil((top + height) / row) + AROUND)];
}

export function Concordance({ source, otherSource, sentences, question, other, kept: keeps, onKeep, chosen, onChoose, name, noun }: Props) {
  const id = useName();
  const { head, kind, relation, direction, ensemble } = question;
  const { rows, progress, problem, done } = useUses(source, question, [source, head, kind, relation, direction, ensemble]);
  const compared = keeps.sort === "disagreement" ? other : null;
  const others = useUses(otherSource, compared, [otherSource, compared?.head, compared?.kind, compared?.relation, compared?.direction]);
  const { tag, distance } = keeps;
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const [active, setActive] = useState(0);
  const [scroll, setScroll] = useState({ top: 0, height: 400 });
  const [frame, width] = useWidth<HTMLDivElement>();
  const list = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLDivElement>(null);

  const judged = useMemo(() => rows.some((use) => use.verdict !== null), [rows]);
  const tags = useMemo(() => [...new Set(rows.flatMap((use) => use.tag ?? []))].sort(), [rows]);
  const far = useMemo(() => rows.some((use) => use.distance !== null), [rows]);
  const filter: Filter = {
    show: judged ? keeps.show : "all",
    search: keeps.search,
    tag: tags.includes(tag) ? tag : "",
    distance: far && (judged || !distance.startsWith("gold")) ? distance : "",
  };
  const stored = useMemo(() => new Map(sentences.map((sentence) => [sentence.id, sentence])), [sentences]);
  const mistakes = useMemo(() => {
    const counts = new Map<string, number>();
    for (const { mistake } of kept(rows, { ...filter, show: "all" }, stored)) if (mistake) counts.set(mistake, (counts.get(mistake) ?? 0) + 1);
    return PICKS.filter((pick) => counts.has(pick)).map((pick): [Pick, number] => [pick, counts.get(pick) ?? 0]);
  }, [rows, stored, filter.search, filter.tag, filter.distance]);
  const shown = useMemo(
    () => arranged(kept(rows, filter, stored), keeps.sort, keeps.sort === "disagreement" ? disagreeing(rows, others.rows) : null, stored),
    [rows, others.rows, stored, filter.show, filter.search, filter.tag, filter.distance, keeps.sort],
  );
  const wrong = filter.show.startsWith("wrong");
  const right = useMemo(() => shown.filter((use) => use.verdict === "right").length, [shown]);
  const decided = useMemo(() => shown.filter((use) => use.verdict !== null).length, [shown]);
  const picked = useMemo(() => (selected.size ? shown.filter((use) => selected.has(keyOf(use))) : []), [shown, selected]);

  const height = width > 0 && width < NARROW ? TWO_LINES : ONE_LINE;
  const [from, to] = inView(scroll.top, scroll.height + STEP * height, height, shown.length);
  const current = (use: Use): boolean => use.sentence === chosen.sentence && (chosen.word === null || chosen.word === use.row);
  const measureScroll = (): void => {
    // The heading stays in view above the rows.
    const region = list.current;
    if (!region) return;
    const next = { top: region.scrollTop - (region.scrollTop % (STEP * height)), height: region.clientHeight - (heading.current?.offsetHeight ?? 0) };
    setScroll((before) => (before.top === next.top && before.height === next.height ? before : next));
  };
  useEffect(measureScroll, [width, shown.length === 0]);
  // Another list begins at its top, or at the row that is drawn.
  useEffect(() => {
    const position = Math.max(0, shown.findIndex(current));
    setActive(position);
    if (list.current) list.current.scrollTop = Math.max(0, position * height - 2 * height);
    measureScroll();
  }, [filter.show, filter.search, filter.tag, filter.distance, keeps.sort, head, kind, relation, direction, chosen.sentence, shown.length > 0]);

  const select = (use: Use): void => {
    const next = new Set(selected);
    if (!next.delete(keyOf(use))) next.add(keyOf(use));
    setSelected(next);
  };
  const go = (index: number): void => {
    setActive(index);
    const region = list.current;
    if (!region) return;
    if (index * height < region.scrollTop) region.scrollTop = index * height;
    else if ((index + 1) * height > region.scrollTop + scroll.height) region.scrollTop = (index + 1) * height - scroll.height;
    measureScroll();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(scroll.height / height) - 1);
    const targets: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: shown.length - 1,
    };
    const target = targets[event.key];
    const use = shown[active];
    if (target !== undefined) go(Math.max(0, Math.min(shown.length - 1, target)));
    else if (event.key === "Enter" && use) onChoose(use);
    else if (event.key === " " && use) select(use);
    else return;
    event.preventDefault();
  };
  const columns = judged ? "judged" : "unjudged";
  return (
    <section class="concordance" aria-label="Concordance" aria-busy={!done || !others.done} ref={frame}>
      <div class="controls">
        {judged && (
          <OneOf
            label="Show"
            options={[
              { value: "all", text: "all" },
              { value: "right", text: "right" },
              { value: "wrong", text: "wrong" },
            ]}
            value={wrong ? "wrong" : filter.show}
            onChange={(show) => onKeep({ show })}
          />
        )}
        {wrong && mistakes.length > 0 && (
          <div class="field">
            <label for={`${id}-picked`}>Picked</label>
            <select id={`${id}-picked`} value={filter.show} onChange={(event) => onKeep({ show: event.currentTarget.value as Shown })}>
              <option value="wrong">any wrong word</option>
              {mistakes.map(([pick, n]) => (
                <option key={pick} value={`wrong:${pick}`}>
                  {PICK_NAMES[pick]} (n = {n.toLocaleString("en")})
                </option>
              ))}
            </select>
          </div>
        )}
        <div class="field contains">
          <label for={`${id}-search`}>Contains</label>
          <input
            id={`${id}-search`}
            type="search"
            value={keeps.search}
            placeholder="word, /regex/, relation:obj, tag:VERB"
            aria-invalid={searching(keeps.search) === null}
            onInput={(event) => onKeep({ search: event.currentTarget.value }, true)}
          />
        </div>
        {tags.length > 1 && (
          <div class="field">
            <label for={`${id}-tag`}>{relation === COREFERENCE ? "Mention" : "Part of speech"}</label>
            <select id={`${id}-tag`} value={filter.tag} onChange={(event) => onKeep({ tag: event.currentTarget.value })}>
              <option value="">any</option>
              {tags.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </div>
        )}
        {far && (
          <div class="field">
            <label for={`${id}-distance`}>Distance</label>
            <select id={`${id}-distance`} value={filter.distance} onChange={(event) => onKeep({ distance: event.currentTarget.value })}>
              <option value="">any</option>
              {[
                ["picked", "of what is picked"],
                ...(judged ? [["gold", "of the right word"]] : []),
              ].map(([whose, label]) => (
                <optgroup key={whose} label={label ?? ""}>
                  {DISTANCE_NAMES.map(([value, text]) => (
                    <option key={value} value={`${whose} ${value}`}>
                      {whose === "gold" ? "right word " : ""}
                      {text}
                    </option>
                  ))}
                </optgroup>
              ))}
            </select>
          </div>
        )}
      </div>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="summary">
        <p class="count" role="status">
          {!done && !shown.length ? "Reading …" : count(shown.length, "use")}
          {shown.length < rows.length && ` of ${rows.length.toLocaleString("en")}`}
          {decided > 0 && !wrong && filter.show === "all" && ` · ${right.toLocaleString("en")} of ${decided.toLocaleString("en")} right (${percent(right / decided)})`}
          {!done && progress && progress.of > 0 && ` · read ${progress.read.toLocaleString("en")} of ${count(progress.of, noun)}`}
        </p>
        <div class="field sort">
          <label for={`${id}-sort`}>Sort by</label>
          <select id={`${id}-sort`} value={keeps.sort} onChange={(event) => onKeep({ sort: event.currentTarget.value as Sort })}>
            {SORTS.map((sort) => (
              <option key={sort} value={sort} disabled={sort === "disagreement" && other === null}>
                {SORT_NAMES[sort]}
              </option>
            ))}
          </select>
        </div>
        <div class="buttons" role="group" aria-label="Save these rows">
          {picked.length > 0 && (
            <button type="button" onClick={() => setSelected(new Set())}>
              Clear selection
            </button>
          )}
          <button type="button" disabled={!shown.length} onClick={() => saveCsv(tableOf(picked.length ? picked : shown), `uses-${name}`)}>
            {picked.length ? `CSV of ${count(picked.length, "selected row")}` : "CSV"}
          </button>
        </div>
      </div>
      {shown.length > 0 && (
        <div
          role="grid"
          class={`uses ${columns} ${height === TWO_LINES ? "narrow" : ""}`}
          aria-label="Uses of the head"
          aria-rowcount={shown.length + 1}
          aria-multiselectable="true"
          aria-activedescendant={active >= from && active < to ? `${id}-${active}` : undefined}
          tabIndex={0}
          ref={list}
          onKeyDown={onKeyDown}
          onScroll={measureScroll}
        >
          <div role="rowgroup" class="heading" ref={heading}>
            <div role="row" class="use" aria-rowindex={1}>
              <span role="columnheader" class="select">
                <span class="unseen">selected</span>
              </span>
              <span role="columnheader" class="context">
                <span class="left" />
                <b>word</b>
                <span class="right-context">in its context</span>
              </span>
              <span role="columnheader" class="picked">
                picks
              </span>
              <span role="columnheader" class="number">
                weight
              </span>
              {judged && (
                <span role="columnheader" class="gold">
                  right
                </span>
              )}
              {judged && (
                <span role="columnheader" class="number">
                  weight
                </span>
              )}
              <span role="columnheader" class="number">
                dist.
              </span>
              {judged && (
                <span role="columnheader" class="verdict">
                  mistake
                </span>
              )}
            </div>
          </div>
          <div role="rowgroup" class="rows" style={{ height: `${shown.length * height}px` }}>
              {shown.slice(from, to).map((use, i) => (
                <Row
                  key={keyOf(use)}
                  {...{ use, judged }}
                  index={from + i}
                  id={`${id}-${from + i}`}
                  selected={selected.has(keyOf(use))}
                  current={current(use)}
                  active={from + i === active}
                  top={(from + i) * height}
                  onClick={() => {
                    setActive(from + i);
                    onChoose(use);
                  }}
                  onSelect={() => select(use)}
                />
              ))}
          </div>
        </div>
      )}
    </section>
  );
}
