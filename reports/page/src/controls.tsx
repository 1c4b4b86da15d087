// Small controls: one of a few choices, some of a few choices, how to draw, and a list of heads.

import { useState } from "preact/hooks";
import type { View } from "./address";
import type { Explorer } from "./data";
import { headIndex, headName } from "./data";
import { count } from "./format";
import type { Go } from "./hooks";
import { useName } from "./hooks";

interface OneOfProps<T extends string> {
  label: string;
  options: { value: T; text: string; disabled?: boolean }[];
  value: T;
  onChange: (value: T) => void;
}

/** Radio buttons that look like one bar. The arrow keys choose. */
export function OneOf<T extends string>({ label, options, value, onChange }: OneOfProps<T>) {
  const name = useName();
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      <div>
        {options.map((option) => (
          <label key={option.value} class={option.disabled ? "disabled" : ""}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              disabled={option.disabled ?? false}
              onChange={() => onChange(option.value)}
            />
            <span>{option.text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface SomeOfProps {
  label: string;
  options: string[];
  values: string[];
  onChange: (values: string[]) => void;
}

/** Check boxes that look like one bar, of which at least one stays checked. */
export function SomeOf({ label, options, values, onChange }: SomeOfProps) {
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      <div>
        {options.map((option) => (
          <label key={option}>
            <input
              type="checkbox"
              checked={values.includes(option)}
              onChange={(event) => {
                const next = options.filter((item) => (item === option ? event.currentTarget.checked : values.includes(item)));
                if (next.length) onChange(next);
                else event.currentTarget.checked = true;
              }}
            />
            <span>{option}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

const SHOWN_FOR = 2000; // milliseconds

/** A button that copies the address of the page, and says so for a moment. */
export function CopyLink() {
  const [said, setSaid] = useState("");
  const say = (text: string): void => {
    setSaid(text);
    setTimeout(() => setSaid(""), SHOWN_FOR);
  };
  const copy = (): void => {
    if (!navigator.clipboard) say("Copy the address of the page.");
    else void navigator.clipboard.writeText(location.href).then(() => say("Copied."), () => say("Copy the address of the page."));
  };
  return (
    <>
      <button type="button" onClick={copy}>
        Copy link
      </button>
      <small role="status">{said}</small>
    </>
  );
}

/** How sentences are drawn. A `pair` of texts has no arcs. */
export function Drawings({ view, go, pair, all = false }: { view: View; go: Go; pair: boolean; all?: boolean }) {
  const several = view.heads.length * view.kinds.length > 1 || view.drawing === "difference";
  return (
    <>
      <OneOf
        label="Draw"
        options={[
          { value: "lines", text: "lines" },
          { value: "arcs", text: "arcs", disabled: pair },
          { value: "matrix", text: "matrix" },
          ...(several ? [{ value: "difference" as const, text: "difference" }] : []),
          ...(all ? [{ value: "all" as const, text: "all heads" }] : []),
        ]}
        value={pair && view.drawing === "arcs" ? "lines" : view.drawing}
        onChange={(drawing) => go({ ...view, drawing })}
      />
      <label class="check">
        <input type="checkbox" checked={view.special} onChange={(event) => go({ ...view, special: event.currentTarget.checked })} />
        special tokens
      </label>
      <OneOf
        label="Values"
        options={[
          { value: "absolute", text: "as they are" },
          { value: "words", text: "share among words" },
        ]}
        value={view.scale}
        onChange={(scale) => go({ ...view, scale })}
      />
    </>
  );
}

interface HeadsProps {
  data: Explorer;
  heads: number[];
  onChange: (heads: number[]) => void;
}

/** The heads that are drawn side by side, with a field to add one. */
export function Heads({ data, heads, onChange }: HeadsProps) {
  const [text, setText] = useState("");
  const id = useName();
  const index = headIndex(text, data);
  const wrong = text !== "" && /^\d+-\d+$/.test(text.trim()) && index === null;
  return (
    <form
      class="heads"
      onSubmit={(event) => {
        event.preventDefault();
        if (index === null) return;
        if (!heads.includes(index)) onChange([...heads, index]);
        setText("");
      }}
    >
      <label for={id}>Heads</label>
      {heads.map((head) => (
        <span key={head} class="chip">
          {headName(head, data)}
          {heads.length > 1 && (
            <button type="button" aria-label={`Remove head ${headName(head, data)}`} onClick={() => onChange(heads.filter((item) => item !== head))}>
              ×
            </button>
          )}
        </span>
      ))}
      <input
        id={id}
        value={text}
        size={6}
        placeholder="add 3-9"
        autocomplete="off"
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {index !== null && <button type="submit">Add</button>}
      {wrong && (
        <small id={`${id}-wrong`} class="wrong">
          The model has {count(data.layers, "layer")} of {count(data.heads, "head")}.
        </small>
      )}
    </form>
  );
}
