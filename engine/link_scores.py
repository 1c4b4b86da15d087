"""``align --hypothesis``: files of links of other systems are scored, without sentences and without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..analyses.alignment.link_files import LinkScores, score_files, scores_section
from ..analyses.contract import OptionError
from ..analyses.shared.record import describe_command
from ..corpora_loaders.alignment import load_link_files
from ..reports.page import Section
from ..reports.progress import Stages
from ..reports.run_folder import RunFolder
from .results.run import Run, write_run


def score_link_files(
    hypotheses: Sequence[str],
    gold: str,
    out: Path,
    *,
    one_based: bool,
    replicates: int,
    seed: int,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> tuple[LinkScores, Section]:
    """Score files of links, given as ``NAME=FILE`` or as a file with the name of its own, and write the report."""
    paths = {}
    for hypothesis in hypotheses:
        name, sign, path = hypothesis.partition("=")
        path = path if sign else hypothesis
        name = name if sign else Path(hypothesis).name
        if not name or not path:
            raise OptionError(f"--hypothesis takes NAME=FILE or FILE, not {hypothesis!r}")
        if name in paths:
            raise OptionError(f"two files of --hypothesis have the name {name!r}; give NAME=FILE")
        paths[name] = path
    stages = Stages()
    with RunFolder(out, overwrite=overwrite, reads=[Path(gold), *map(Path, paths.values())]) as target:
        with stages("links"):
            of_gold, files = load_link_files(gold, paths, one_based=one_based)
            scores = score_files(of_gold, files, replicates=replicates, seed=seed)
            section = scores_section(scores)
        record = describe_command(command, shown_options or {}, seed, stages)
        sources = [of_gold.source("gold"), *(file.source(name) for name, file in files.items())]
        record |= {"links": [asdict(source) for source in sources], "sentence_pairs": scores.pairs, "warnings": []}
        write_run(target.path, Run((), record=record, sections=(section,), template="links.html.j2"))
    return scores, section
