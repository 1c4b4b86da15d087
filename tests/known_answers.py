"""Writes what ``attentionology doctor --known-answers`` compares with: results of the demo model on the sample.

Run it after a change that is meant to change these results, and look at the difference before it is committed::

    python -m tests.known_answers
"""

from __future__ import annotations

from attentionology import load_encoder
from attentionology.analyses.known_answers.sample import FILE, answers_of, write_answers
from attentionology.engine.known_answers import sample_results


def main() -> None:
    """Write the file."""
    write_answers(answers_of(sample_results(load_encoder("demo"))))
    print(FILE)


if __name__ == "__main__":
    main()
