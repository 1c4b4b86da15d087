"""All scores beside and of probes of hidden states, against a recount that shares no code with the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

from attentionology import load_encoder, probe
from attentionology.analyses import ProbeOptions, ProbeTrainingOptions, StateProbeOptions
from attentionology.analyses.probing.trainings import folds, state_folds
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.probes import make_state_probe
from tests import tiny
from tests.reference import naive_probing as naive
from tests.reference.naive_probing import Tree

PROBES = ("attention", "arcs", "arcs+attention", "distance", "depth", "label:upos", "relation")
CONTROLS = {
    "arcs": ("trees", "behaviors"),
    "arcs+attention": ("trees", "behaviors"),
    "distance": ("trees",),
    "depth": ("trees",),
    "label:upos": ("types",),
    "relation": ("pairs",),
}
LABELS = {"label:upos": naive.tags, "relation": naive.relations}

Key = tuple[Any, ...]  # the probe, the layer, the source, the task, the run and the score
Trained = dict[str, Any]  # the probes by what their trainings are called


def parameters(trained: Any) -> dict[str, np.ndarray]:
    """Return what a probe has learned, in float64."""
    module = trained.module_ if hasattr(trained, "module_") else trained.scorer_
    return {name: value.detach().double().numpy() for name, value in module.state_dict().items()}


def predict(name: str, trained: Any, trees: Sequence[Tree], states: Sequence[np.ndarray]) -> list[Any]:
    """Return what the weights of a probe say of some trees, given the states that it reads."""
    weights = parameters(trained)
    if name in ("distance", "depth", "arcs"):
        by: Callable[..., Any] = {
            "distance": naive.distances_by,
            "depth": naive.depths_by,
            "arcs": naive.heads_by,
        }[name]
        return [by(weights, of_tree) for of_tree in states]
    pairs = zip(states, trees, strict=True)
    if name == "arcs+attention":
        return [naive.heads_with_attention_by(weights, of_tree, tree) for of_tree, tree in pairs]
    if name == "relation":
        return [naive.relations_by(weights, trained.classes_, of_tree, tree) for of_tree, tree in pairs]
    return [naive.labels_by(weights, trained.classes_, of_tree) for of_tree in states]


def scores(name: str, given: Sequence[Any], trees: Sequence[Tree], gold: Sequence[Any]) -> dict[str, float]:
    """Return the scores of what is predicted, by their names."""
    if name == "distance":
        return dict(zip(("uuas", "dspr"), naive.distance_scores(given, trees, gold), strict=True))
    if name == "depth":
        return dict(zip(("root", "nspr"), naive.depth_scores(given, trees, gold), strict=True))
    if name in ("arcs", "arcs+attention"):
        right, total = naive.head_scores(given, trees, gold)
        return {"uas": right / total}
    return {"accuracy": naive.label_score(given, gold)[0]}


def gold_of(name: str, task: str, training: Sequence[Tree], tested: Sequence[Tree], seed: int) -> list[Any]:
    """Return what the tested trees say, or a control task."""
    if name in LABELS:
        labels: naive.Labeling = LABELS[name]
        if task != "gold":
            labels = naive.control_labels(labels, training, seed, of_pairs=task == "pairs")
        return [labels(tree) for tree in tested]
    heads = {
        "gold": lambda tree: tree.heads,
        "trees": lambda tree: naive.priority_tree(tree, seed),
        "behaviors": lambda tree: naive.behaviors(tree, seed),
    }[task]
    return [heads(tree) for tree in tested]


def recount(
    training: Sequence[Tree], tested: Sequence[Tree], of_random_layers: Sequence[Tree], trained: Trained, seeds: int
) -> Iterator[tuple[Key, float]]:
    """Yield all scores that a run should have for one split, of what is trained and of what is not."""
    right = [tree.heads for tree in tested]
    direction, head = naive.single_head(training)
    links = {("best single head", 1): [tree.attention[head] for tree in tested]}
    for run in range(1, seeds + 1):
        weights = parameters(trained[f"attention, seed {run - 1}"])
        links["attention", run] = [naive.links_by(weights, tree) for tree in tested]
    floors: list[tuple[str, str, int, Sequence[Any]]] = [
        ("distance", source, run, list(map(naive.distances_of_links, of_run)))
        for (source, run), of_run in links.items()
    ]
    places = [np.arange(len(tree.words)) for tree in tested]
    floors.append(("distance", "chain", 1, [abs(place[:, None] - place) for place in places]))
    floors.append(("depth", "depth by place", 1, list(map(naive.depth_floor(training), tested))))
    for name, labels in LABELS.items():
        for source, floor in naive.label_floors(labels, training).items():
            floors.append((name, source, 1, list(map(floor, tested))))
    for name, source, run, given in floors:
        for score, value in scores(name, given, tested, gold_of(name, "gold", training, tested, 0)).items():
            yield (name, None, source, "gold", run, score), value
    for label, of_label in trained.items():
        name, _, rest = label.partition(" of layer ")
        if not rest:
            continue
        layer, seed = int(rest.split(",")[0]), int(rest.rsplit("seed ")[1])
        task = rest.partition("(")[2].partition(")")[0] or "gold"
        decays = "decayed" in rest
        is_random = "random weights" in rest
        read = of_random_layers if is_random else tested
        states = [naive.decay(tree.states[0]) if decays else tree.states[layer] for tree in read]
        gold = gold_of(name, task, training, tested, seed)
        source, of_layer = ("decayed layer 0", None) if decays else ("random weights" if is_random else "model", layer)
        for score, value in scores(name, predict(name, of_label, read, states), tested, gold).items():
            yield (name, of_layer, source, task, seed + 1, score), value
    counted = naive.head_scores([naive.most_attended(tree, direction, head) for tree in tested], tested, right)
    yield ("best single head",), counted[0] / counted[1]


def scores_of_run(run: Any) -> dict[Key, float]:
    """Return the scores in the tables of a run."""
    found: dict[Key, float] = {}
    for row in run.tables["probe_layers"].itertuples():
        layer = None if np.isnan(row.layer) else int(row.layer)
        found[row.probe, layer, row.source, row.task, row.run, row.score] = row.value
    table = run.tables["probe"].set_index("method")
    found[("best single head",)] = table.loc["best single head", "uas"]
    return found


def both(
    model: str, files: dict[str, Path], layers: Sequence[int], seeds: int, patch: pytest.MonkeyPatch, **options: Any
) -> tuple[dict[Key, float], dict[Key, float]]:
    """Run the probes on a treebank, and return the scores of the run and those that are recounted."""
    trained: Trained = {}

    def kept(fit: Callable[..., Any], place: int) -> Callable[..., Any]:
        def fitting(probe: Any, *arguments: Any, **given: Any) -> Any:
            trained[arguments[place]] = probe  # by its label
            return fit(probe, *arguments, **given)

        return fitting

    patch.setattr(state_folds, "fit_probe", kept(state_folds.fit_probe, 4))
    patch.setattr(folds, "_fit", kept(folds._fit, 2))
    groups = [
        ProbeOptions(controls=("task", "decay", "random-init")),
        ProbeTrainingOptions(seeds=seeds),
        StateProbeOptions(layers=tuple(map(str, layers)), **options),
        CountOptions(replicates=2),
    ]
    sources = {role: str(file) for role, file in files.items()}
    run = probe(model, train=sources["train"], dev=sources["dev"], test=sources["test"], probes=PROBES, options=groups)
    trees = {role: naive.trees_of(files[role]) for role in ("train", "test")}
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    network = transformers.AutoModel.from_pretrained(model, attn_implementation="eager").float().eval()
    for of_role in trees.values():
        naive.read(of_role, network, tokenizer)
    of_random_layers = naive.trees_of(files["test"])
    naive.read(of_random_layers, load_encoder(model).random_layers(0).model, tokenizer)
    return scores_of_run(run), dict(recount(trees["train"], trees["test"], of_random_layers, trained, seeds))


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("treebank")
    sentences = SAMPLE_TREEBANK.read_text(encoding="utf-8").strip().split("\n\n")
    files = {}
    for role, chosen in (("train", sentences[:20]), ("dev", sentences[20:26]), ("test", sentences[26:40])):
        files[role] = folder / f"{role}.conllu"
        files[role].write_text("\n\n".join(chosen) + "\n\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "model").mkdir()
        model = tiny.save(folder / "model", max_position_embeddings=512)
        return both(model, files, (2,), 1, patch, rank=4)


@pytest.mark.parametrize("name", [*CONTROLS])
def test_scores_are_those_of_the_recount(counts, name):
    of_run, of_recount = ({key: value for key, value in of.items() if key[0] == name} for of in counts)
    assert of_run.keys() == of_recount.keys()
    tasks = {(key[2], key[3]) for key in of_run}
    assert tasks >= {("model", "gold"), ("random weights", "gold"), *(("model", task) for task in CONTROLS[name])}
    assert (("decayed layer 0", "gold") in tasks) == (name != "arcs+attention")  # whose attention is not decayed
    for key, value in of_run.items():
        # Two values that differ by rounding alone may change places in the ranks, which depends on the processor.
        tolerance = 1e-4 if key[-1] == "dspr" else 1e-6
        assert value == pytest.approx(of_recount[key], abs=tolerance), key


def test_controls_are_those_of_the_probes():
    assert {name: make_state_probe(name).controls for name in CONTROLS} == CONTROLS


def test_the_best_head_is_that_of_the_recount(counts):
    of_run, of_recount = counts
    assert of_run[("best single head",)] == pytest.approx(of_recount[("best single head",)], abs=1e-12)
    assert {key[2] for key in of_run if key[0] == "distance" and key[1] is None} == {
        *("chain", "best single head", "attention", "decayed layer 0")
    }
