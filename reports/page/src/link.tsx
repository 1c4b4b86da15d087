// A link to a view of the explorer. It can be opened in another tab, too.

import type { Finding } from "./data";

export function FindingLink({ finding, onFollow }: { finding: Finding; onFollow: (address: string) => void }) {
  if (!finding.address.startsWith("#")) return <>{finding.text}</>;
  return (
    <a
      href={finding.address}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
        event.preventDefault();
        onFollow(finding.address);
      }}
    >
      {finding.text}
    </a>
  );
}
