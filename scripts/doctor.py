"""``attentionology doctor``: whether the attention maps of a model can be trusted."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass, field
from typing import Annotated

from tyro.conf import arg

from ..analyses.contract import OptionError
from ..analyses.shared.builtin import SAMPLE, corpus_path
from ..analyses.shared.input_options import ModelOptions
from ..analyses.shared.numbers import Number
from ..analyses.shared.option_types import FormatName, check_format
from ..analyses.shared.record import describe_files, model_label
from ..reports.streams import complain, say, say_json

_INDENT = " " * 5
"""The column in which the text of a check begins, below the mark of its verdict."""


def _wrap(text: str, indent: str = "") -> list[str]:
    """Return a text in lines of at most 100 columns, all but the first one indented."""
    return textwrap.wrap(text, 100, subsequent_indent=indent, break_on_hyphens=False) or [""]


@dataclass(frozen=True)
class Doctor:
    """Check on a few sentences whether the attention maps of a model can be trusted.

    The command prints a checklist and three verdicts: for which kinds maps are sound, whether rounding changes a
    decision, such as the word that a head attends to most, and whether the model fits the text. The exit status is 1 if
    a verdict is bad for the kinds of --map (by default, for weight). Run it once for each model that you have not used
    before, and choose with --corpus sentences of the language that you want to study.
    """

    model: ModelOptions = field(default_factory=ModelOptions)

    corpus: Annotated[str, arg(metavar="FILE")] = SAMPLE
    """The treebank whose sentences are read: a CoNLL-U file, the name of a treebank such as ud:en_ewt:dev, or 'sample',
    the English sample treebank."""

    format: FormatName = None

    sentences: Number = 200
    """The tokenizer reads the first N sentences of the corpus, and the model reads 12 of them, which are drawn at
    random with a fixed seed."""

    map: Annotated[tuple[str, ...], arg(metavar="KIND [KIND ...]")] = ()
    """The kinds of maps to check. Without this option, all kinds are checked."""

    known_answers: bool = False
    """Compare results of this installation with known ones instead. With the demo model, the sample treebank is
    analyzed, and the counts must be those that come with the toolkit. With bert-base-uncased and --corpus
    ud:en_ewt:dev, the best heads are shown beside the numbers of an independent program, and no check fails."""

    json: bool = False
    """Print the checklist and the verdicts as JSON."""

    def run(self, command: str = "") -> int:
        """Run the checks and return the exit status: 0 if the maps that are asked for can be trusted, else 1."""
        self.model.check()
        check_format(self.format)
        examination = None
        if self.known_answers:
            from ..engine.known_answers import check_setting, known_checks

            check_setting(self.model.model, self.corpus)
            encoder = self.model.load()
            made_one_by_one = known_checks(encoder, self.model.model, self.corpus)
        else:
            from ..corpora_loaders import load_treebank
            from ..extractors.checks.doctor import Examination

            treebank = load_treebank(corpus_path(self.corpus), limit=self.sentences, format=self.format)
            encoder = self.model.load()
            try:
                examination = Examination(encoder, treebank, self.map or None)
            except ValueError as error:
                raise OptionError(f"--map: {error}") from None
            made_one_by_one = examination.checks()
        checks = []
        for check in made_one_by_one:  # each is printed as soon as it is made
            checks.append(check)
            if not self.json:
                mark = {True: "ok  ", False: "FAIL", None: "    "}[check.passed]
                mark = "WARN" if examination and examination.warns_in(check) else mark
                say(*_wrap(f"{mark} {check.name}: {check.found}", _INDENT))
        # A check may fail for a kind of map that nobody has asked for. The verdicts are about those of --map alone.
        decisive = examination.verdicts() if examination else checks
        healthy = all(check.passed is not False for check in decisive)
        name = model_label(encoder.name, encoder.files.revision, offline=encoder.files.offline)
        if self.json:
            from ..reports.tables import to_json

            record = {"model": encoder.name, **describe_files(encoder.files), "healthy": healthy}
            verdicts = examination.record() if examination else {}
            say_json(to_json({**record, **verdicts, "checks": list(map(asdict, checks))}))
        elif healthy:
            found = "no verdict is bad" if examination else "no result differs from the known ones"
            if examination and examination.text.warning:
                found = f"the maps can be trusted, but not on this text. Warning: {examination.text.warning[:-1]}"
            say("", *_wrap(f"{name}: {found}."))
        elif examination:
            advice = "do not trust the attention maps of this model on this text; the lines marked FAIL say why."
            complain(f"{name}: {advice}", 1)
        else:
            complain(
                f"{name}: this installation gives other results than the known ones, see the lines marked FAIL.", 1
            )
        return 0 if healthy else 1
