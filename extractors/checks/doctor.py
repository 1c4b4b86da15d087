"""Whether the maps of a model can be trusted: its maps, the decisions that are made on them, and the text.

Maps of one kind may be impossible where others are sound. Rounding matters only if it changes a decision, so float32
is judged by decisions. And a model that computes all maps soundly may not know the language of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch

from ...corpora_loaders import Sentence
from ...corpora_loaders.errors import out_of_memory
from ..errors import cause
from ..kinds import get_kind, list_kinds
from ..layers.verification import ROW_SUM_TOLERANCE, mass_on_padding, off_one
from ..maps.batching import ExtractionLog, reason_to_skip
from ..maps.extraction import extract
from ..model.checkpoint import untrained_weights
from ..model.conditions import SAME
from ..model.encoder import Encoder
from ..model.forward_pass import Forward
from ..model.loading import load_tokenizer
from ..tokens.pieces import Pieces
from ..tokens.text_fit import TextFit
from .precision import Precision

T = TypeVar("T")

SAMPLE = 12
"""How many sentences the model reads, drawn at random with a fixed seed."""
_OF_TEXT = ("words and pieces", "text")
"""The names of the checks that say whether the model fits the text."""
GROSS_ERROR = 0.01
"""The relative error of float32 from which on maps are wrong, whatever is decided on them."""


@dataclass(frozen=True)
class Check:
    """One line of the checklist: what was checked, and the result in words."""

    name: str
    passed: bool | None  # None for lines that only inform
    found: str


class Examination:
    """The examination of a model by a text, which the tokenizer reads as a whole and the model only in part."""

    def __init__(self, encoder: Encoder, sentences: Sequence[Sentence], kinds: Sequence[str] | None = None) -> None:
        self.encoder, self.sentences = encoder, sentences
        self.kinds = tuple(get_kind(kind).name for kind in (list_kinds() if kinds is None else kinds))
        self.wanted = ("weight",) if kinds is None else self.kinds  # those whose maps must be sound
        self.failed: list[str] = []  # checks that failed for all kinds of maps
        self.refused: dict[str, str] = {}  # why there are no sound maps, by the kinds that have none
        self.precision: dict[str, Precision] = {}  # what float32 does to the other kinds
        self.text = TextFit()

    @property
    def obstacles(self) -> dict[str, str]:
        """Why maps of a kind are not sound, for all kinds for which there is a reason."""
        failed = ", ".join(f"{name!r}" for name in self.failed)
        return dict.fromkeys(self.kinds, f"the model fails the check {failed}") if failed else self.refused

    def warns_in(self, check: Check) -> bool:
        """Whether a check has not failed, but warns that the words of the text go to pieces."""
        return check.passed is None and check.name in _OF_TEXT and bool(self.text.warning)

    def verdicts(self) -> list[Check]:
        """The three verdicts, after the checks: on the maps and the decisions of all kinds, and on the text."""
        obstacles = self.obstacles
        sound = [kind for kind in self.kinds if kind not in obstacles]
        differing = [kind for kind in sound if self.precision[kind].differing]
        maps = f"sound for {', '.join(sound) or 'no kind'}"
        if obstacles:
            maps += f"; not for {', '.join(obstacles)}"
        decisions = f"not those of float64 for {', '.join(differing)}" if differing else "those of float64"
        why_not = self.text.verdict if self.text.words else "the model cannot read it"
        text = {"yes": "the model fits it", "poorly": "the model fits it poorly", "no": why_not}
        unchanged = set(differing).isdisjoint(self.wanted)
        return [
            Check("maps", obstacles.keys().isdisjoint(self.wanted), maps),
            Check("decisions", unchanged if sound else None, decisions if sound else "none"),
            Check(_OF_TEXT[1], self.text.passed, text[self.text.fits]),
        ]

    def record(self) -> dict[str, dict[str, Any]]:
        """The three verdicts as plain data, after the checks."""
        obstacles = self.obstacles
        return {
            "maps": {kind: {"sound": kind not in obstacles, "reason": obstacles.get(kind, "")} for kind in self.kinds},
            "decisions": {kind: asdict(precision) for kind, precision in self.precision.items()},
            "text": {**self.text.record(), "warning": self.text.warning},
        }

    def checks(self) -> Iterator[Check]:
        """Run the checks, and yield each when it is done, and then the three verdicts."""
        yield from self._model_checks()
        limit = self.encoder.max_length
        aligned = zip(self.sentences, self.encoder.align(self.sentences), strict=True)
        readable = [(s, p) for s, p in aligned if isinstance(p, Pieces) and reason_to_skip(p, limit) is None]
        indices = np.random.default_rng(0).choice(len(readable), min(SAMPLE, len(readable)), replace=False)
        drawn = sorted((readable[index][0] for index in sorted(indices)), key=len)
        # Maps that need weights take long, so they are made of the shorter half of these, without the shortest.
        shorter = drawn[len(drawn) // 6 : (len(drawn) + 1) // 2]
        found = f"{len(readable)} of {len(self.sentences)} can be read"
        if len(drawn) < len(readable):
            found += f"; the checks of the model read {len(drawn)} of them, drawn at random with a fixed seed"
        found += f"; maps that need the weights of the layers are checked on {len(shorter)}"
        yield self._note("sentences", bool(readable), found)
        if readable:
            yield from self._text_checks(readable)
            for name, check in _ATTENTION_CHECKS.items():
                result = _outcome_of(partial(check, self.encoder, drawn))
                yield self._note(name, *((False, result) if isinstance(result, str) else result))
            yield from self._kind_checks(drawn, shorter)
        yield from self.verdicts()

    def _text_checks(self, readable: Sequence[tuple[Sentence, Pieces]]) -> Iterator[Check]:
        if self.encoder.causal and not any(any(pieces.special) for _, pieces in readable):  # others have a warning
            found = "The tokenizer adds no special tokens, so idle attention rests on words"
            yield Check("note", passed=None, found=f"{found}; --prepend puts a token before each input.")
        self.text = TextFit.of(readable)
        yield Check(_OF_TEXT[0], self.text.passed, str(self.text))

    def _note(self, name: str, passed: bool | None, found: str) -> Check:
        """Note a check whose failure makes the maps of all kinds unsound."""
        if passed is False:  # None only informs
            self.failed.append(name)
        return Check(name, passed, found)

    def _model_checks(self) -> Iterator[Check]:
        """Describe the model, without reading anything."""
        encoder = self.encoder
        unused = encoder.files.unused
        causal = ", causal: words see only the words before them" if encoder.causal else ""
        yield Check("model", passed=None, found=f"{encoder.family}, {encoder.shape}{causal}")
        if encoder.files.sha256:  # the weights were read from files
            others = f"{len(unused.others)} tensors that do not belong to the architecture" if unused.others else ""
            head = f"{len(unused.heads)} tensors of a task head, which attention does not need" if unused.heads else ""
            left_over = " and ".join(filter(None, (others, head))) or "none"
            found = f"all weights that attention needs are present; unused: {left_over}"
            yield self._note("checkpoint", not unused.others, found)
        untrained = untrained_weights(encoder.model)
        for warning in encoder.warnings:
            name, passed = ("weights", False) if warning in untrained else ("note", None)
            yield self._note(name, passed, warning)
        limit = "no limit known" if encoder.max_length is None else f"{encoder.max_length} pieces"
        yield Check("longest input", passed=None, found=limit)

    def _kind_checks(self, drawn: Sequence[Sentence], shorter: Sequence[Sentence]) -> Iterator[Check]:
        """Compare each kind with float64, and note which kinds are refused; then yield a line for each reason."""
        for name in self.kinds:
            kind = get_kind(name)
            precision = _outcome_of(partial(Precision.of, self.encoder, shorter if kind.reads_weights else drawn, name))
            if isinstance(precision, str):
                self.refused[name] = precision
            elif precision.error > GROSS_ERROR:
                self.refused[name] = f"float32 is off by {precision.error:.1e} of a value"
            else:
                self.precision[name] = precision
                yield Check(f"map kind {name!r}", not precision.differing, f"{kind.description}; {precision}")
        for reason in dict.fromkeys(self.refused.values()):
            kinds = [kind for kind, why in self.refused.items() if why == reason]
            yield Check(f"no maps of {', '.join(kinds)}", None if set(kinds).isdisjoint(self.wanted) else False, reason)


def _outcome_of(run: Callable[[], T]) -> T | str:
    """Return what a check finds, or the message of the error that it raises, unless memory ran out."""
    try:
        return run()
    except Exception as error:
        if out_of_memory(error):
            raise
        return cause(error)


def _passes(encoder: Encoder, sentences: Sequence[Sentence]) -> list[Forward]:
    """Run forward passes over all sentences: together if the model can read padded batches, otherwise one by one."""
    pieces = [aligned for aligned in encoder.align(sentences) if isinstance(aligned, Pieces)]
    batches = [pieces] if encoder.batching == "padded" else [[alone] for alone in pieces]
    return [encoder.forward(batch) for batch in batches]


def _check_every_layer(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    [forward] = _passes(encoder, sentences[:1])  # an error if a layer gives no attention
    finite = all(bool(torch.isfinite(alpha).all()) for alpha in forward.attentions)
    found = f"{len(forward.attentions)} full matrices through eager attention"
    return finite, found if finite else f"{found}, with values that are not finite"


def _check_row_sums(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    largest = 0.0
    for forward in _passes(encoder, sentences):
        rows = forward.mask[:, None].expand(-1, encoder.n_heads, -1)
        errors = (off_one(alpha.sum(-1)[rows], sinks=encoder.has_sinks) for alpha in forward.attentions)
        largest = max(largest, *(float(error.max()) for error in errors))
    return largest <= ROW_SUM_TOLERANCE, f"within {largest:.1e}"


def _check_padding(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool | None, str]:
    if encoder.batching != "padded":
        return None, f"inputs are never padded; read together: {encoder.batching}"
    mass = max(mass_on_padding(f.attentions, f.mask, f.mask) for f in _passes(encoder, sentences))
    return mass <= 1e-6, f"at most {mass:.1e} of a row"


def _check_same_maps(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    def maps(model: Encoder, batch_cells: int) -> dict[str, np.ndarray]:  # by the ids of sentences
        batches = extract(model, sentences, batch_cells=batch_cells, log=ExtractionLog())
        return {sentence.id: array for batch in batches for sentence, array in batch.unpadded()}

    def difference(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> float:
        return max(float(np.abs(first[key] - second[key]).max()) for key in first)

    alone, together = maps(encoder, 1), maps(encoder, 2**20)
    repeated = difference(together, maps(encoder, 2**20))
    batched = max(difference(alone, other) for other in (together, *(maps(encoder, 2**n) for n in (8, 11, 13))))
    # Where scores are large, so is their rounding, which float64 shows.
    same = batched <= SAME or batched <= 4 * difference(alone, maps(encoder.double, 1))
    return repeated == 0 and same, f"repeated: largest difference {repeated:.1e}; in other batches: {batched:.1e}"


def _measure_sinks(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[None, str]:
    """Measure the share of attention on the first and the last position, with a prepended token and without."""
    first, last = _at_the_ends(encoder, sentences)
    shares = f"{first:.0f} % on the first position, {last:.0f} % on the last"
    if encoder.prepended is not None:
        plain = Encoder(encoder.model, load_tokenizer(encoder.files), encoder.name, encoder.files)
        without, _ = _at_the_ends(plain, sentences)
        shares += f"; without {encoder.prepended}, which --prepend added, {without:.0f} % on the first position"
    return None, f"{shares} (mean over heads)"


def _at_the_ends(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[float, float]:
    """Return the share of attention on the first and the last position in percent, as means over rows and heads."""
    sum_of_first = sum_of_last = n_rows = 0.0
    for batch in extract(encoder, sentences, log=ExtractionLog()):
        for _, array in batch.unpadded():  # (layers, heads, rows, columns)
            n_rows += array[..., 0].size
            sum_of_first += float(array[..., 0].sum())
            sum_of_last += float(array[..., -1].sum())
    return 100 * sum_of_first / n_rows, 100 * sum_of_last / n_rows


_ATTENTION_CHECKS = {
    "attention from every layer": _check_every_layer,
    "rows sum to 1": _check_row_sums,
    "nothing on padding": _check_padding,
    "same maps again, alone and in any batch": _check_same_maps,
    "where attention rests": _measure_sinks,
}
"""The checks of the attention that a model gives to a few sentences. Each says whether it passed, and what it found."""
