"""``attentionology doctor``: does this model give trustworthy maps?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

from tyro.conf import arg

from attentionology.analyses.contract import OptionError
from attentionology.analyses.shared.builtin import DEMO, SAMPLE, check_revision, corpus_path, load_encoder
from attentionology.analyses.shared.record import describe_files, model_label
from attentionology.scripts.streams import complain, say, say_json


@dataclass(frozen=True)
class Doctor:
    """Check on a few sentences whether a model gives trustworthy attention maps.

    Prints a checklist; the exit status is 1 if anything is wrong. Run it once on every model you have not used
    before, with --corpus on sentences of the language you mean to study.
    """

    model: Annotated[str, arg(metavar="MODEL")] = DEMO
    """Folder, Hugging Face Hub id, or 'demo'."""

    revision: Annotated[str | None, arg(metavar="REVISION")] = None
    """Branch, tag or commit on the Hub."""

    corpus: Annotated[str, arg(metavar="FILE")] = SAMPLE
    """CoNLL-U file to take sentences from, or 'sample', the English sample."""

    sentences: Annotated[int, arg(metavar="N")] = 12
    """How many sentences to try, the first of the file."""

    device: Annotated[str, arg(metavar="DEVICE")] = "cpu"
    """Where to compute: cpu, cuda, cuda:1, mps."""

    json: bool = False
    """Print the checks as JSON."""

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Do it; returns the exit status."""
        if self.sentences < 1:
            raise OptionError(f"--sentences must be at least 1, not {self.sentences}")
        check_revision(self.model, self.revision)
        from attentionology.corpora_loaders import load_treebank
        from attentionology.extractors.model.doctor import examine

        treebank = load_treebank(corpus_path(self.corpus), limit=self.sentences)
        encoder = load_encoder(self.model, revision=self.revision, device=self.device)
        name = model_label(encoder.name, encoder.files.revision, offline=encoder.files.offline)
        checks = []
        for check in examine(encoder, treebank):
            checks.append(check)
            if not self.json:
                mark = {True: "ok  ", False: "FAIL", None: "    "}[check.passed]
                say(f"{mark} {check.name}: {check.found}")
        healthy = all(check.passed is not False for check in checks)
        if self.json:
            from attentionology.reports.json_text import to_json

            source = describe_files(encoder.files)
            record = {"model": encoder.name, **source, "healthy": healthy, "checks": [asdict(c) for c in checks]}
            say_json(to_json(record))
        elif healthy:
            say(f"\n{name}: its attention maps can be used.")
        else:
            complain(f"{name}: do not trust its maps, see FAIL above.", 1)
        return 0 if healthy else 1
