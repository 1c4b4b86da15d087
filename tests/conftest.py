"""What all tests share: shapes that are checked, the order of the files, and figures that are drawn once.

Shapes in annotations are checked (`tests.shapes`) unless the variable CHECK_SHAPES is 0. `make slow` checks them in
tests of modules and of references. Acceptance tests go without, because the others check the same functions.
"""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

pytest.register_assert_rewrite("tests.shown_tables", "tests.marks")  # their assertions say what differs, too

from tests import shortcuts
from tests.marks import check_marks
from tests.outlines import FIGURES
from tests.programs import Programs
from tests.shapes import check_shapes

if os.environ.get("CHECK_SHAPES", "1") != "0":
    check_shapes()
check_marks()

# Collecting garbage while everything is imported takes a sixth of that time, and finds none.
gc.disable()

# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

REPOSITORY = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("ATTENTIONOLOGY_DATA", REPOSITORY.parent / "shared" / "data"))

LONGEST = (
    "test_contracts test_approved test_stored_surveys test_matrix test_sentences test_new_states test_stored_questions "
    "test_stored_runs test_all_heads test_analyze test_probe_codelength test_structural_probe test_coreference "
    "test_two_words test_checks_of_parts test_norms test_states test_older_runs test_gate test_report test_compare "
    "test_state_probes test_doctor test_section_facts test_models test_distribution test_first_layers test_releases "
    "test_results test_checks_of_analyses test_docs test_ablation_alone test_conditions test_build test_surface "
    "test_shown_survey test_contrasts test_held_weights test_survey test_probe_reports test_align test_grid"
).split()
"""The names of the files of tests that take longest, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that several processes end at about the same time.

    With ``--dist loadfile``, a process runs whole files. Each takes the next file from the list.
    """
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)))


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but seldom, and not among what has been imported, which stays.

    As often as Python does, this takes an eighth of the time of the tests, because it looks again and again at modules
    that tests have imported.
    """
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def quick_runs() -> Iterator[None]:
    """Take the `shortcuts`."""
    with pytest.MonkeyPatch.context() as patch:
        shortcuts.take_shortcuts(patch)
        yield


@pytest.fixture(autouse=True, scope="session")
def figures_are_shared(tmp_path_factory) -> None:
    """Let the processes of pytest-xdist, whose folders are in the same one, draw each figure once between them."""
    folder = tmp_path_factory.getbasetemp()
    FIGURES.shared = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "figures"
    FIGURES.shared.mkdir(exist_ok=True)


@pytest.fixture(autouse=True, scope="module")
def figures_are_outlines() -> Iterator[pytest.MonkeyPatch]:
    """Draw a figure of each name once, because figures take most of the time of a small run; see `outlines`.

    Commands in processes of their own, and tests with ``FIGURES.in_full()``, draw every figure. The figure of all heads
    has twelve heatmaps only in processes of their own and where `svgs_are_drawn`.
    """
    with FIGURES.replaced(".svg", ".png"), pytest.MonkeyPatch.context() as patch:
        shortcuts.draw_few_heatmaps(patch)
        yield patch


@pytest.fixture(scope="module")
def svgs_are_drawn(figures_are_outlines) -> Iterator[None]:
    """Draw every SVG, and the first PNG of each name; see `outlines`."""
    figures_are_outlines.undo()
    with FIGURES.replaced(".png"):
        yield


@pytest.fixture(scope="module")
def quick_geography() -> Iterator[None]:
    """Shorten the iterations of the analysis of clusters."""
    with pytest.MonkeyPatch.context() as patch:
        shortcuts.scale_quickly(patch)
        yield


@pytest.fixture(scope="session")
def data_file() -> Callable[[str], Path]:
    """A function from a name below the data folder to its path; skips the test where it is absent."""

    def find(name: str) -> Path:
        if not (DATA / name).exists():
            pytest.skip(f"no {name} in the data folder (set ATTENTIONOLOGY_DATA)")
        return DATA / name

    return find


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    """A function that writes text or bytes to a file of a name, and returns its path."""

    def write_file(content: str | bytes, name: str = "file.conllu") -> Path:
        path: Path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture(scope="session")
def programs(tmp_path_factory) -> Iterator[Programs]:
    """Processes that share their imports."""
    running = Programs(tmp_path_factory.mktemp("programs"))
    yield running
    running.close()
