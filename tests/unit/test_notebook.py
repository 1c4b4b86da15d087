"""Live pages in cells of notebooks: when there is one, who may frame it, and when it ends."""

from __future__ import annotations

import os
import re
import sys
from types import SimpleNamespace

import pytest
import torch

import attentionology
from attentionology import Sentence, explore, extract
from attentionology.corpora_loaders import Corpus
from attentionology.engine.results.live import is_local_notebook
from attentionology.engine.serving import notebook
from attentionology.engine.serving.live_model import lock_of
from attentionology.extractors.replaceable.heads_off import switch_off
from tests import tiny
from tests.serving import DRAW, Page

SENTENCE = Sentence("s1", ("The", "keys", "."))


@pytest.fixture
def kernel(monkeypatch):
    """A kernel whose browser is on this machine."""
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(os, "environ", {})
    yield shell
    notebook.stop_all()


def address_in(cell: str) -> str:
    [address] = re.findall(r'href="(.*?)"', cell)
    return str(address)


def test_only_a_kernel_on_this_machine_shows_a_live_page(kernel):
    assert is_local_notebook({})
    assert not is_local_notebook({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
    kernel.kernel = None  # a terminal
    assert not is_local_notebook({})
    del sys.modules["IPython"]
    assert not is_local_notebook({})


def test_a_cell_is_a_frame_of_what_the_kernel_serves(kernel):
    view = explore("The keys are here.", model=tiny.encoder("bert"))
    cell = view._repr_html_()
    assert len(cell) < 4000
    page = Page(address_in(cell))
    status, headers, bench = page.raw("GET", f"/{page.token}/bench.json")
    assert (status, b"keys" in bench) == (200, True)
    policy = headers["content-security-policy"]
    assert policy.endswith(
        "; frame-ancestors http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:*"
    )
    assert "x-frame-options" not in headers
    assert page.ask("draw", DRAW)[0] == 200
    # The notebook around the frame is a page of another site.
    around = {"Origin": "http://localhost:8888", "Content_Length": "2"}
    assert page.raw("POST", f"/{page.token}/draw", b"{}", **around)[0] == 403
    assert page.raw("GET", "/bench.json")[0] == 403
    assert page.raw("GET", f"/{page.token}/", Host="example.com")[0] == 421
    again = view._repr_html_()
    assert address_in(again) == address_in(cell)
    assert len({re.search('id="(.*?)"', each)[1] for each in (cell, again)}) == 2  # type: ignore[index]
    notebook.stop_all()
    with pytest.raises(OSError, match=r".*"):
        page.raw("GET", f"/{page.token}/")


def test_sentences_of_a_cell_are_drawn_again_without_heads(kernel):
    page = Page(address_in(explore("The keys are here.", model=tiny.encoder("bert"))._repr_html_()))
    name = page.raw("GET", f"/{page.token}/bench.json")[2].decode().split('"sentences":[{"id":"')[1].split('"')[0]
    request = {"slot": "A", "model": 0, "run": 0, "sentence": name, "kinds": ["weight"], "off": ["1-1"]}
    status, answer = page.ask("draw", request)
    assert (status, len(answer["sentences"][0]["sentence"]["rows"])) == (200, 7)


def test_a_server_changes_no_modules_of_the_model_that_it_was_given(kernel):
    """A cell is drawn without heads in a thread of the server, while the kernel may count with the model."""
    encoder = tiny.encoder("bert")
    explore("The keys are here.", model=encoder)._repr_html_()
    [(_, serving)] = notebook._SERVED.values()
    [model] = [loaded.model.encoder for loaded in serving.service.models]
    [before] = (batch.maps for batch in extract(encoder, [SENTENCE]))
    with switch_off(model.model, [(0, 0), (1, 2)], model.n_heads):
        [after] = (batch.maps for batch in extract(encoder, [SENTENCE]))
        [without] = (batch.maps for batch in extract(model, [SENTENCE]))
    assert torch.equal(before, after)
    assert not torch.equal(before, without)
    assert [p.data_ptr() for p in model.model.parameters()] == [p.data_ptr() for p in encoder.model.parameters()]


def test_runs_of_one_model_share_it_and_take_turns(kernel, tmp_path):
    one, same, other = (tiny.save(tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    cells = []
    for model, text in ((one, "The keys are here."), (one, "A key is here."), (same, "Here."), (other, "Here.")):
        run = attentionology.analyze(model, Corpus((Sentence("a", tuple(text.split())),)), analyses="surface")
        cells.append(run.explore()._repr_html_())
    assert len({address_in(cell) for cell in cells}) == 4
    assert [Page(address_in(cell)).ask("draw", DRAW)[0] for cell in cells] == [200] * 4
    services = [serving.service for _, serving in notebook._SERVED.values()]
    first, second, *others = (service.models[0].model.encoder for service in services)
    assert first is second
    assert len({id(each) for each in (first, *others)}) == 3  # another folder may have another tokenizer
    assert [service._turns[0]._lock for service in services[:2]] == [lock_of(first)] * 2


def test_what_cannot_be_served_is_shown_as_it_is_stored(kernel, monkeypatch):
    encoder = tiny.encoder("bert")
    corpus = Corpus((Sentence("a", ("The", "keys")),))
    run = attentionology.analyze(encoder, corpus, analyses="surface")
    with pytest.warns(UserWarning, match="shows what is stored"):  # its model is no file
        cell = run.explore()._repr_html_()
    assert "iframe" not in cell.split("attentionology.mount")[-1]
    stored = explore("The keys are here.", model=encoder, live=False)
    assert stored.live is None
    assert "attentionology.mount" in stored._repr_html_()
    monkeypatch.setattr(os, "environ", {"COLAB_RELEASE_TAG": "1"})
    assert explore("The keys are here.", model=encoder).live is None
