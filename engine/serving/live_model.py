"""A model that stays loaded and draws sentences: maps of all heads, guesses and predictions, with or without heads."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ...analyses.ablation.predictions import word_prediction
from ...analyses.contract import OptionSet
from ...analyses.coreference.options import CoreferenceOptions
from ...analyses.coreference.rows import guesses_of_heads as guesses_of_mentions
from ...analyses.dependency.options import DependencyOptions
from ...analyses.dependency.rows import guesses_of_heads
from ...analyses.plans import Guesses
from ...analyses.shared.annotation import Annotation
from ...analyses.shared.builtin import load_head
from ...analyses.shared.input_sample import MOST_ROWS
from ...analyses.shared.options import FeedForwardOptions, MapOptions
from ...analyses.shared.sampled_input import SampledInput
from ...corpora_loaders import AttentionologyError, Sentence
from ...extractors import Encoder, MapBatch, MapMaker, ModelError, SharedBatch, Window, get_kind, list_kinds
from ...extractors.maps.batching import reason_to_skip
from ...extractors.maps.map_maker import make_maps, map_batch_of
from ...extractors.maps.shared_pass import needs_of
from ...extractors.model.forward_pass import Forward
from ...extractors.replaceable.heads_off import Head, Positions, switch_off
from ...extractors.tokens.pieces import Pieces, Unalignable
from ...reports.explorer.data import DrawnSentence, Predicted, SampledSentence
from ...reports.format import head_name
from ...storage.characters import one_line
from ..results.explorer import sampled_sentence
from .errors import RequestError
from .texts import TypedSentence

MOST_PIECES = 512
"""The longest sentence in pieces that is drawn, unless the model reads less."""

_LOCKS: WeakKeyDictionary[Encoder, threading.Lock] = WeakKeyDictionary()

_N_LIKELIEST = 5
_TRIAL = TypedSentence(Sentence("trial", ("a", "b", "c")))


class LiveModel:
    """A model that stays loaded.

    Args:
        encoder: the model.
        options: the options of the run that was made with it, so that what is drawn is made as in the run.
        lm: the model with its language-model head; by default, it is loaded if there is one.

    Attributes:
        most_pieces: the longest sentence that it draws, in pieces with special tokens.
        kinds: the kinds of maps that it can draw.
        mentions: among which candidates heads choose for a mention.
        lm: the model with its language-model head; None if it has none.
    """

    def __init__(self, encoder: Encoder, options: OptionSet | None = None, lm: Any = None) -> None:
        self.encoder = encoder
        chosen = OptionSet() if options is None else options
        self._maps, self._bias = chosen[MapOptions], chosen[FeedForwardOptions].ff_bias
        self.mentions = chosen[CoreferenceOptions]
        self._guesses = guesses_of_heads(chosen[DependencyOptions], is_causal=encoder.causal)
        self.most_pieces = min(MOST_PIECES, encoder.max_length or MOST_PIECES)
        self.lm = load_head(encoder, causal=encoder.causal) if lm is None else lm
        if self.lm is not None:
            self.lm = self.lm.to(encoder.device).eval()
        # Each kind is tried once, which also makes whatever is made at the first use of a model.
        self._per_head: dict[str, bool] = {}
        with lock_of(encoder):
            for kind in dict.fromkeys([*self._maps.map, *list_kinds()]):
                try:
                    [batch] = self.batches(_TRIAL.sentence, self.pieces(_TRIAL), [kind], ())
                except (AttentionologyError, ValueError):
                    continue  # for example because the architecture has no row of names
                self._per_head[kind] = batch.maps.shape[2] == encoder.n_heads and not get_kind(kind).aggregation
        if not self._per_head:
            raise ModelError(f"{encoder.label}: no kind of map can be drawn")
        self.kinds = tuple(self._per_head)

    def like(self, options: OptionSet) -> LiveModel:
        """Return the same model with the options of another run."""
        return LiveModel(self.encoder, options, self.lm)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of layers, and of heads of each layer."""
        return self.encoder.n_layers, self.encoder.n_heads

    def draw(self, typed: TypedSentence, kinds: Sequence[str], off: Collection[Head] = ()) -> DrawnSentence:
        """Draw a sentence.

        Args:
            typed: the sentence, and its masked words.
            kinds: the kinds of maps.
            off: the heads that are switched off, both numbers from 0: each gives zeros at every position.

        Raises:
            RequestError: the sentence is too long, or what is asked for is not possible.
        """
        self.check_kinds(kinds, off)
        sentence, pieces = self._show(typed, off), self.pieces(typed)
        by_kind: dict[str, tuple[Sequence[str], SampledInput]] = {}
        guessers = [self._guesses] if self._guesses else []
        if isinstance(sentence, Window):
            guessers.append(guesses_of_mentions(self.mentions))
        for kind, batch in zip(kinds, self.batches(sentence, pieces, kinds, off), strict=True):
            by_kind[kind] = self._sample(kind, batch, guessers)
        drawn = sampled_sentence(by_kind, self.encoder.n_heads)
        rows = [row for row, special in enumerate(drawn.special) if not special]
        masked = tuple(rows[word] for word in typed.masked)
        return DrawnSentence(drawn, self._predict(typed, pieces, drawn, off), masked)

    def check_kinds(self, kinds: Sequence[str], off: Collection[Head] = ()) -> None:
        """Raise `RequestError` if the model cannot draw some kinds of maps, without some heads."""
        if unknown := next((kind for kind in kinds if kind not in self._per_head), None):
            raise RequestError(f"{self.encoder.name} cannot draw {unknown!r:.40}; it draws {', '.join(self.kinds)}.")
        if off and (of_layers := next((kind for kind in kinds if not self._per_head[kind]), None)):
            # It is recomputed from all heads of a layer, those that are off among them.
            raise RequestError(
                f"With heads switched off, “{of_layers}” cannot be drawn, because it puts all heads of a layer "
                "together; choose a kind of each head, such as weight, or switch all heads on."
            )

    def pieces(self, typed: TypedSentence) -> Pieces:
        """Return what the model reads of a sentence, with all pieces of masked words replaced by the mask token.

        Raises:
            RequestError: the model cannot read it.
        """
        n_words = len(typed.sentence)
        found: Pieces | Unalignable | None = None
        if n_words <= self.most_pieces:  # otherwise it is not even cut into pieces
            [found] = self.encoder.align([typed.sentence])
            if (why := reason_to_skip(found, self.most_pieces)) is None and isinstance(found, Pieces):
                return self._mask(found, typed.masked)
            if isinstance(found, Unalignable):
                raise RequestError(f"{self.encoder.name} cannot read this sentence: {why}.")
        extent = found.extent if isinstance(found, Pieces) else f"{n_words:,} words"
        raise RequestError(
            f"The sentence has {extent}; {self.encoder.name} draws at most {self.most_pieces} pieces. Shorten it.", 422
        )

    def batches(
        self, sentence: Sentence, pieces: Pieces, kinds: Sequence[str], off: Collection[Head]
    ) -> list[MapBatch]:
        """Return the maps of each kind, all of one forward pass."""
        makers = [self.maker(kind) for kind in kinds]
        batch = SharedBatch(self.encoder, (sentence,), [pieces], **needs_of(makers))
        made = make_maps(makers, _forward(self.encoder, batch, off), self.encoder, [pieces])
        batches = [map_batch_of(maker, *maps, batch) for maker, maps in zip(makers, made, strict=True)]
        if not off:
            return batches

        def recompute(maker: MapMaker) -> Any:
            def without_heads(indices: Sequence[int], first_layers: int | None = None) -> list[Tensor]:
                double = self.encoder.double
                again = SharedBatch(double, (sentence,), [pieces], **needs_of([maker]))
                [(maps, _)] = make_maps([maker], _forward(double, again, off), double, [pieces])
                return [maps[index].cpu() for index in indices]

            return without_heads

        return [replace(each, recompute=recompute(maker)) for maker, each in zip(makers, batches, strict=True)]

    def maker(self, kind: str) -> MapMaker:
        """Return what makes the maps of a kind, as the run of the model does."""
        found = get_kind(kind)
        merge = self._maps.merge if found.vectors else "norm"
        return MapMaker(found, "word", merge, self._maps.normalize, self._bias)

    @property
    def guesses(self) -> Guesses | None:
        """The guesses of the heads, None where there are none to draw."""
        return self._guesses

    def _show(self, typed: TypedSentence, off: Collection[Head]) -> Sentence:
        """Return a sentence as the page shows it: with brackets around masked words, and with an id of its own."""
        sentence = typed.sentence
        masked = set(typed.masked)
        words = tuple(f"[{word}]" if index in masked else word for index, word in enumerate(sentence.words))
        names = sorted(head_name(layer + 1, head + 1) for layer, head in off)
        told = "\n".join([self.encoder.name, " ".join(names), sentence.id, *words, *map(str, sentence.heads)])
        digest = hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:12]
        name = sentence.id if sentence.file is not None and not off else f"typed-{digest}"
        return replace(sentence, id=name, words=words)

    def _mask(self, pieces: Pieces, masked: Sequence[int]) -> Pieces:
        """Return pieces with the mask token in place of those of some words, unless the model is causal."""
        if not masked or self.encoder.causal:
            return pieces
        mask_id, mask = self.encoder.tokenizer.mask_token_id, self.encoder.tokenizer.mask_token
        if mask_id is None:
            raise RequestError(f"{self.encoder.name} has no mask token, so no word can be masked; remove the brackets.")
        hidden = [word in masked for word in pieces.word_of]
        ids = [mask_id if is_hidden else id_ for is_hidden, id_ in zip(hidden, pieces.ids, strict=True)]
        tokens = [mask if is_hidden else token for is_hidden, token in zip(hidden, pieces.tokens, strict=True)]
        return replace(pieces, ids=ids, tokens=tokens)

    def _sample(self, kind: str, batch: MapBatch, guessers: Sequence[Guesses]) -> tuple[Sequence[str], SampledInput]:
        """Return the maps of the one sentence of a batch in 8 bits, with the names of its guesses."""
        n_rows = int(batch.lengths[0])
        found = [guesser.of(batch)[0, ..., :n_rows] for guesser in guessers]
        guesses = torch.cat([torch.zeros(0, *batch.maps.shape[1:3], n_rows, dtype=torch.int64), *found])
        unit = get_kind(kind).rows_sum_to_one or self._maps.normalize == "row"
        # A long window is drawn as running text, as those of the sample are, and needs no maps.
        is_text = isinstance(batch.sentences[0], Window) and n_rows > MOST_ROWS
        maps = batch.maps[0, ..., :n_rows, : 0 if is_text else n_rows]
        sampled = SampledInput.of(0, 0, Annotation.of(batch, 0), maps, guesses, unit=unit)
        return [name for guesser in guessers for name in guesser.names], sampled

    def _predict(
        self, typed: TypedSentence, pieces: Pieces, drawn: SampledSentence, off: Collection[Head]
    ) -> Predicted | None:
        """Return what the model predicts: for masked words, or if it is causal for each word after those before it."""
        causal = self.encoder.causal
        if self.lm is None or not (causal or typed.masked):
            return None
        # The pieces that are predicted, by word; the logits at a piece of a causal model are about the next one.
        asked: Mapping[int, list[int]] = {word: [] for word in (range(pieces.words) if causal else typed.masked)}
        for piece, word in enumerate(pieces.word_of):
            if word in asked:
                asked[word].append(piece)
        if causal:
            asked = {word: [] if 0 in of_word else of_word for word, of_word in asked.items()}
        at = [piece - causal for of_word in asked.values() for piece in of_word]
        [unmasked] = self.encoder.align([typed.sentence])
        if not at or not isinstance(unmasked, Pieces):
            return None
        logits = iter(self._logits(pieces, at, off))
        log_p: list[float | None] = [None] * pieces.words
        likeliest: list[tuple[tuple[str, float], ...]] = [()] * pieces.words
        for word, of_word in asked.items():
            of_pieces = [next(logits) for _ in of_word]
            if of_pieces:
                ids = [unmasked.ids[piece] for piece in of_word]
                log_p[word], likeliest[word] = word_prediction(
                    torch.stack(of_pieces), ids, self.encoder.tokenizer, _N_LIKELIEST
                )
        return Predicted(drawn.id, "", tuple(log_p), tuple(likeliest))

    @torch.inference_mode()
    def _logits(self, pieces: Pieces, at: Sequence[int], off: Collection[Head]) -> Tensor:
        """Return the logits at some positions of a sentence, shape (positions, vocabulary)."""
        (ids, mask), segment_ids = self.encoder.pad([pieces]), self.encoder.segment_ids([pieces])
        segments = {} if segment_ids is None else {"token_type_ids": segment_ids}
        model: Any = self.lm
        places = Positions(model, torch.tensor([at], device=ids.device))
        with places, switch_off(model, off, self.encoder.n_heads):
            logits: Tensor = model(input_ids=ids, attention_mask=mask.long(), return_dict=True, **segments)[0]
        return places.of(logits)[0].cpu()

    def __repr__(self) -> str:
        return f"LiveModel({one_line(self.encoder.name)!r}, {len(self.kinds)} kinds of maps)"


def lock_of(encoder: Encoder) -> threading.Lock:
    """Return what is held while a model draws: a pass without some heads changes the model for all who use it."""
    return _LOCKS.setdefault(encoder, threading.Lock())


def _forward(encoder: Encoder, batch: SharedBatch, off: Collection[Head]) -> Forward:
    """Run a model on a batch, without some heads."""
    if not off:
        return batch.forward
    if batch.hidden_states:
        _ = encoder.layers  # which is verified when it is first read, and with all heads
    with switch_off(encoder.model, off, encoder.n_heads):
        forward = encoder.forward(
            batch.pieces, hidden_states=batch.hidden_states, states=batch.states, losses=batch.losses, whole=True
        )
    if forward.model_layers is None:
        return forward
    # A layer whose heads are off does not give what is recomputed from all of its heads.
    unchecked = replace(forward.model_layers, comparable=[False] * len(forward.model_layers.comparable))
    return replace(forward, model_layers=unchecked)


@dataclass(frozen=True)
class ServedModel:
    """A model that a server has, and the run that was made with it."""

    model: LiveModel
    run: int | None = None  # its position among the runs
