"""Whether the maps of a model can be trusted: its maps, the decisions that are made on them, and the text.

These are three questions, because the answers have different causes. Maps of one kind may be impossible where others
are sound. Rounding matters only if it changes a decision, so float32 is judged by decisions and not by its error alone.
And a model that computes all maps soundly may not know the language of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from ...corpora_loaders import Sentence
from ...corpora_loaders.errors import out_of_memory
from ..errors import cause
from ..kinds import get_kind, list_kinds
from ..maps.attention_checks import ROW_SUM_TOLERANCE, mass_on_padding
from ..maps.batching import ExtractionLog, obstacle
from ..maps.extraction import extract
from ..maps.precision import Precision
from ..tokens.pieces import Pieces
from ..tokens.text_fit import TextFit
from .conditions import SAME
from .encoder import Encoder
from .forward_pass import Forward
from .loaded_weights import constant_weights

SAMPLE = 12
"""How many sentences the model reads."""

GROSS_ERROR = 0.01
"""The relative error of float32 from which on maps are wrong, whatever is decided on them."""


@dataclass(frozen=True)
class Check:
    """One line of the checklist.

    Attributes:
        name: what was checked.
        passed: whether the model passed; None for lines that only inform.
        found: the result in words.
    """

    name: str
    passed: bool | None
    found: str


class Examination:
    """The examination of a model by a text. The attributes are filled while `checks` runs.

    Args:
        encoder: the model.
        sentences: the text, which the tokenizer reads as a whole and the model only in part.
        kinds: the kinds of maps that are wanted; None to check all, of which only the attention weights must be sound.

    Attributes:
        kinds, wanted: the kinds of maps that are checked, and those of them that must be sound.
        failed: the names of the checks that failed for all kinds of maps.
        refused: why there are no sound maps of a kind, by the kinds that have none.
        precision: what float32 does to the other kinds.
        text: whether the model fits the text.

    Raises:
        ValueError: there is no kind of such a name.
    """

    def __init__(self, encoder: Encoder, sentences: Sequence[Sentence], kinds: Sequence[str] | None = None) -> None:
        self.encoder, self.sentences = encoder, sentences
        self.kinds = tuple(get_kind(kind).name for kind in (list_kinds() if kinds is None else kinds))
        self.wanted = ("weight",) if kinds is None else self.kinds
        self.failed: list[str] = []
        self.refused: dict[str, str] = {}
        self.precision: dict[str, Precision] = {}
        self.text = TextFit(0, 0, 0.0)

    @property
    def obstacles(self) -> dict[str, str]:
        """Why maps of a kind are not sound, for all kinds for which there is a reason."""
        failed = ", ".join(f"{name!r}" for name in self.failed)
        return dict.fromkeys(self.kinds, f"the model fails the check {failed}") if failed else self.refused

    def verdicts(self) -> list[Check]:
        """The three verdicts, after the checks: on the maps and the decisions of all kinds, and on the text."""
        obstacles = self.obstacles
        sound = [kind for kind in self.kinds if kind not in obstacles]
        differing = [kind for kind in sound if self.precision[kind].differing]
        maps = f"sound for {', '.join(sound) or 'no kind'}" + (f"; not for {', '.join(obstacles)}" if obstacles else "")
        decisions = f"not those of float64 for {', '.join(differing)}" if differing else "those of float64"
        text = {"yes": "the model fits it", "poorly": "the model fits it poorly", "no": "the model cannot read it"}
        unchanged = set(differing).isdisjoint(self.wanted)
        return [
            Check("maps", obstacles.keys().isdisjoint(self.wanted), maps),
            Check("decisions", unchanged if sound else None, decisions if sound else "none"),
            Check("text", self.text.passed, text[self.text.fits]),
        ]

    def record(self) -> dict[str, dict[str, Any]]:
        """The three verdicts as plain data, after the checks."""
        obstacles = self.obstacles
        return {
            "maps": {kind: {"sound": kind not in obstacles, "reason": obstacles.get(kind, "")} for kind in self.kinds},
            "decisions": {kind: asdict(precision) for kind, precision in self.precision.items()},
            "text": {"fits": self.text.fits, **asdict(self.text)},
        }

    def checks(self) -> Iterator[Check]:
        """Run the checks, and yield each when it is done, and then the three verdicts.

        A check that raises an error has failed, and the message of the error is its result.
        """
        yield from self._checks()
        yield from self.verdicts()

    def _checks(self) -> Iterator[Check]:
        encoder = self.encoder
        yield Check("model", None, f"{encoder.family}, {encoder.n_layers} layers × {encoder.n_heads} heads")
        if encoder.files.sha256:
            yield self._noted(Check("checkpoint", not encoder.files.unused.others, _checkpoint(encoder)))
        constant = constant_weights(encoder.model)
        for warning in encoder.warnings:
            yield self._noted(Check("weights", False, warning) if warning in constant else Check("note", None, warning))
        limit = "no limit known" if encoder.max_length is None else f"{encoder.max_length} pieces"
        yield Check("longest input", None, limit)
        aligned = encoder.align(self.sentences)
        readable = [
            (sentence, pieces)
            for sentence, pieces in zip(self.sentences, aligned, strict=True)
            if isinstance(pieces, Pieces) and obstacle(pieces, encoder.max_length) is None
        ]
        drawn = _drawn([sentence for sentence, _ in readable])
        found = f"{len(readable)} of {len(self.sentences)} can be read"
        if len(drawn) < len(readable):
            found += f"; the checks of the model read {len(drawn)} of them, drawn at random with a fixed seed"
        fewer = drawn[len(drawn) // 6 : (len(drawn) + 1) // 2]
        found += f"; maps that need the weights of the layers are checked on {len(fewer)}"
        yield self._noted(Check("sentences", bool(readable), found))
        if not readable:
            return
        if not any(any(pieces.special) for _, pieces in readable):
            yield Check("note", None, "The tokenizer adds no special tokens, so idle attention rests on words.")
        self.text = TextFit.of(readable)
        yield Check("words and pieces", self.text.passed, str(self.text))
        yield from self._model_checks(drawn)
        yield from self._kind_checks(drawn, fewer)

    def _noted(self, check: Check) -> Check:
        if check.passed is False:
            self.failed.append(check.name)
        return check

    def _model_checks(self, drawn: Sequence[Sentence]) -> Iterator[Check]:
        checks: list[tuple[str, Callable[[Encoder, Sequence[Sentence]], tuple[bool | None, str]]]] = [
            ("attention from every layer", _attention),
            ("rows sum to 1", _row_sums),
            ("nothing on padding", _padding),
            ("same maps again, alone and in any batch", _same_maps),
            ("where attention rests", _sink),
        ]
        for name, check in checks:
            try:
                yield self._noted(Check(name, *check(self.encoder, drawn)))
            except Exception as error:
                if out_of_memory(error):
                    raise
                yield self._noted(Check(name, False, cause(error)))

    def _kind_checks(self, drawn: Sequence[Sentence], fewer: Sequence[Sentence]) -> Iterator[Check]:
        for name in self.kinds:
            kind = get_kind(name)
            try:
                precision = Precision.of(self.encoder, fewer if kind.reads_weights else drawn, name)
            except Exception as error:
                if out_of_memory(error):
                    raise
                self.refused[name] = cause(error)
                continue
            if precision.error > GROSS_ERROR:
                self.refused[name] = f"float32 is off by {precision.error:.1e} of a value"
                continue
            self.precision[name] = precision
            yield Check(f"map kind {name!r}", not precision.differing, f"{kind.description}; {precision}")
        for reason in dict.fromkeys(self.refused.values()):
            kinds = [kind for kind, why in self.refused.items() if why == reason]
            yield Check(f"no maps of {', '.join(kinds)}", False if set(kinds) & set(self.wanted) else None, reason)


def _drawn(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Draw the sentences that the model reads, always the same, and sort them by length."""
    drawn = np.random.default_rng(0).choice(len(sentences), min(SAMPLE, len(sentences)), replace=False)
    return sorted((sentences[index] for index in sorted(drawn)), key=len)


def _checkpoint(encoder: Encoder) -> str:
    unused = encoder.files.unused
    heads = f"{len(unused.heads)} tensors of a task head, which attention does not need" if unused.heads else ""
    others = f"{len(unused.others)} tensors that do not belong to the architecture" if unused.others else ""
    left_over = " and ".join(part for part in (others, heads) if part)
    return f"all weights that attention needs are present; unused: {left_over or 'none'}"


def _pieces(encoder: Encoder, sentences: Sequence[Sentence]) -> list[Pieces]:
    return [p for p in encoder.align(sentences) if isinstance(p, Pieces)]


def _passes(encoder: Encoder, sentences: Sequence[Sentence]) -> list[Forward]:
    """Run forward passes over all sentences: together if the model can read padded batches, otherwise one by one."""
    pieces = _pieces(encoder, sentences)
    batches = [pieces] if encoder.batching == "padded" else [[alone] for alone in pieces]
    return [encoder.forward(batch) for batch in batches]


def _attention(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    attentions = encoder.forward(_pieces(encoder, sentences[:1])).attentions
    finite = all(bool(torch.isfinite(alpha).all()) for alpha in attentions)
    return finite and len(attentions) == encoder.n_layers, (
        f"{len(attentions)} full matrices through eager attention"
        + ("" if finite else ", with values that are not finite")
    )


def _row_sums(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    off = 0.0
    for forward in _passes(encoder, sentences):
        rows = forward.mask[:, None].expand(-1, encoder.n_heads, -1)
        off = max(off, *(float((alpha.sum(-1)[rows] - 1).abs().max()) for alpha in forward.attentions))
    return off <= ROW_SUM_TOLERANCE, f"within {off:.1e}"


def _padding(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool | None, str]:
    if encoder.batching != "padded":
        return None, f"inputs are never padded; read together: {encoder.batching}"
    mass = max(map(mass_on_padding, _passes(encoder, sentences)))
    return mass <= 1e-6, f"at most {mass:.1e} of a row"


def _maps(encoder: Encoder, sentences: Sequence[Sentence], batch_cells: int) -> dict[str, np.ndarray]:
    batches = extract(encoder, sentences, batch_cells=batch_cells, log=ExtractionLog())
    return {sentence.id: array for batch in batches for sentence, array in batch.unpadded()}


def _difference(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(first[key] - second[key]).max()) for key in first)


def _same_maps(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    alone, together = (_maps(encoder, sentences, size) for size in (1, 2**20))
    again = _difference(together, _maps(encoder, sentences, 2**20))
    off = max(_difference(alone, maps) for maps in (together, *(_maps(encoder, sentences, 2**n) for n in (8, 11, 13))))
    # Where scores are large, so is their rounding, which float64 shows.
    same = off <= SAME or off <= 4 * _difference(alone, _maps(encoder.double, sentences, 1))
    return again == 0 and same, f"repeated: largest difference {again:.1e}; in other batches: {off:.1e}"


def _sink(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[None, str]:
    """Measure the share of attention on the first and the last position."""
    first = last = rows = 0.0
    for batch in extract(encoder, sentences, log=ExtractionLog()):
        for _, array in batch.unpadded():
            rows += array[..., 0].size
            first += float(array[..., 0].sum())
            last += float(array[..., -1].sum())
    return (
        None,
        f"{100 * first / rows:.0f} % on the first position, {100 * last / rows:.0f} % on the last (mean over heads)",
    )
