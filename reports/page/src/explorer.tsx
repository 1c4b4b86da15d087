// The explorer: what was found, the matrix of heads with the card of one of them, and sentences. Data without measures
// are heads drawn on sentences.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { parameters, restore, firstView } from "./address";
import { HeadCard } from "./card";
import type { Bench, HeadName } from "./data";
import { DrawnSentences } from "./drawn";
import { FindingLink } from "./link";
import { Matrix } from "./matrix";
import { NamedHeads, useNames } from "./names";
import { Picker } from "./picker";
import { bestHead, useMeasure, withMeasure } from "./question";
import { Sentences } from "./sentences";
import { useView } from "./page-view";
import { sourceOf } from "./slots";
import { sourcesOf } from "./sources";
import { withHead, withSlot } from "./view";

const NO_NAMES: HeadName[] = [];
const FINDINGS = 3; // those that are shown at first

export function ExplorerApp({ bench, hash, opening }: { bench: Bench; hash: boolean; opening: string }) {
  const sources = useMemo(() => sourcesOf(bench), [bench]);
  const { view, missing, go } = useView(sources, hash, opening);
  const { data, run } = sourceOf(view.slots[0], sources); // the matrix and the card are those of the run in A
  const found = useMeasure(view, data);
  const held = useRef({ data, measure: found });
  if (found || held.current.data !== data) held.current = { data, measure: found };
  const measure = held.current.measure ?? data.measures[0]; // the one before stays while another one is read
  const { names: ofRuns, keepFor } = useNames(bench.runs);
  const names = (run === null ? null : ofRuns[run]) ?? NO_NAMES;
  const keep = bench.live && run !== null ? keepFor(run) : null;
  const frame = useRef<HTMLDivElement>(null);
  const [all, setAll] = useState(false);
  const follow = (target: string, head: number | null): void => {
    const values = parameters(target);
    const shown = values && restore(values, firstView(data, sources), data, sources).view;
    if (shown) go(head === null ? shown : { ...shown, head });
    frame.current?.querySelector(".screen, .drawn")?.scrollIntoView({ block: "start" });
  };
  useEffect(() => {
    performance.mark("attentionology: heads");
    // A link to a view leads to what it shows, and not to the top of the page.
    if (hash && parameters(location.hash)) frame.current?.querySelector(".screen")?.scrollIntoView({ block: "start" });
  }, []);
  useEffect(() => {
    if (!hash) return undefined;
    // So do the links of the tables below. The first link of the page leads to the chosen head.
    const scroll = (event: MouseEvent): void => {
      const cell = frame.current?.querySelector<SVGElement>('.matrix [tabindex="0"]');
      if (cell && (event.target as Element).closest(".skip")) {
        event.preventDefault();
        cell.focus();
      }
      const link = (event.target as Element).closest<HTMLAnchorElement>("[data-tab] a[href^='#head=']");
      if (link) frame.current?.querySelector(".screen")?.scrollIntoView({ block: "start" });
    };
    document.addEventListener("click", scroll);
    return () => document.removeEventListener("click", scroll);
  }, [hash]);
  return (
    <div class="explorer" ref={frame}>
      {missing.length > 0 && (
        <p class="problem" role="alert">
          This report does not have {missing.join(", ")}.
        </p>
      )}
      {data.findings.length > 0 && (
        <section class={all ? "findings all" : "findings"} aria-label="Findings">
          <ul>
            {data.findings.slice(0, all ? undefined : FINDINGS).map((finding) => (
              <li key={finding.text}>
                <FindingLink finding={finding} data={data} onFollow={follow} />
                {all && finding.more && <span class="more"> {finding.more}</span>}
              </li>
            ))}
          </ul>
          {(data.findings.length > FINDINGS || data.findings.some((finding) => finding.more)) && (
            <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>
              {all ? "Fewer findings" : data.findings.length === 1 ? "More about it" : `All ${data.findings.length} findings`}
            </button>
          )}
        </section>
      )}
      <div class={measure ? "screen" : ""}>
      {measure && (
        <div class="top">
          <section class="heads-section" aria-label="All heads">
            <Picker
              measures={data.measures}
              chosen={measure}
              onChoose={(id) => go({ ...withSlot(withMeasure(view, id, data), 0, { sentence: null, head: null }), head: bestHead(data, id), word: null })}
            />
            <p class="note">{measure.note}</p>
            <Matrix {...{ data, view, go, measure, names }} />
            <NamedHeads data={data} names={names} onOpen={(index) => go(withHead(view, index))} />
          </section>
          <HeadCard {...{ data, view, go, names, keep }} />
        </div>
      )}
      {view.drawn === null && (sources.some(({ live }) => live) || (data.sample?.sentences.length ?? 0) > 0) && <Sentences sources={sources} view={view} go={go} />}
      {view.drawn !== null && data.sample && data.sample.sentences.length > 0 && <DrawnSentences data={data} sample={data.sample} view={view} go={go} />}
      {data.undrawn && <p class="note">{data.undrawn}</p>}
      </div>
    </div>
  );
}
