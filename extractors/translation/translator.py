"""An encoder–decoder that reads sentence pairs and gives its cross-attention, or says clearly why it cannot."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attentionology.corpora_loaders.alignment import SentencePair
from attentionology.corpora_loaders.sample.translation import SAMPLE_TRANSLATOR
from attentionology.extractors.errors import ModelError, cause
from attentionology.extractors.layers import ARCHITECTURES
from attentionology.extractors.layers.cross_attention import CrossBlocks, CrossRecorder, read_cross_attention
from attentionology.extractors.maps.map_batch import FLOAT32_NOISE
from attentionology.extractors.model.conditions import Batching, conditions_of, switch_to_eager
from attentionology.extractors.model.files import LoadedFiles, find_model
from attentionology.extractors.model.float64_copy import float64_twin, in_float64
from attentionology.extractors.model.layer_reading import parameters_key
from attentionology.extractors.model.loading import load_tokenizer, load_translation_model, max_length, on_device
from attentionology.extractors.model.random_copy import random_copy
from attentionology.extractors.model.weights_digest import weights_sha256
from attentionology.extractors.tokens.pieces import Unalignable, prepare_tokenizer
from attentionology.extractors.translation.decoding import ForcedDecoding, check_shapes, find_pair_batching
from attentionology.extractors.translation.running import core, decoder_inputs, run
from attentionology.extractors.translation.sides import (
    PairPieces,
    TokenizerSide,
    decoder_pieces,
    set_languages,
    side_pieces,
)

_TRIED = (("a b c d e f g", "g f e d c b a h"), ("m", "n"))


class Translator:
    """A translation model and its tokenizer, ready to decode given translations.

    The model is put into evaluation mode and switched to eager attention, because other kernels never form the weights.
    Its language-model head is not used: forced decoding needs no predictions.

    Args:
        model: an encoder–decoder, with or without its language-model head.
        tokenizer: its tokenizer, fast or slow.
        name: the name of the model in results.
        files: where it was loaded from, if it was.
        source_language, target_language: the languages of a multilingual model, as its tokenizer names them.
        lead: text that is put before each source sentence, such as ``translate English to German:`` for T5. Its pieces
            are special positions.

    Attributes:
        n_layers, n_heads: the shape of its cross-attention.
        max_length: the largest number of pieces of either side, special tokens included; None if there is no limit.
        batching: which sentence pairs it may read together.

    Raises:
        ModelError: the model is no encoder–decoder or gives no cross-attention, or the tokenizer does not fit.

    Example:
        >>> from attentionology.extractors.translation import load_sample_translator
        >>> load_sample_translator()
        Translator('made-up pair', marian, 2 layers × 4 heads, torch.float32)
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        name: str = "",
        files: LoadedFiles | None = None,
        *,
        source_language: str | None = None,
        target_language: str | None = None,
        lead: str = "",
    ) -> None:
        self.name = name
        if not model.config.is_encoder_decoder:
            raise ModelError(f"{self._label(model)}: it is no encoder–decoder, so it has no cross-attention")
        self.model: Any = model.eval()
        switch_to_eager(model)
        self.tokenizer = prepare_tokenizer(tokenizer) if getattr(tokenizer, "is_fast", False) else tokenizer
        set_languages(self.tokenizer, self._label(model), source=source_language, target=target_language)
        self.files = files or LoadedFiles()
        self.lead = lead
        self._source = TokenizerSide(tokenizer, is_target=False, lead=lead)
        self._target = TokenizerSide(tokenizer, is_target=True)
        self.max_length = max_length(model)
        self._blocks: tuple[Any, CrossBlocks] | None = None
        self._double: tuple[Any, Translator] | None = None
        tried = self._tried()
        self.n_layers, self.n_heads = len(tried[0].attentions), tried[0].attentions[0].shape[1]
        self.batching: Batching = find_pair_batching(self._label(model), *tried)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path,
        *,
        revision: str | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        source_language: str | None = None,
        target_language: str | None = None,
        lead: str = "",
    ) -> Translator:
        """Load a model from a folder or from the Hugging Face Hub.

        Args:
            name_or_path: a folder with ``config.json`` and ``*.safetensors``, or a Hub id.
            revision: a branch, tag or commit on the Hub.
            device: the device to compute on.
            dtype: the type of weights and maps, float32 or float64.
            source_language, target_language, lead: see the class.

        Raises:
            ValueError: ``dtype`` is another type.
            ModelError: the model cannot be found or loaded, has no safetensors, or gives no cross-attention.
        """
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"dtype must be torch.float32 or torch.float64, not {dtype}")
        files = find_model(name_or_path, revision)
        tokenizer = load_tokenizer(files)
        model, files = load_translation_model(files, dtype=dtype)
        name = Path(name_or_path).resolve().name if files.endpoint is None else files.name
        languages = {"source_language": source_language, "target_language": target_language}
        return cls(on_device(model, device), tokenizer, name, files, **languages, lead=lead)

    def __repr__(self) -> str:
        return f"Translator({self.name!r}, {self.family}, {self.n_layers} layers × {self.n_heads} heads, {self.dtype})"

    @property
    def family(self) -> str:
        """The architecture, by its name in transformers (``model_type``)."""
        return str(self.model.config.model_type)

    @property
    def device(self) -> torch.device:
        """The device that the model computes on."""
        return torch.device(next(self.model.parameters()).device)

    @property
    def dtype(self) -> torch.dtype:
        """The type that the model computes in."""
        parameters: list[Tensor] = list(self.model.parameters())
        return next(p.dtype for p in reversed(parameters) if p.is_floating_point())

    @property
    def noise(self) -> float:
        """The relative difference below which two float32 values must not be compared, see `MapBatch.exact`."""
        row = ARCHITECTURES.get(self.family)
        return FLOAT32_NOISE if row is None or row.cross is None else row.cross.noise

    @property
    def warnings(self) -> list[str]:
        """What a user should know before reading the numbers, one sentence each."""
        return [*self.files.warnings, *conditions_of(self.model, self.batching)]

    @property
    def double(self) -> Translator:
        """The same model in float64, see `attentionology.extractors.model.float64_copy`."""
        if self.dtype == torch.float64:
            return self
        key = tuple(id(parameter) for parameter in self.model.parameters())
        if self._double is None or self._double[0] != key:
            self._double = key, _Float64Translator(float64_twin(self.model), self.tokenizer, self.name, lead=self.lead)
        return self._double[1]

    @property
    def blocks(self) -> CrossBlocks:
        """The cross-attention blocks with their weights, which are read again after the parameters have changed.

        Raises:
            ModelError: the architecture has no row of names for cross-attention, or the row does not fit.
        """
        key = parameters_key(self.model)
        if self._blocks is None or self._blocks[0] != key:
            self._blocks = key, read_cross_attention(core(self.model), self.n_layers, self.n_heads)
        return self._blocks[1]

    def random_init(self, seed: int) -> Translator:
        """Make a copy with random weights that keeps the embedding tables, see `Encoder.random_init`."""
        random = random_copy(self.model, seed, self.dtype).to(self.device)
        return Translator(random, self.tokenizer, f"{self.name} random-init seed {seed}", lead=self.lead)

    def weights_sha256(self) -> str:
        """Compute a SHA-256 of names, shapes, types and bytes of all weights, independent of how they were stored."""
        return weights_sha256(self.model, self.files.untrained)

    def align(self, pairs: Iterable[SentencePair]) -> list[PairPieces | Unalignable]:
        """Tokenize sentence pairs word by word, see `attentionology.extractors.translation.sides`.

        Raises:
            ModelError: the model's decoder inputs do not hold the pieces of a translation.
        """
        aligned: list[PairPieces | Unalignable] = []
        shift = functools.partial(decoder_inputs, self.model)
        for pair in pairs:
            try:
                source = side_pieces(self._source, pair.source)
                aligned.append(PairPieces(source, decoder_pieces(self._target, pair.words, shift, self._end)))
            except Unalignable as reason:
                aligned.append(reason)
        return aligned

    @torch.inference_mode()
    def decode(self, batch: Sequence[PairPieces], *, values: bool = False) -> ForcedDecoding:
        """Run one forward pass over sentence pairs, padded on the right to the longest on either side.

        Args:
            batch: the pieces of each pair.
            values: whether to keep what value vectors are recomputed from, and verify that.

        Raises:
            ModelError: the model cannot read the batch or a layer gives no cross-attention; with ``values``, for the
                same reasons as `blocks`.
        """
        source, source_mask = self._padded([pair.source.ids for pair in batch])
        target, target_mask = self._padded([pair.target.ids for pair in batch])
        inputs = {"input_ids": source, "attention_mask": source_mask.long(), "decoder_input_ids": target}
        inputs |= {"decoder_attention_mask": target_mask.long()}
        blocks = self.blocks if values else None
        recorder = CrossRecorder(blocks or CrossBlocks((), (), time_first=False, family=self.family))
        try:
            with recorder as recorded:
                output = run(self.model, inputs)
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # whatever a model raises, it is the model that cannot be used
            pieces = f"{source.shape[1]} source and {target.shape[1]} target pieces"
            raise ModelError(f"{self._label(self.model)}: the model cannot read {pieces} ({cause(error)})") from error
        attentions = output.attentions
        check_shapes(
            attentions, self.model.config, (len(batch), target.shape[1], source.shape[1]), self._label(self.model)
        )
        return ForcedDecoding(
            attentions, source_mask, target_mask, output.encoded if values else None, recorded.outputs, blocks
        )

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        pad = self.model.config.pad_token_id
        n = max(map(len, rows))
        ids, mask = torch.full((len(rows), n), 0 if pad is None else pad), torch.zeros(len(rows), n, dtype=torch.bool)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = torch.tensor(row)
            mask[index, : len(row)] = True
        return ids.to(self.device), mask.to(self.device)

    @property
    def _end(self) -> int:
        """The token that ends labels for which the tokenizer puts none at the end."""
        end = self.tokenizer.eos_token_id
        return int(self.model.config.eos_token_id if end is None else end)

    def _tried(self) -> list[ForcedDecoding]:
        """Decode two short pairs together, and then each by itself."""
        pairs = [SentencePair(id=s, source=tuple(s.split()), words=tuple(t.split())) for s, t in _TRIED]
        pieces = [pair for pair in self.align(pairs) if isinstance(pair, PairPieces)]
        if len(pieces) < len(pairs):
            raise ModelError(f"{self._label(self.model)}: the tokenizer has no pieces for letters and no unknown token")
        return [self.decode(pieces), self.decode(pieces[:1]), self.decode(pieces[1:])]

    def _label(self, model: Any) -> str:
        return self.name or str(model.config.model_type)


def load_sample_translator() -> Translator:
    """Load the small translation model of the sample.

    Example:
        >>> from attentionology.extractors.translation import load_sample_translator
        >>> load_sample_translator().n_heads
        4
    """
    translator = Translator.from_pretrained(SAMPLE_TRANSLATOR)
    translator.name = "made-up pair"
    return translator


class _Float64Translator(Translator):
    """A translator around a float64 copy, whose parameters are stored in another type than it computes in."""

    @property
    def device(self) -> torch.device:
        """The device that the copy computes on, which is not that of its parameters if that has no float64."""
        return in_float64(torch.zeros(0, device=super().device)).device

    @property
    def dtype(self) -> torch.dtype:
        """The type that the copy computes in."""
        return torch.float64

    @property
    def blocks(self) -> CrossBlocks:
        """The blocks with their weights, read anew each time, because they are copies, which must not go stale."""
        return read_cross_attention(core(self.model), self.n_layers, self.n_heads)
