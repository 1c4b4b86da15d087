"""Make the labeled texts of the tutorial on attention as an explanation.

Each text has one word that decides its label, and about ten that do not. The files are made from a seed, so the same
command makes the same files::

    python docs/tutorials/data/make_reviews.py
"""

from __future__ import annotations

import random
from pathlib import Path

GOOD = "wonderful funny moving brilliant warm clever".split()
BAD = "boring dull awful clumsy cold silly".split()
SUBJECTS = ("the plot", "the music", "this film", "the acting", "the ending", "every scene", "the hero")
VERBS = ("was", "seemed", "felt", "stayed")
DEGREES = ("rather", "very", "quite", "really", "again")
BEFORE = ("on a rainy sunday", "to my surprise", "as the critics said", "in the second half", "for my sister and me")
AFTER = (
    *("from the first minute to the last", "although it was long", "because of the camera", "in a full house"),
    *("and the popcorn was fresh", "until the lights came on"),
)
SIZES = {"reviews.train.txt": 240, "reviews.test.txt": 60}


def texts(seed: int, size: int) -> list[str]:
    """The lines of a file: label, tab, text. Half of them are good."""
    rng = random.Random(seed)  # noqa: S311  # not for security
    lines = []
    for number in range(size):
        label = number % 2
        word = rng.choice(GOOD if label else BAD)
        clause = f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(DEGREES)} {word}"
        lines.append(f"{label}\t{rng.choice(BEFORE)} {clause} {rng.choice(AFTER)}")
    rng.shuffle(lines)
    return lines


def main() -> None:
    """Write the two files beside this script."""
    for seed, (name, size) in enumerate(SIZES.items()):
        path = Path(__file__).with_name(name)
        path.write_text("".join(f"{line}\n" for line in texts(seed, size)), encoding="utf-8")


if __name__ == "__main__":
    main()
