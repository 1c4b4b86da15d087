"""Plants small faults one at a time, and checks that the test named beside each fault notices it.

A test that stays green although the page shows a wrong column guards nothing. Each fault replaces a piece of code that
occurs once in its file, in a copy of the repository, and the test named beside it must then fail::

    python -m tests.mutate              all faults
    python -m tests.mutate dependency   those whose file or test has this word in its name
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.faults import FAULTS, Fault

REPOSITORY = Path(__file__).resolve().parents[1]
AT_ONCE = 2


@dataclass(frozen=True)
class Outcome:
    """What became of a fault.

    Attributes:
        fault: the fault.
        noticed: whether the test failed.
        said: the last lines that the test printed.
    """

    fault: Fault
    noticed: bool
    said: str


def main(words: list[str]) -> int:
    """Plant the faults, print those that go unnoticed, and return their number as exit status."""
    chosen = [fault for fault in FAULTS if all(word in f"{fault.path} {fault.test}" for word in words)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(plant, chosen))
    unnoticed = [outcome for outcome in outcomes if not outcome.noticed]
    for outcome in unnoticed:
        fault = outcome.fault
        print(f"{fault.path}: {fault.old!r} → {fault.new!r}\n  goes unnoticed by {fault.test}\n{outcome.said}")
    print(f"{len(outcomes) - len(unnoticed)} of {len(outcomes)} faults are noticed.")
    return min(len(unnoticed), 100)


def plant(fault: Fault) -> Outcome:
    """Plant a fault in a copy of the repository, and run the test that must notice it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_files(Path(folder))
        subprocess.run([sys.executable, "hatch_build.py"], cwd=copy, check=True)
        path = copy / fault.path
        path.write_text(fault.planted_in(path.read_text("utf-8")), "utf-8")
        environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", fault.test]
        run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        print("." if run.returncode == 1 else "F", end="", flush=True, file=sys.stderr)
        return Outcome(fault, run.returncode == 1, "\n".join(run.stdout.splitlines()[-5:]))


def copy_files(folder: Path) -> Path:
    """Copy the files that git knows."""
    names = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        source = REPOSITORY / name
        if source.is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
