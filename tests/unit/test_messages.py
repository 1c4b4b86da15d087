"""What the toolkit says beside its results, for programs that use it and on the command line."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from attentionology import CountOptions, analyze
from attentionology.corpora_loaders import Sentence
from attentionology.reports.streams import messages_printed
from attentionology.storage.messages import MESSAGES, RUN_MESSAGES
from tests import tiny


@contextmanager
def heard(level: str) -> Iterator[list[tuple[str, str, str]]]:
    """The name, level and text of what is logged, as a handler of the root logger hears it."""
    records: list[tuple[str, str, str]] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append((record.name, record.levelname, record.getMessage()))  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    MESSAGES.setLevel(level)
    try:
        yield records
    finally:
        MESSAGES.setLevel(logging.NOTSET)
        logging.getLogger().removeHandler(handler)


@pytest.fixture
def sentences():
    return [Sentence("1", ("雪",) * 3, heads=(0, 1, 1), relations=("root", "dep", "dep"))]


def test_a_run_says_its_stages_and_its_warnings(sentences, capsys):
    with heard("INFO") as records:
        run = analyze(tiny.encoder("bert"), sentences, analyses=["dependency"], options=[CountOptions(replicates=10)])
    assert run.record["warnings"]
    warnings = [text for _, level, text in records if level == "WARNING"]
    assert warnings == run.record["warnings"]
    stages = [text for name, level, text in records if (name, level) == ("attentionology.run", "INFO")]
    assert stages == list(run.record["seconds"])
    assert len(stages) + len(warnings) == len(records)
    assert capsys.readouterr() == ("", "")


def test_the_command_line_prints_messages_but_not_those_of_runs(capsys):
    with messages_printed():
        MESSAGES.info("reading %s", "x")
        MESSAGES.warning("a file is damaged")
        MESSAGES.error("a request has failed")
        MESSAGES.debug("never")
        RUN_MESSAGES.warning("in the tables")
    MESSAGES.warning("afterwards")
    assert capsys.readouterr().err.splitlines() == [
        "reading x",
        "Warning: a file is damaged",
        "attentionology: a request has failed",
    ]
