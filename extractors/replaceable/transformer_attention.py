"""A Hugging Face classifier whose attention can be replaced in one layer, for [CLS] or all queries, and for some heads.

Replacing a row shows how much the words matter only if nothing else carries them to the classifier. That is so in the
last layer, for the position that is classified: the first one, [CLS], or in decoders the last. Jain & Wallace (2019)
replace the one row of an LSTM; for BERT see Pruthi et al. (2020).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ...storage.nearest import check_choice
from ...storage.paths import check_file
from ..errors import ModelError
from ..kinds import get_kind
from ..layers.architectures import ARCHITECTURES
from ..layers.verification import Recorder
from ..layers.weights import layer_modules
from ..maps.batching import DEFAULT_BATCH_CELLS
from ..maps.map_maker import MapMaker
from ..model.encoder import Encoder
from ..model.files import LoadedFiles
from ..model.loading import quiet
from .attention_model import Special, TextState, Words, state_of
from .attention_patch import (
    AttentionPatch,
    Position,
    indices_of,
    input_embeddings,
    make_replaceable,
    model_logits,
    position_read,
)
from .continuation import ReplacedHeads, TransformerState, Way, WordRows, fastest_way, scope_of
from .text_reader import TextLevel, TextReader

Query = Literal["cls", "all"]

_PROBE: tuple[Words, ...] = (("a", "b", "c", "d", "e", "f"), ("g", "h"))


class TransformerAttention(nn.Module):
    """A sequence classifier as an `AttentionModel`.

    The model passed in is put into evaluation mode. From then on it computes attention by the function in
    `attentionology.extractors.replaceable.attention_patch`, which calls the model's own eager function.

    Args:
        model: an ``AutoModelForSequenceClassification``.
        tokenizer: its fast tokenizer.
        layer: the layer, 0-based; negative numbers count from the end.
        query: ``"cls"`` for the row of the position that is classified, which is found out: the first or, in decoders,
            the last; ``"all"`` for all rows of the layer.
        heads: ``"all"`` or the 0-based heads; the others keep their attention.
        special: see `attentionology.extractors.replaceable.attention_model.Special`.
        level: ``"word"``, or ``"piece"`` to treat every piece as a word.
        score: the map kind of `scores`.
        name: the name of the model in results.
        files: where it was loaded from, if it was.
        batch_cells: the bound on texts × pieces² of what is computed at once.

    Raises:
        ValueError: an option has an unknown value.
        ModelError: there is no such layer or head, the attention of the architecture cannot be replaced, the classifier
            reads several positions and ``query`` is ``"cls"``, or the logits change when the model's own
            attention is put back.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import TransformerAttention, load_classifier, load_tokenizer
        >>> model, files = load_classifier(load_encoder("demo").files, labels=["dull", "fine"])
        >>> classifier = TransformerAttention(model, load_tokenizer(files), heads=[0, 3])
        >>> state = classifier.encode([("not", "a", "dull", "film")])
        >>> alpha, mask = classifier.attention(state)
        >>> uniform = (mask / mask.sum(1, keepdim=True))[:, None].expand_as(alpha)
        >>> classifier.decode(state, uniform[:, None]).shape  # texts, attentions per text, classes
        torch.Size([1, 1, 2])
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        layer: int = -1,
        query: str = "cls",
        heads: str | Sequence[int] = "all",
        special: str = "keep",
        level: str = "word",
        score: str = "weight",
        name: str = "",
        files: LoadedFiles | None = None,
        batch_cells: int = DEFAULT_BATCH_CELLS,
    ) -> None:
        super().__init__()
        check_choice("query", query, Query)
        check_choice("special", special, Special)
        check_choice("level", level, TextLevel)
        if isinstance(heads, str) and heads != "all":
            raise ValueError(f"heads must be 'all' or a list of heads, not {heads!r}")
        if batch_cells < 1:
            raise ValueError(f"batch_cells must be at least 1, not {batch_cells}")
        self._maps = MapMaker(get_kind(score), "word" if level == "word" else "token")
        self.query, self.level = query, level
        self.special: Special = cast(Special, special)
        self.name, self.files = name, files or LoadedFiles()
        self._label = name or str(model.config.model_type)
        if model.config.is_encoder_decoder or model.config.num_labels < 2:
            raise ModelError(f"{self._label} is not an encoder with a classification head of two or more classes")
        self.classes = tuple(str(model.config.id2label[i]) for i in range(model.config.num_labels))
        self.model, self.tokenizer = model.eval(), tokenizer
        model.set_attn_implementation("eager")
        self._encoder = Encoder(model.base_model, tokenizer, name, files)
        self.warnings = self._encoder.warnings
        if self._encoder.causal:  # a causal model finds the last piece of padded texts by this
            model.config.pad_token_id = self._encoder.tokenizer.pad_token_id

        self._reader = TextReader(self._encoder, level, batch_cells)
        self.layer, self.heads = scope_of(self._encoder, layer, heads, self._label)
        # The texts of a pair are always numbered, but models read these numbers only if their tokenizer gives them.
        forward_inputs = set(inspect.signature(model.forward).parameters)
        self._reads_segments = "token_type_ids" in forward_inputs & set(tokenizer.model_input_names)
        self._layers = layer_modules(model) if self._encoder.family in ARCHITECTURES else []
        self._replaced = ReplacedHeads(model, self.layer, self.heads, self._layers)
        self._choose_way()

    def describe(self) -> dict[str, Any]:
        """Describe what is replaced, for people: layer and heads are counted from 1."""
        return {
            "layer": self.layer + 1,
            "heads": "all" if len(self.heads) == self._encoder.n_heads else [head + 1 for head in self.heads],
            "query": "last" if self._position == "last" else self.query,
            "special": self.special,
            "level": self.level,
            "score": self._maps.kind.name,
            "fast": self.way == "one position",
        }

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the model, as safetensors, and its tokenizer to a folder.

        Args:
            folder: the folder.
            overwrite: whether to replace the files of another model.

        Raises:
            StorageError: the folder has a model, or lies in that of a run.
        """
        check_file(Path(folder, "config.json"), overwrite=overwrite)
        with quiet():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    def readable(self, texts: Sequence[Words]) -> list[str | None]:
        """Say of each text why it cannot be read; None if it can be."""
        return self._reader.reasons(texts)

    def unknown_words(self, texts: Sequence[Words]) -> int:
        """Count the words that have a piece that the tokenizer does not know.

        Raises:
            ExtractionError: for the same reasons as `encode`.
        """
        return sum(pieces.unknown for pieces in self._reader.pieces(texts))

    def batches(self, texts: Sequence[Words]) -> Iterator[list[int]]:
        """See `AttentionModel.batches`. With ``query="all"``, texts encoded together have the same number of pieces.

        Raises:
            ExtractionError: for the same reasons as `encode`.
        """
        return self._reader.batches(texts, unpadded=self.query == "all")

    def encode(self, texts: Sequence[Words], *, gradient: bool = False) -> TransformerState:
        """See `AttentionModel.encode`.

        Raises:
            ExtractionError: a text has too many pieces, or none, or they cannot be matched with words.
            ValueError: ``query`` is ``"all"`` and the texts have different numbers of pieces.
        """
        pieces = self._reader.pieces(texts)
        if self.query == "all" and len({len(p) for p in pieces}) > 1:
            raise ValueError("with query='all' texts read together must have the same number of pieces, see batches()")
        ids, mask = self._encoder.pad(pieces)
        segment_ids = self._encoder.segment_ids(pieces) if self._reads_segments else None
        word_of = self._reader.word_of(pieces)
        with ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled(gradient or torch.is_grad_enabled()))
            seen = stack.enter_context(AttentionPatch(self.layer))
            embedded = stack.enter_context(input_embeddings(self.model, leaf=gradient))
            recorded = stack.enter_context(Recorder(self._layers))
            model_logits(self.model, ids, mask, segment_ids)
            read_at = indices_of(self._position, mask)
            read = seen.weights[torch.arange(len(ids), device=ids.device), :, read_at]
            by_row = read[:, self.heads] if self.query == "cls" else seen.weights[:, self.heads].flatten(1, 2)
            rows, alpha = WordRows.split(by_row, word_of)
        return TransformerState(
            texts=tuple(texts),
            alpha=alpha,
            mask=torch.arange(alpha.shape[-1], device=ids.device) <= word_of.amax(1, keepdim=True),
            embeddings=embedded[-1],
            word_of=word_of,
            pieces=pieces,
            ids=ids,
            inside=mask,
            segment_ids=segment_ids,
            rows=rows,
            read=read,
            at=read_at if self.query == "cls" else None,
            values=seen.values,
            hidden=recorded.inputs[self.layer] if self._layers else None,
            from_embeddings=gradient,
        )

    def attention(self, state: TextState) -> tuple[Float[Tensor, "batch rows n"], Bool[Tensor, "batch n"]]:
        """See `AttentionModel.attention`. Rows are heads, or heads × queries with those of a head in sequence."""
        return state.alpha, state.mask

    def embeddings(self, state: TextState) -> Float[Tensor, "batch positions dim"]:
        """Return the embeddings of the pieces, before positions are added."""
        return state.embeddings

    def decode(self, state: TextState, alpha: Float[Tensor, "batch k rows n"]) -> Float[Tensor, "batch k classes"]:
        """See `AttentionModel.decode`.

        Only the distribution over words is replaced. What all words get together, and each piece's share of its word's
        weight, come from the original attention, and gradients go through them as well. If the state was made
        with ``encode(…, gradient=True)`` and ``alpha`` has no gradient, they are constants instead, so that no gradient
        goes through attention at all.
        """
        state = state_of(state, TransformerState)
        disconnected = state.from_embeddings and not alpha.requires_grad
        remaining = state.rows.detach() if disconnected else state.rows  # all but the distribution over words
        n_positions = 1 if self.way == "one position" else state.ids.shape[1]  # of a text, computed at once
        k_at_a_time = max(1, self._reader.fitting(n_positions) // len(state))  # each text is read once per attention
        renormalize = self.special == "renormalize"
        # Each of these is (batch, k_at_a_time or fewer, rows, pieces).
        weights_of_pieces = (remaining.join(part, renormalize) for part in torch.split(alpha, k_at_a_time, dim=1))
        return torch.cat([self._replaced.logits(state, weights, self.way) for weights in weights_of_pieces], dim=1)

    @torch.no_grad()
    def scores(self, state: TextState) -> Float[Tensor, "batch n"]:
        """Return the mean over the heads of their attention, or of another kind of map of their layer.

        Raises:
            ModelError: the kind of map needs the weights of layers, and this architecture is not registered.
        """
        state = state_of(state, TransformerState)
        if self._maps.kind.name == "weight":
            return (state.rows.total[..., None] * state.alpha).mean(1).detach()
        # The last piece has a row of its own among pieces only; among words it is a part of the last one.
        maps = replace(self._maps, level="token") if self._position == "last" else self._maps
        layer = maps(self._encoder, state.pieces)[0][:, self.layer]
        # Maps of whole blocks, and those that mix heads, have one map for all heads.
        heads = layer[:, self.heads] if layer.shape[1] == self._encoder.n_heads else layer
        return state.scores_in(heads, "last" if self._position == "last" else self.query)

    @torch.no_grad()
    def value_rank(self, state: TextState) -> Int[Tensor, "batch heads"]:
        """Compute the rank of the value vectors of each text in each of the heads.

        If a text has more positions than that, other attention gives the same output (Brunner et al. 2020).
        """
        state = state_of(state, TransformerState)
        inside = state.inside[:, None, :, None]
        rank: Tensor = torch.linalg.matrix_rank(state.values[:, self.heads] * inside)
        return rank

    @torch.no_grad()
    def _choose_way(self) -> None:
        """Check that attention can be replaced, and set the position that is read and the fastest way that works."""
        ids, mask = self._encoder.pad(self._reader.pieces(_PROBE))
        run = functools.partial(model_logits, self.model, ids, mask)
        original = run()
        last_attention = make_replaceable(self.model, run, self._encoder.n_layers, self._label)
        self._position: Position = "first"  # also if all queries are replaced
        if self.query == "cls":
            self._position = position_read(run, original, last_attention, mask, self._label)
        batches = list(self.batches(_PROBE))  # indices of texts, which may be in another order than in `_PROBE`
        original_in_batches = original[[i for batch in batches for i in batch]]
        states = [self.encode([_PROBE[i] for i in batch]) for batch in batches]
        # Two attentions per text: the model's own, and a weight of 1 for every word.
        trials = [
            torch.stack([state.alpha, state.mask[:, None].expand_as(state.alpha).to(state.alpha)], dim=1)
            for state in states
        ]

        def logits_by(way: Way) -> Tensor:
            self.way: Way = way  # for `decode`, until the fastest way is set below
            return torch.cat([self.decode(state, alpha) for state, alpha in zip(states, trials, strict=True)])

        ways: list[Way] = ["from the layer"] if self._layers else []  # besides the whole model, the fastest first
        if ways and self.query == "cls" and self.layer == self._encoder.n_layers - 1:
            ways.insert(0, "one position")
        self.way = fastest_way(ways, logits_by, original_in_batches, self._label)
        self.scores(states[0])  # to raise the error of a kind of map that this model cannot have now
