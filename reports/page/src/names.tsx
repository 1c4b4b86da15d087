// The names that people give to heads. A page with a server changes them; a file shows those that its run had.

import { useRef, useState } from "preact/hooks";
import type { Explorer, HeadName } from "./data";
import { headIndex } from "./data";
import { useName } from "./hooks";
import { Refused, send } from "./live";

/** Gives a head another name and note, or none if the name is empty. It rejects with a sentence that says why it is not kept. */
export type Keep = (head: string, name: string, note: string) => Promise<void>;

/** The name of a head, if it has one. */
export function namedAs(names: HeadName[], head: string): HeadName | undefined {
  return names.find((each) => each.head === head);
}

/** Names in which a head has another name and note, or none if the name is empty. */
export function renamed(names: HeadName[], head: string, name: string, note: string): HeadName[] {
  const others = names.filter((each) => each.head !== head);
  return name.trim() ? [...others, { head, name: name.trim(), note: note.trim() }] : others;
}

function same(one: HeadName | undefined, other: HeadName | undefined): boolean {
  return one?.name === other?.name && (one?.note ?? "") === (other?.note ?? "");
}

/**
 * Keep the name of a head, given the names before. If another page has named other heads meanwhile, these names stay. If it
 * has named this one, its name is shown, and has to be replaced again.
 */
export async function keepName(
  named: HeadName,
  before: HeadName[],
  show: (names: HeadName[]) => void,
  put: (names: HeadName[], base: HeadName[]) => Promise<{ names: HeadName[] }>,
): Promise<void> {
  const { head, name, note } = named;
  try {
    show((await put(renamed(before, head, name, note), before)).names);
  } catch (error) {
    const now = error instanceof Refused && error.status === 409 ? (error.answer as { names?: HeadName[] }).names : undefined;
    if (!now) throw error;
    const theirs = namedAs(now, head);
    if (same(theirs, namedAs(before, head)) || same(theirs, name ? named : undefined)) {
      show((await put(renamed(now, head, name, note), now)).names);
      return;
    }
    show(now);
    throw new Error(`Another page has ${theirs ? `named head ${head} “${theirs.name}”` : `removed the name of head ${head}`}. Save again to replace it.`);
  }
}

/** The names of heads of the runs of a page, and what changes those of one run. */
export function useNames(runs: Explorer[]): { names: HeadName[][]; keepFor: (run: number) => Keep } {
  const [names, setNames] = useState(() => runs.map((run) => run.names ?? []));
  const latest = useRef(names);
  latest.current = names;
  const keepFor =
    (run: number): Keep =>
    async (head, name, note) => {
      const show = (list: HeadName[]): void => setNames((before) => before.map((each, i) => (i === run ? list : each)));
      await keepName({ head, name: name.trim(), note: note.trim() }, latest.current[run] ?? [], show, (wanted, base) =>
        send("heads", { run, names: wanted, base }, null, "PUT").then((response) => response.json() as Promise<{ names: HeadName[] }>),
      );
    };
  return { names, keepFor };
}

interface NamingProps {
  head: string;
  names: HeadName[];
  keep: Keep;
  onDone: () => void;
}

function Naming({ head, names, keep, onDone }: NamingProps) {
  const named = namedAs(names, head);
  const [name, setName] = useState(named?.name ?? "");
  const [note, setNote] = useState(named?.note ?? "");
  const [problem, setProblem] = useState("");
  const id = useName();
  const save = (changed: string): void => {
    keep(head, changed, note).then(onDone, (error: Error) => setProblem(error.message));
  };
  return (
    <form
      class="naming"
      onKeyDown={(event) => event.key === "Escape" && onDone()}
      onSubmit={(event) => {
        event.preventDefault();
        save(name);
      }}
    >
      <label for={`${id}-name`}>Name</label>
      <input id={`${id}-name`} value={name} maxLength={60} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
      <label for={`${id}-note`}>Note</label>
      <textarea id={`${id}-note`} rows={2} value={note} maxLength={2000} onInput={(event) => setNote(event.currentTarget.value)} />
      <div>
        <button type="submit" disabled={!name.trim()}>
          Save the name
        </button>
        {named && (
          <button type="button" onClick={() => save("")}>
            Remove it
          </button>
        )}
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
      {problem && (
        <p class="wrong" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

/** The heading of the card of a head, with its name and a star that changes it. */
export function Heading({ head, names, keep }: { head: string; names: HeadName[]; keep: Keep | null }) {
  const [open, setOpen] = useState(false);
  const named = namedAs(names, head);
  const title = named ? `Change the name of head ${head}` : `Name head ${head}`;
  return (
    <>
      <h3>
        Head {head}
        {named && (
          <span class="head-name">
            {" "}
            <bdi>{named.name}</bdi>
          </span>
        )}
        {keep && (
          <button type="button" class="star" aria-label={title} title={title} aria-expanded={open} onClick={() => setOpen(!open)}>
            {named ? "★" : "☆"}
          </button>
        )}
      </h3>
      {named?.note && !open && <p class="note head-note">{named.note}</p>}
      {keep && open && <Naming {...{ head, names, keep }} onDone={() => setOpen(false)} />}
    </>
  );
}

/** The heads that have names, each of which leads to its card. */
export function NamedHeads({ data, names, onOpen }: { data: Explorer; names: HeadName[]; onOpen: (head: number) => void }) {
  if (!names.length) return null;
  return (
    <p class="nearest named-heads">
      <span>Named heads:</span>
      {names.map((named) => {
        const index = headIndex(named.head, data);
        return (
          index !== null && (
            <button key={named.head} type="button" class="chip" title={named.note} onClick={() => onOpen(index)}>
              {named.head} <bdi>{named.name}</bdi>
            </button>
          )
        );
      })}
    </p>
  );
}
