"""An encoder–decoder that reads sentence pairs and gives its cross-attention, or says clearly why it cannot."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

from ...corpora_loaders.alignment import SentencePair
from ...corpora_loaders.sample.translation import SAMPLE_TRANSLATOR
from ..errors import ModelError
from ..kinds.registry import FLOAT32_NOISE
from ..layers import ARCHITECTURES
from ..layers.architectures import CrossAttention
from ..layers.verification import Recorder
from ..maps.map_batch import MapBatch
from ..model.conditions import SAME, check_full_attention, max_length, same_attention, switch_to_eager
from ..model.files import LoadedFiles
from ..model.loaded_model import LoadedModel, random_copy
from ..model.loading import load_pretrained
from ..tokens.pieces import PairPieces, Unalignable
from ..tokens.tokenizer import prepare_tokenizer
from .cross_maps import CrossMapMaker, cross_map_batches
from .decoding import CrossBlocks, ForcedDecoding, core, cross_attention_only, decoder_inputs, read_cross_attention, run
from .sides import TokenizerSide, decoder_pieces, set_languages

SAME_IN_FLOAT64 = 1e-12
"""The largest difference between attention weights in float64 that is taken for rounding."""

_TRIED = (
    SentencePair(id="long", source=tuple("abcdefg"), words=tuple("gfedcbah")),
    SentencePair(id="short", source=("m",), words=("n",)),
)


class Translator(LoadedModel):
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
        ModelError: the model is not an encoder–decoder, or gives no cross-attention, or the tokenizer does not fit.

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
        if not model.config.is_encoder_decoder:
            label = name or model.config.model_type
            raise ModelError(f"{label}: it is not an encoder–decoder, so it has no cross-attention")
        prepared = prepare_tokenizer(tokenizer) if getattr(tokenizer, "is_fast", False) else tokenizer
        super().__init__(model, prepared, name, files)
        switch_to_eager(model)
        set_languages(self.tokenizer, self.label, source=source_language, target=target_language)
        self.lead = lead
        self._source = TokenizerSide(tokenizer, is_target=False, lead=lead)
        self._target = TokenizerSide(tokenizer, is_target=True)
        self.max_length = max_length(model)
        pieces = [pair for pair in self.align(_TRIED) if isinstance(pair, PairPieces)]
        if len(pieces) < len(_TRIED):
            raise ModelError(f"{self.label}: the tokenizer has no pieces for letters and no unknown token")
        alone = [attentions for pair in pieces for attentions in self._attention(pair)]
        if not all(bool(alpha.isfinite().all()) for attentions in alone for alpha in attentions):
            raise ModelError(f"{self.label}: its cross-attention is NaN or infinite")
        self.n_layers, self.n_heads = len(alone[0]), alone[0][0].shape[0]
        most = SAME if self.dtype == torch.float32 else SAME_IN_FLOAT64
        self.batching = "padded" if same_attention(self._attention(*pieces), alone, most) else "one by one"

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
            name_or_path, revision, device: see `attentionology.Encoder.from_pretrained`.
            dtype: the type of weights and maps, float32 or float64.
            source_language, target_language, lead: see the class.

        Raises:
            ValueError: ``dtype`` is another type.
            ModelError: the model cannot be found or loaded, has no weights that are read, or gives no cross-attention.
        """
        return cls(
            *load_pretrained(transformers.AutoModelForSeq2SeqLM, name_or_path, revision, device, dtype, decoder=True),
            source_language=source_language,
            target_language=target_language,
            lead=lead,
        )

    @property
    def shape(self) -> str:
        """The shape of its cross-attention, in words."""
        return f"{super().shape} of cross-attention"

    @property
    def noise(self) -> float:
        """The relative difference below which two float32 values must not be compared, see `MapBatch.exact`."""
        return FLOAT32_NOISE if self._names is None else self._names.noise

    @property
    def _names(self) -> CrossAttention | None:
        """The names of the modules of cross-attention; None if they are not known."""
        row = ARCHITECTURES.get(self.family)
        return None if row is None else row.cross

    @property
    def blocks(self) -> CrossBlocks:
        """The cross-attention blocks with their weights, which are read again after the parameters have changed.

        Raises:
            ModelError: the architecture has no row of names for cross-attention, or the row does not fit.
        """
        read = functools.partial(read_cross_attention, core(self.model), self.n_layers, self.n_heads)
        # Of a view, the weights are copies, which must not go stale.
        blocks: CrossBlocks = read() if self.held is not self.model else self._up_to_date(read)
        return blocks

    def random_init(self, seed: int) -> Translator:
        """Make a copy with random weights that keeps the embedding tables, see `Encoder.random_init`."""
        random = random_copy(self.model, seed, self.dtype).to(self.device)
        return Translator(random, self.tokenizer, f"{self.name} random-init seed {seed}", lead=self.lead)

    def align(self, pairs: Iterable[SentencePair]) -> list[PairPieces | Unalignable]:
        """Tokenize sentence pairs word by word, see `attentionology.extractors.translation.sides`.

        Raises:
            ModelError: the model's decoder inputs do not hold the pieces of a translation.
        """
        aligned: list[PairPieces | Unalignable] = []
        shift = functools.partial(decoder_inputs, self.model)
        eos = self.tokenizer.eos_token_id
        end = int(self.model.config.eos_token_id if eos is None else eos)
        for pair in pairs:
            try:
                source = self._source.frame(pair.source, self._source.prefix, self._source.suffix)
                aligned.append(PairPieces(source, decoder_pieces(self._target, pair.words, shift, end)))
            except Unalignable as reason:
                aligned.append(reason)
        return aligned

    @torch.inference_mode()
    def decode(self, batch: Sequence[PairPieces], *, values: bool = False, depth: int | None = None) -> ForcedDecoding:
        """Run one forward pass over sentence pairs, padded on the right to the longest on either side.

        Args:
            batch: the pieces of each pair.
            values: whether to keep what value vectors are recomputed from, and verify that.
            depth: the number of decoder layers to run; None for all. All are run if the names of the decoder's layers
                are not known.

        Raises:
            ModelError: the model cannot read the batch or a layer gives no cross-attention; with ``values``, for the
                same reasons as `blocks`.
        """
        pad = self.model.config.pad_token_id
        source, source_mask = self._pad([pair.source.ids for pair in batch], pad)
        target, target_mask = self._pad([pair.target.ids for pair in batch], pad)
        inputs = {
            "input_ids": source,
            "attention_mask": source_mask.long(),
            "decoder_input_ids": target,
            "decoder_attention_mask": target_mask.long(),
        }
        blocks = self.blocks if values else None
        recorder = Recorder(blocks.modules if blocks else ())
        pieces = f"{source.shape[1]} source and {target.shape[1]} target pieces"
        shortened_decoder = cross_attention_only(self.model, self._names, depth)
        with self._explain_errors(pieces), recorder as recorded, shortened_decoder as layers_left:
            attentions, encoded = run(self.model, inputs)
        config = self.model.config
        all_layers = getattr(config, "num_decoder_layers", None) or getattr(config, "decoder_layers", None)
        n_layers = layers_left or all_layers or len(attentions)
        shape = len(batch), target.shape[1], source.shape[1]
        check_full_attention(self.model, attentions, shape, self.label, n_layers, "cross-attention")
        outputs = recorded.outputs
        if blocks and blocks.time_first:
            outputs = [output.transpose(0, 1) for output in outputs]
        return ForcedDecoding(attentions, source_mask, target_mask, encoded if values else None, outputs, blocks)

    def maps(
        self,
        makers: Sequence[CrossMapMaker],
        pairs: Sequence[SentencePair],
        pieces: Sequence[PairPieces],
        depth: int | None = None,
    ) -> list[MapBatch]:
        """Return what several makers make of one pass over sentence pairs, see `PairBatch.maps` and `decode`."""
        values = any(maker.map_kind.reads_weights for maker in makers)
        forward = self.decode(pieces, values=values, depth=depth)
        return cross_map_batches(makers, forward, pairs, pieces, self.label, self.noise)

    def _attention(self, *batch: PairPieces) -> list[list[Tensor]]:
        """Return the cross-attention to each pair of a padded batch, layer by layer, without the padding."""
        attentions = self.decode(batch).attentions
        return [[a[row, :, : len(p.target), : len(p.source)] for a in attentions] for row, p in enumerate(batch)]

    def _with_model(self, twin: Any) -> Translator:
        return Translator(twin, self.tokenizer, self.name, lead=self.lead)


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
