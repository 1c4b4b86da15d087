// Small controls: one of a few choices, some of a few choices, and how to draw.

import { useState } from "preact/hooks";
import { useName } from "./hooks";
import type { Go, View } from "./view";

interface OneOfProps<T extends string> {
  label: string;
  options: { value: T; text: string; disabled?: boolean; reason?: string }[];
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
          <label key={option.value} class={option.disabled ? "disabled" : ""} title={option.disabled ? option.reason : undefined}>
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

interface DrawingsProps {
  view: View;
  go: Go;
  /** Whether sentences are pairs of texts, which have no arcs. */
  pair: boolean;
  /** Whether all heads can be drawn at once, and sentences as running text. */
  all?: boolean;
  /** Whether the sentence has no maps, so that it can be drawn as running text alone. */
  mapless?: boolean;
  /** What the difference of what is drawn is called; null if it has none. */
  difference: string | null;
}

/** How sentences are drawn. */
export function Drawings({ view, go, pair, all = false, mapless = false, difference }: DrawingsProps) {
  const reason = pair ? "Not of two texts." : "Only inputs of at most 128 words are stored with their maps.";
  return (
    <>
      <OneOf
        label="Draw"
        options={[
          { value: "lines", text: "lines", disabled: mapless, reason },
          { value: "arcs", text: "arcs", disabled: pair || mapless, reason },
          { value: "matrix", text: "matrix", disabled: mapless, reason },
          ...(all
            ? [
                { value: "all" as const, text: "all heads", disabled: mapless, reason },
                { value: "text" as const, text: "text", disabled: pair, reason },
              ]
            : []),
        ]}
        value={mapless ? "text" : pair && (view.drawing === "arcs" || view.drawing === "text") ? "lines" : view.drawing}
        onChange={(drawing) => go({ ...view, drawing })}
      />
      {difference !== null && (
        <label class="check">
          <input type="checkbox" checked={view.subtract} onChange={(event) => go({ ...view, subtract: event.currentTarget.checked })} />
          {difference}
        </label>
      )}
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
