// A finding: a link to the view that shows it. It can be opened in another tab, too. The heads that it names are chips,
// which open the same view for this head.

import type { Explorer, Finding } from "./data";
import { headIndex } from "./data";

interface Props {
  finding: Finding;
  data: Explorer;
  onFollow: (address: string, head: number | null) => void;
}

const NUMBER = /^[-+\u2212]?\d[\d.,]*(?! ?-)(?: of [\d,]+)?(?: %| points)?(?: \[[^\]]*\])?(?= )/;

/** The text with the number that it begins with in bold, and its heads as chips. */
function Words({ text, data }: { text: string; data: Explorer }) {
  const number = NUMBER.exec(text)?.[0] ?? "";
  return (
    <>
      {number && <b class="number">{number}</b>}
      {text.slice(number.length).split(/(\b\d+-\d+\b)/).map((part, i) =>
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

export function FindingLink({ finding, data, onFollow }: Props) {
  if (!finding.address.startsWith("#")) return <Words text={finding.text} data={data} />;
  return (
    <a
      href={finding.address}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
        event.preventDefault();
        const chip = (event.target as Element).closest("[data-named]");
        onFollow(finding.address, chip && Number(chip.getAttribute("data-named")));
      }}
    >
      <Words text={finding.text} data={data} />
    </a>
  );
}
