"""The analysis of what changes without a head: effects, tables, curves, and what is shown of them."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import spearmanr

from attentionology import analyze
from attentionology.analyses import AblationOptions
from attentionology.analyses.ablation.analysis import SCHEMAS
from attentionology.analyses.ablation.effects import AblationMaker, EffectBatch, HeadMeans
from attentionology.analyses.ablation.heads import HeadEffects, heads_figure, heads_table
from attentionology.analyses.ablation.pruning import orders, pruning_figure, steps
from attentionology.analyses.ablation.relations import conclusion, joint_p, relations_table
from attentionology.analyses.contract import OptionError
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Sentence, Treebank, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import shared_batches
from attentionology.extractors.maps.shared_pass import mask_pieces
from tests import tiny
from tests.shown_tables import assert_declared

SENTENCES = [sentence for sentence in load_treebank(SAMPLE_TREEBANK) if len(sentence.words) <= 9][:12]
TREEBANK = Treebank(tuple(SENTENCES))
EVERY_HEAD = tuple((layer, head) for layer in range(3) for head in range(4))


@pytest.fixture(scope="module")
def encoder():
    return tiny.randomize("bert")


def words_of(encoder, model, sentence):
    """The final vector of each word, the mean over its pieces, one sentence alone."""
    pieces = tiny.pieces(encoder, sentence)
    with torch.inference_mode():
        vectors = model(input_ids=torch.tensor([pieces.ids]))[0][0].double().numpy()
    return np.array([vectors[[w == word for w in pieces.word_of]].mean(0) for word in range(len(sentence.words))])


def without(model, layer, head, given=0.0):
    """A copy of a BERT in which a head gives a constant: no values, and the output bias takes what it gives."""
    edited = copy.deepcopy(model)
    attention = edited.encoder.layer[layer].attention
    rows = slice(6 * head, 6 * head + 6)
    with torch.no_grad():
        attention.self.value.weight[rows] = 0
        attention.self.value.bias[rows] = torch.as_tensor(given, dtype=attention.self.value.bias.dtype)
    return edited


def changes(plain, changed):
    """1 − cos and the relative l2 of the final vector of each word, in another model and in that of the encoder."""
    for a, b in zip(plain, changed, strict=True):
        yield 1 - a @ b / np.sqrt((a @ a) * (b @ b)), np.linalg.norm(b - a) / np.linalg.norm(a)


def effects_by_hand(encoder, given=None, heads=EVERY_HEAD):
    """cos and l2 of each word and head, from models whose weights are edited: {head: [(sentence, word, 1−cos, l2)]}."""
    plain = [words_of(encoder, encoder.model, sentence) for sentence in SENTENCES]
    found = {}
    for layer, head in heads:
        model = without(encoder.model, layer, head, 0.0 if given is None else given[layer, head])
        found[layer, head] = [
            (number, word, *change)
            for number, sentence in enumerate(SENTENCES)
            for word, change in enumerate(changes(plain[number], words_of(encoder, model, sentence)))
        ]
    return found


def metric_of(encoder, **changes):
    maker = AblationMaker(EVERY_HEAD, 3, **changes)
    relations = {relation: 1 for sentence in SENTENCES for relation in sentence.relations}
    metric = HeadEffects(EVERY_HEAD, tuple(relations), maker.measures)
    for batch in shared_batches(encoder, SENTENCES, batch_cells=400):
        metric.update(maker.of(batch))
    return metric


@pytest.mark.parametrize("means", [False, True])
def test_effects_are_those_of_edited_weights(encoder, means):
    """A sum over heads of αV + b: with rows of attention that sum to 1, a value bias is given at every position."""
    given = HeadMeans(SENTENCES) if means else None
    fill = given.of(encoder).numpy() if given else None
    if fill is not None:  # the means themselves, over all pieces of all sentences
        sums, n = np.zeros((3, 24)), 0
        for sentence in SENTENCES:
            kept: list[torch.Tensor] = []
            hooks = [
                layer.attention.output.dense.register_forward_pre_hook(lambda _, x, kept=kept: kept.append(x[0][0]))
                for layer in encoder.model.encoder.layer
            ]
            words_of(encoder, encoder.model, sentence)
            for hook in hooks:
                hook.remove()
            sums, n = sums + np.array([each.sum(0).numpy() for each in kept]), n + len(kept[0])
        np.testing.assert_allclose(fill.reshape(3, 24), sums / n, atol=1e-6)
    by_hand = effects_by_hand(encoder, fill)
    metric = metric_of(encoder, means=given)
    effects = metric.compute()
    for number, head in enumerate(EVERY_HEAD):
        rows = by_hand[head]
        np.testing.assert_allclose(effects.mean[0, number], np.mean([row[2:] for row in rows], axis=0), atol=2e-6)
        for group, (by, name) in enumerate(metric.groups):
            annotated = {"relation": "relations", "tag": "tags"}.get(by)
            of_group = [r[2:] for r in rows if annotated and getattr(SENTENCES[r[0]], annotated)[r[1]] == name]
            if of_group:
                assert effects.items[group] == len(of_group)
                np.testing.assert_allclose(effects.mean[group, number], np.mean(of_group, axis=0), atol=2e-6)


def test_intervals_are_those_of_a_bootstrap_over_sentences():
    rng = np.random.default_rng(0)
    sentences = [replace(SENTENCES[0], id=f"s{k}", words=SENTENCES[0].words) for k in range(200)]
    metric = HeadEffects(((0, 0), (0, 1), (0, 2)), (), ("cosine",))
    sizes = rng.integers(1, 6, 200)
    values = [rng.normal(rng.normal(0.5, 0.3), 0.1, (n, 3, 1)) + [[[0.2]], [[0.0]], [[0.1]]][0] for n in sizes]
    for start in (0, 120):
        some = range(start, 120 if start == 0 else 200)
        metric.update(
            EffectBatch(
                torch.tensor(np.concatenate([values[k] for k in some])),
                torch.tensor(np.repeat(range(len(some)), sizes[list(some)])),
                torch.zeros(int(sizes[list(some)].sum()), dtype=torch.int64),
                tuple(sentences[k] for k in some),
            )
        )
    effects = metric.compute()
    totals = np.array([each.sum((0, 2)) for each in values])
    draws = rng.integers(0, 200, (4000, 200))
    drawn = totals[draws].sum(1) / sizes[draws].sum(1)[:, None]
    for head in range(3):
        low, high = np.quantile(drawn[:, head], [0.025, 0.975])
        assert effects.low[0, head, 0] == pytest.approx(low, abs=0.1 * (high - low))
        assert effects.high[0, head, 0] == pytest.approx(high, abs=0.1 * (high - low))
        others = [other for other in range(3) if other != head]
        difference = drawn[:, head] - drawn[:, others].mean(1)
        assert effects.difference[0, head, 0] == pytest.approx(
            totals[:, head].sum() / sizes.sum() - totals[:, others].sum() / sizes.sum() / 2, abs=1e-8
        )
        low, high = np.quantile(difference, [0.025, 0.975])
        assert effects.difference_low[0, head, 0] == pytest.approx(low, abs=0.1 * (high - low))
        assert effects.difference_high[0, head, 0] == pytest.approx(high, abs=0.1 * (high - low))


@pytest.fixture(scope="module")
def planted():
    """A masked-LM whose only head with values is 2-3: it copies what stands at [SEP] into every position."""
    encoder = tiny.randomize("bert")
    encoder.tokenizer.mask_token = "[MASK]"
    head = tiny.language_model(encoder, "MaskedLM")
    for layer, number in EVERY_HEAD:
        if (layer, number) != (1, 2):
            head.bert = without(head.bert, layer, number)
    encoder.model.load_state_dict(head.bert.state_dict(), strict=False)
    return encoder, head


def test_losses_and_importance_are_those_of_the_model(planted):
    """−log p of the masked pieces by the model alone, and z · ∂L/∂z by the change of L with a factor on the head."""
    encoder, head = planted
    metric = metric_of(encoder, lm=head)
    maker = AblationMaker(EVERY_HEAD, 3, lm=head)
    edited = copy.deepcopy(head)
    edited.bert = without(head.bert, 1, 2)
    total, products = [], []
    for sentence in SENTENCES:
        (batch,) = shared_batches(encoder, [sentence])
        found = maker.of(batch)
        masked, at = mask_pieces(encoder, batch.pieces[0], 0.15, f"0 {sentence.id}", one_at_least=True)
        assert len(at) == len(found.values)

        def loss(model, ids=masked.ids, at=at, gold=batch.pieces[0].ids):
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([ids])).logits[0].double()
            return [float(-torch.log_softmax(logits[i], 0)[gold[i]]) for i in at]

        total += [b - a for a, b in zip(loss(head), loss(edited), strict=True)]
        scaled = []
        for factor in (1.01, 0.99):
            model = copy.deepcopy(head)
            with torch.no_grad():
                model.bert.encoder.layer[1].attention.self.value.weight[12:18] *= factor
                model.bert.encoder.layer[1].attention.self.value.bias[12:18] *= factor
            scaled.append(np.mean(loss(model)))
        products.append(abs(scaled[0] - scaled[1]) / 0.02)
    number = EVERY_HEAD.index((1, 2))
    assert metric.compute().mean[0, number, 0] == pytest.approx(np.mean(total), abs=1e-6)
    importance = metric.mean_importance()
    assert importance is not None
    assert importance[number] == pytest.approx(np.mean(products), rel=0.02, abs=1e-5)


@pytest.fixture(scope="module")
def run(encoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation") / "run"
    options = [AblationOptions(pruning_sentences=3), CountOptions(min_count=5, replicates=20)]
    return analyze(encoder, TREEBANK, analyses=("dependency", "ablation"), options=options, out=folder), folder


def test_relations_compare_the_best_head_with_its_layer(run):
    results, folder = run
    tables, best = results["ablation"].tables, results["dependency"].best.set_index("relation")
    groups, cells = pd.read_csv(folder / "tables/ablation_groups.csv"), results["dependency"].cells
    rows = tables.relations[tables.relations["effect"] == "l2"]
    assert len(rows) >= 3
    assert "root" not in set(rows["relation"])
    for row in rows.to_dict("records"):
        assert (row["layer"], row["head"]) == tuple(best.loc[str(row["relation"]), ["layer", "head"]])
        of_words = groups[(groups["by"] == "relation") & (groups["group"] == row["relation"])]
        layer = of_words[of_words["layer"] == row["layer"]].set_index("head")["l2"]
        assert row["value"] == pytest.approx(layer[row["head"]])
        assert row["others"] == pytest.approx(layer.drop(row["head"]).mean())
        assert row["rank"] == (layer > layer[row["head"]]).sum() + 1
        assert row["p"] == (layer >= layer[row["head"]]).mean()
        accuracy = cells[cells["relation"] == row["relation"]].groupby(["layer", "head"])["accuracy"].max()
        expected = spearmanr(accuracy, of_words.set_index(["layer", "head"])["l2"].reindex(accuracy.index)).statistic
        assert row["rho"] == pytest.approx(expected, nan_ok=True)
        assert row["sentences"] == sum(row["relation"] in sentence.relations for sentence in SENTENCES)
    assert (results["ablation"].min_count, set(tables.summary["relations"])) == (5, {0})  # there are twelve sentences
    assert "fewer than 5 words, or fewer than 30 sentences with them" in conclusion(results["ablation"])
    everywhere = groups[groups["by"] == "all"].set_index(["layer", "head"])["l2"]
    assert [everywhere[layer, head] for layer, head in zip(rows["layer"], rows["head"], strict=True)] == pytest.approx(
        rows["everywhere"].tolist()
    )


def test_what_is_shown_is_what_the_tables_say(run):
    results, folder = run
    found = results["ablation"]
    shown = relations_table(found)
    by_heading = {column.heading: column for column in shown.columns}
    for row in shown.rows:
        assert row["effect"] == "cosine"
        assert by_heading["other heads"].text(row) == f"{row['others']:.4f}"
        assert by_heading["difference"].text(row) == f"{row['difference']:.4f}"
        assert by_heading["rank"].text(row) == f"{row['rank']} of 4"
    top = heads_table(found).rows
    values = [row["cosine"] for row in top]
    assert values == sorted(found.tables.heads["cosine"], reverse=True)[: len(values)]
    figure = heads_figure(found.tables.heads, "cosine")
    image = figure.axes[0].collections[0]
    expected = found.tables.heads.pivot_table("cosine", "layer", "head").to_numpy()
    np.testing.assert_allclose(np.asarray(image.get_array()), expected.ravel())
    assert figure.axes[0].get_ylim()[0] > 0, "layer 1 is on top"
    assert "ablation/cosine" in (folder / "report.html").read_text()
    tables = {schema.name: pd.read_csv(folder / "tables" / f"{schema.name}.csv") for schema in SCHEMAS}
    numbers = [
        f"{name}{end}" for name in ("cosine", "l2", "value", "difference", "lead") for end in ("", "_low", "_high")
    ]
    assert_declared(
        tables, SCHEMAS, [*numbers, "others", "everywhere", "rho", "mean_rank", "rho_accuracy", "low", "high"]
    )


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0.01, "heads that find relations have a larger effect"),
        (0.2, "it was not shown that heads that find relations have a larger effect"),
    ],
)
def test_the_conclusion_hangs_on_the_joint_test(run, p, said):
    results, _ = run
    found = results["ablation"]
    tables = replace(found.tables, summary=found.tables.summary.assign(p=p, mean_rank=0.25, above=2, relations=3))
    text = conclusion(replace(found, tables=tables))
    assert text.startswith(f"2 of 3 relations have a head with an effect above the mean of its layer: {said} on")
    assert text.endswith(f"(mean relative rank 0.25, where 0.5 is chance; p = {p:.4f}).")


def test_the_joint_test_shuffles_heads_within_layers():
    """Two layers of three heads: all assignments can be listed."""
    rows: list[dict[str, Any]] = [
        {"layer": 1, "place": 0, "all_ranks": [0.0, 0.5, 1.0]},
        {"layer": 1, "place": 0, "all_ranks": [0.0, 1.0, 0.5]},
        {"layer": 2, "place": 2, "all_ranks": [1.0, 0.5, 0.0]},
    ]
    mean, p = joint_p(rows, 0)
    means = [
        (rows[0]["all_ranks"][i] + rows[1]["all_ranks"][i] + rows[2]["all_ranks"][j]) / 3
        for i in range(3)
        for j in range(3)
    ]
    assert mean == 0
    assert p == pytest.approx(np.mean(np.array(means) <= mean), abs=0.01)


def test_curves_are_those_of_heads_that_are_off_together(run, encoder):
    results, _ = run
    curves = results["ablation"].pruning
    effect = results["ablation"].tables.heads["cosine"].to_numpy()
    order = orders(EVERY_HEAD, effect, None, 0)
    assert [effect[EVERY_HEAD.index(head)] for head in order["effect", 0]] == sorted(effect)
    assert order["reverse", 0] == order["effect", 0][::-1]
    assert steps(12) == [0, 1, 2, 4, 5, 6, 7, 8, 10, 11]
    fill = HeadMeans(SENTENCES).of(encoder).numpy()
    for name, n in (("effect", 4), ("reverse", 5)):
        model = encoder.model
        for layer, head in order[name, 0][:n]:
            model = without(model, layer, head, fill[layer, head])
        values = []
        for sentence in SENTENCES[:3]:
            plain, changed = (words_of(encoder, each, sentence) for each in (encoder.model, model))
            values += [cosine for cosine, _ in changes(plain, changed)]
        rows = curves[(curves["order"] == name) & (curves["heads"] == n) & (curves["effect"] == "cosine")]
        assert rows["value"].item() == pytest.approx(np.mean(values), abs=2e-6)
        assert rows["total"].item() == len(values)
    figure = pruning_figure(curves, "cosine")
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    expected = curves[(curves["order"] == "reverse") & (curves["effect"] == "cosine")]["value"]
    np.testing.assert_allclose(np.asarray(lines["largest effect first"]), expected)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (AblationOptions(ablate_heads=("4-1",)), "there is no head 4-1; the model has 3 layers of 4 heads"),
        (AblationOptions(ablate_heads="3-9"), r'--ablate-heads takes several names: \("3-9",\)'),  # type: ignore[arg-type]
        (AblationOptions(ablate_layers=(7,)), "there is no layer 7"),
        (AblationOptions(ablate_layers=(0,)), "there is no layer 0"),
        (
            AblationOptions(ablate_heads=("1-1",), ablate_layers=(2,)),
            "none of --ablate-heads is in one of --ablate-layers",
        ),
    ],
)
def test_heads_that_are_not_there_are_named(encoder, options, said):
    with pytest.raises(OptionError, match=said):
        analyze(encoder, TREEBANK, analyses="ablation", options=[options])


def test_some_heads_alone(encoder):
    options = AblationOptions(ablate_heads=("2-3",), ablate="zero", pruning_sentences=0)
    results = analyze(encoder, TREEBANK, analyses="ablation", options=options)
    (row,) = results["ablation"].tables.heads.to_dict("records")
    assert (row["layer"], row["head"]) == (2, 3)
    by_hand = effects_by_hand(encoder, heads=[(1, 2)])[1, 2]
    assert row["l2"] == pytest.approx(np.mean([each[3] for each in by_hand]), abs=2e-6)
    assert "pruning" not in results["ablation"].answers
    assert "predictions were not measured: the tokenizer has no mask token" in results["ablation"].notes[-1]


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_next_words_are_predicted_without_a_head(family):
    """The loss of a word is the sum of −log p of its pieces; what the head gives is cut out of the projection."""
    encoder = tiny.randomize(family)
    lm = tiny.language_model(encoder, "CausalLM")
    layer, head, size = 1, 2, 6
    with torch.no_grad():  # the columns of the output projection are those of what the head gives
        edited = copy.deepcopy(lm)
        if family == "gpt2":
            edited.base_model.h[layer].attn.c_proj.weight[head * size : (head + 1) * size] = 0
        else:
            edited.base_model.layers[layer].self_attn.o_proj.weight[:, head * size : (head + 1) * size] = 0
    maker = AblationMaker(((layer, head),), encoder.n_layers, lm=lm, causal=True)
    for sentence in SENTENCES[:4]:
        (batch,) = shared_batches(encoder, [sentence])
        found = maker.of(batch)
        (pieces,) = batch.pieces
        expected: dict[int, float] = {}
        for model, sign in ((lm, -1), (edited, 1)):
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([pieces.ids])).logits[0].double()
            for piece in range(1, len(pieces.ids)):
                word = pieces.word_of[piece]
                if word >= 0:
                    loss = -float(torch.log_softmax(logits[piece - 1], 0)[pieces.ids[piece]])
                    expected[word] = expected.get(word, 0) + sign * loss
        assert found.word.tolist() == list(expected)
        np.testing.assert_allclose(torch.flatten(found.values).numpy(), list(expected.values()), atol=1e-5)
        assert max(map(abs, expected.values())) > 1e-3
    (one,) = shared_batches(encoder, [Sentence("one", ("a",))])  # nothing predicts the first piece of an input
    predicted = sum(word >= 0 for word in one.pieces[0].word_of[1:])
    assert torch.flatten(maker.of(one).values).shape == (predicted,)
    assert family == "llama" or predicted == 0
