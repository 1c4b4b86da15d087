"""Digests of everything that the commands write, to show that a refactoring changes nothing.

Record them before the change and compare afterwards, on the same machine and with the same libraries, because the
last bits of floating-point numbers depend on both::

    python -m tests.golden record before.json
    python -m tests.golden compare before.json

Commands that need data which the project does not ship are left out where the folder of the acceptance tests is
absent; the script says which. ``--only NAME …`` restricts either verb to some commands.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("ATTENTIONOLOGY_DATA", REPOSITORY.parent / "shared" / "data"))
MAIN = "import sys; from attentionology.scripts.cli import main; sys.exit(main())"
VOLATILE = ("command", "started", "finished", "seconds", "git_commit", "versions")
"""Fields of the run record that differ from run to run, or from machine to machine."""

RECORDS = ("run", "record")
"""Where a JSON file has the run record: ``summary.json`` and ``states/run.json``. ``run.json`` is one."""

SEAL = "seal"
"""The checksum of ``states/run.json``, which covers the fields that differ."""

UD, COREFERENCE = DATA / "ud", DATA / "coref"
FRENCH = ["analyze", "--corpus", str(UD / "fr_gsd-dev.conllu"), "--limit", "200", "--tokens", "surface"]
WIKIPEDIA = str(DATA / "text" / "wiki_valid_paragraphs.txt")
WINOBIAS = sorted(map(str, COREFERENCE.glob("dev_type*.v4_auto_conll")))

COMMANDS: dict[str, list[str]] = {
    "demo": ["analyze", "--control", "random-init:3", "--gradients", "hidden"],
    "all-analyses": ["analyze", "--analyses", "dependency,surface,clusters,norms,coreference", "--control=random-init"],
    "words": ["analyze", "--level", "word", "--smoothing", "release", "--coarse", "--map", "norm", "--merge", "vector"],
    "french": FRENCH,
    "french-norm": [*FRENCH, "--map", "norm"],
    "french-attnresln": [*FRENCH, "--map", "attnresln"],
    "french-rollout": [*FRENCH, "--map", "rollout"],
    "segments": ["analyze", "--text", WIKIPEDIA, "--segments", "60"],
    "ontogum": [
        *("analyze", "--corpus", str(COREFERENCE / "ontogum_dev.v4_gold_conll")),
        *("--analyses", "coreference", "--stride", "256", "--limit", "8"),
    ],
    "gap": ["analyze", "--corpus", str(COREFERENCE / "gap-development.tsv"), "--limit", "200"],
    "winobias": ["analyze", "--corpus", *WINOBIAS, "--analyses", "coreference"],
    "probe": ["probe", "--folds", "2", "--seeds", "1"],
    "explain": [
        "explain",
        "--data",
        "TEXTS",
        "--tests",
        "all",
        "--epochs",
        "2",
        "--seeds",
        "2",
        "--adversary-epochs=2",
    ],
    "explain-transformer": [
        *("explain", "--data", "TEXTS", "--model", "demo", "--finetune", "--epochs", "1", "--limit", "20"),
        *("--seeds", "1", "--draws", "10", "--steps", "20", "--max-words", "25"),
    ],
}
"""Each command by its name; ``TEXTS`` stands for a file of the first 300 texts of SST-2."""


def digests(name: str, folder: Path) -> dict[str, str]:
    """Run one command in an empty folder and digest every file of its results."""
    arguments = list(COMMANDS[name])
    if "TEXTS" in arguments:
        texts = (DATA / "classification" / "sst2.train.txt").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "texts.txt").write_text("".join(texts[:300]), encoding="utf-8")
        arguments[arguments.index("TEXTS")] = "texts.txt"
    command = [sys.executable, "-c", MAIN, *arguments, "--out", "run"]
    paths = os.pathsep.join([str(REPOSITORY / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: exit status {done.returncode}\n{done.stderr}")
    files = sorted(path for path in (folder / "run").rglob("*") if path.is_file() and path.name != "report.html")
    return {path.relative_to(folder / "run").as_posix(): digest(path) for path in files}


def digest(path: Path) -> str:
    """SHA-256 of a file; of JSON without what differs from run to run, and whatever the order of its keys."""
    if path.suffix != ".json":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    # The sample treebank lies wherever the package lies.
    text = re.sub(r'"[^"]*/(?=sample/en_sample\.conllu")', '"', path.read_text(encoding="utf-8"))
    content: dict[str, Any] = json.loads(text)
    content.pop(SEAL, None)
    for record in (content, *(content.get(name, {}) for name in RECORDS)):
        for name in VOLATILE:
            record.pop(name, None)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """One line for each file that is new, missing or not what it was."""
    changed = [f"{name}: changed" for name in sorted(before.keys() & after.keys()) if before[name] != after[name]]
    missing = [f"{name}: missing" for name in sorted(before.keys() - after.keys())]
    return changed + missing + [f"{name}: new" for name in sorted(after.keys() - before.keys())]


def main() -> int:
    """Record or compare; the exit status is 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS), metavar="NAME")
    options = parser.parse_args()
    recorded: dict[str, dict[str, str]] = json.loads(options.file.read_text()) if options.file.exists() else {}
    status = 0
    for name in options.only:
        if not DATA.is_dir() and any(str(DATA) in word or word == "TEXTS" for word in COMMANDS[name]):
            print(f"{name}: left out, because {DATA} is not here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            result = digests(name, Path(folder))
        if options.verb == "record":
            recorded[name] = result
            options.file.write_text(json.dumps(recorded, indent=1) + "\n")
            print(f"{name}: {len(result)} files recorded", flush=True)
        else:
            lines = differences(recorded.get(name, {}), result)
            status = max(status, int(bool(lines)))
            print(
                f"{name}: " + ("\n  ".join(["differs", *lines]) if lines else f"{len(result)} files equal"), flush=True
            )
    return status


if __name__ == "__main__":
    sys.exit(main())
