// A finding: a link to the view that shows it. It can be opened in another tab, too. The heads that it names are chips,
// which open the same view for this head.

import type { Explorer, Finding } from "./data";
import { headIndex } from "./data";

interface Props {
  /** Whether the text is cut after a line, so that its heads stand before it. */
  short: boolean;
  finding: Finding;
  data: Explorer;
  onFollow: (address: string, head: number | null) => void;
}

/** The text with its heads as chips. */
function Words({ text, data }: { text: string; data: Explorer }) {
  return (
    <>
      {text.split(/(\b\d+-\d+\b)/).map((part, i) =>
        i % 2 && headIndex(part, data) !== null ? (
          <b key={i} class="chip" data-named={headIndex(part, data) ?? 0}>
            {part}
          </b>
        ) : (
          part
        ),
      )}
    </>
  );
}

const MOST = 4; // heads before a line

function Line({ text, data }: { text: string; data: Explorer }) {
  const heads = [...new Set(text.match(/\b\d+-\d+\b/g) ?? [])].filter((name) => headIndex(name, data) !== null);
  return (
    <>
      {heads.slice(0, MOST).map((name) => (
        <b key={name} class="chip" data-named={headIndex(name, data) ?? 0} aria-hidden="true">
          {name}
        </b>
      ))}
      {text}
    </>
  );
}

export function FindingLink({ finding, data, short, onFollow }: Props) {
  if (!finding.address.startsWith("#")) return short ? <Line text={finding.text} data={data} /> : <Words text={finding.text} data={data} />;
  return (
    <a
      href={finding.address}
      title={finding.text}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
        event.preventDefault();
        const chip = (event.target as Element).closest("[data-named]");
        onFollow(finding.address, chip && Number(chip.getAttribute("data-named")));
      }}
    >
      {short ? <Line text={finding.text} data={data} /> : <Words text={finding.text} data={data} />}
    </a>
  );
}
