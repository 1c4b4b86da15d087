// Chooses one of many measures: a text field that searches, with a list in groups below it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Measure } from "./data";
import { useName } from "./hooks";

interface Props {
  measures: Measure[];
  chosen: Measure;
  onChoose: (id: string) => void;
}

function matches(measure: Measure, query: string): boolean {
  const text = `${measure.group} ${measure.label} ${measure.relation ?? ""} ${measure.kind ?? ""}`.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Measures that match, those first whose relation is what was typed. */
export function search(measures: Measure[], query: string): Measure[] {
  const exact = query.trim().toLowerCase();
  const result = exact ? measures.filter((measure) => matches(measure, exact)) : measures;
  const named = (measure: Measure): boolean => measure.relation?.toLowerCase() === exact;
  return [...inGroups(result.filter(named)), ...inGroups(result.filter((measure) => !named(measure)))];
}

/** Measures of the same group one after the other, in the order in which the groups begin. */
function inGroups(measures: Measure[]): Measure[] {
  const groups = new Map<string, Measure[]>();
  for (const measure of measures) groups.set(measure.group, [...(groups.get(measure.group) ?? []), measure]);
  return [...groups.values()].flat();
}

export function Picker({ measures, chosen, onChoose }: Props) {
  const id = useName();
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [query, setQuery] = useState<string | null>(null); // null: closed
  const [active, setActive] = useState(0);
  const results = useMemo(() => (query === null ? [] : search(measures, query)), [measures, query]);
  useEffect(() => {
    const option = list.current?.querySelector<HTMLElement>(".active");
    if (option && list.current) {
      const { offsetTop, offsetHeight } = option;
      const { scrollTop, clientHeight } = list.current;
      if (offsetTop < scrollTop) list.current.scrollTop = offsetTop;
      else if (offsetTop + offsetHeight > scrollTop + clientHeight) list.current.scrollTop = offsetTop + offsetHeight - clientHeight;
    }
  }, [active, query]);
  const name = (measure: Measure): string => `${measure.group}: ${measure.label}`;
  const open = (text: string): void => {
    setQuery(text);
    setActive(text ? 0 : Math.max(0, search(measures, "").indexOf(chosen)));
  };
  const choose = (measure: Measure | undefined): void => {
    setQuery(null);
    if (measure) onChoose(measure.id);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (move !== undefined) {
      event.preventDefault();
      if (query === null) open("");
      else setActive(Math.max(0, Math.min(results.length - 1, active + move)));
    } else if (event.key === "Enter" && query !== null) {
      event.preventDefault();
      choose(results[active]);
    } else if (event.key === "Escape" && query !== null) {
      event.preventDefault();
      event.stopPropagation();
      setQuery(null);
    }
  };
  const options = [];
  let group: string | null = null;
  for (const [i, measure] of results.entries()) {
    if (measure.group !== group) {
      group = measure.group;
      options.push(
        <li key={`group-${i}`} role="presentation" class="group">
          {group}
        </li>,
      );
    }
    options.push(
      <li
        key={measure.id}
        id={`${id}-${i}`}
        role="option"
        class={i === active ? "active" : ""}
        aria-selected={measure === chosen}
        aria-label={name(measure)}
        onPointerDown={(event) => event.preventDefault()}
        onClick={() => choose(measure)}
      >
        <span>{measure.label}</span>
        {measure.n !== null && <small>n = {measure.n.toLocaleString("en")}</small>}
      </li>,
    );
  }
  return (
    <div class="picker">
      <label for={`${id}-input`}>Color by</label>
      <div class="combo">
        <input
          ref={input}
          id={`${id}-input`}
          role="combobox"
          aria-expanded={query !== null}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          {...(query !== null && results.length ? { "aria-activedescendant": `${id}-${active}` } : {})}
          autocomplete="off"
          spellcheck={false}
          value={query ?? name(chosen)}
          placeholder="Search: obj, entropy, [SEP] …"
          onInput={(event) => open(event.currentTarget.value)}
          onClick={() => query === null && open("")}
          onBlur={() => setQuery(null)}
          onKeyDown={onKeyDown}
        />
        <ul ref={list} id={`${id}-list`} role="listbox" aria-label="Measures" hidden={query === null}>
          {options}
          {query !== null && !results.length && (
            <li role="presentation" class="group">
              No measure has “{query}” in its name.
            </li>
          )}
        </ul>
      </div>
    </div>
  );
}
