"""The decisions about mentions: what can be chosen and what is right, and what heads and simple rules choose.

Decisions are about words: the head word of a mention and the head words of its candidates. A candidate that has the
same head word as the mention itself (nested mentions like *[[the mayor] of Rome]*) is left out, because no word can
point to itself. Attention maps have one row per word, so that the row is that of the mention's head word, and a
candidate has the value of its head word. A sum over all words of a mention would favor long mentions, a mean short
ones; and the head word is the one that stands for its mention in the dependency analysis too.

**Heads** decide as in Clark et al. (2019, §4.3), exactly. As in `attentionology.analyses.dependency.decisions`, float32
decides first, and comparisons that are closer than its noise are made again in float64. Several words may be right
here, so the best antecedent is compared with the best candidate that is no antecedent: which of several antecedents is
the best one has no effect on the decision.

**Rules** (Clark et al. 2019, Table 2) and chance choose among the same candidates as the heads do under the policy
``preceding``, and are right under the same condition. If several mentions fit a rule, the nearest is taken. Among
candidates before the mention this is the last one in the text. Among candidates on both sides, as questions have them,
it is the one whose head word is the fewest words away, and of two such candidates the earlier one. The rules compare
number, gender and person. In documents with features these are those of the head word (UD ``Number``, ``Gender``,
``Person``). Documents without features are taken to be English: there they come from a lexicon of pronouns, from a
lexicon of titles before the head (`corpora_loaders.coreference.english`), and from the Penn Treebank tag (NNS and NNPS
are plural, NN and NNP singular). Mentions that are not pronouns are third person. An unknown value agrees with every
value.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...corpora_loaders.coreference import PRONOUNS, TITLES, Document, Mention
from ...corpora_loaders.documents import Documents
from ...extractors import MapBatch, Window
from ..dependency.decisions import word_positions

POLICIES = ("preceding", "mentions", "words")
"""The choices of candidates: head words of preceding mentions, head words of all other mentions, all other words."""

ALL = "all"
"""The name of all types of mentions together."""

SENTENCE_BINS = (0, 1, 2, 3)
"""The smallest distance in sentences of each bin. The last bin has no upper end."""

WORD_BINS = (1, 6, 11, 21, 51)
"""The smallest distance in words of each bin. The last bin has no upper end."""

REASONS = {
    "outside": "not completely in any window that was read",
    "no words": "without words",
    "no antecedent": "no antecedent with words in the window that was read",
    "same head": "all antecedents have the head word of the mention itself",
    "no answer": "given with candidates of which none is right",
}
"""The reasons why a mention is not scored. All mentions but those of the last reason have an antecedent in the
corpus."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A mention to resolve. Words are counted from 0 through the document."""

    window: Window
    mention: Mention
    before: tuple[Mention, ...]  # the candidates in text order: mentions that precede it, or those of a question
    heads: frozenset[int]  # the head words of ``before``
    others: frozenset[int]  # the head words of all other mentions; in a question the same as ``heads``
    gold: frozenset[int]  # the head words of its antecedents

    @property
    def head(self) -> int:
        """The head word of the mention."""
        assert self.mention.head is not None  # noqa: S101  # a mention that is asked for has words
        return self.mention.head

    def candidates(self, policy: str) -> frozenset[int]:
        """Return the words to choose from under one of `POLICIES`."""
        if policy == "words":
            return frozenset(range(self.window.start, self.window.stop)) - {self.head}
        return self.heads if policy == "preceding" else self.others


def choices(window: Window, *, singletons: bool = False, lost: Counter[str] | None = None) -> Iterator[Choice]:
    """Yield a choice for each mention of a window that has an antecedent in it and was not in the window before."""
    # lost: a counter to which every mention that gets no choice for lack of candidates adds the reason.
    document = window.source
    lost = Counter() if lost is None else lost

    if document.questions is not None:
        for question in document.questions:
            if _is_inside(question.anaphor, window) and question.anaphor.stop > window.seen and question.has_answer:
                inside = tuple(candidate for candidate in question.candidates if _is_inside(candidate, window))
                yield from _choice(window, question.anaphor, inside, inside, lost)
        return
    candidates: list[Mention] = []
    asked: list[tuple[Mention, int]] = []  # mentions with the number of candidates that precede them
    for index in document.starting(window.start, window.stop):
        mention = document.mentions[index]
        if _is_inside(mention, window):
            if mention.stop > window.seen and index in document.anaphors:
                asked.append((mention, len(candidates)))
            if singletons or not document.is_singleton(mention):
                candidates.append(mention)
    for mention, preceding in asked:
        yield from _choice(window, mention, tuple(candidates[:preceding]), candidates, lost)


def _is_inside(mention: Mention, window: Window) -> bool:
    return mention.head is not None and window.start <= mention.start and mention.stop <= window.stop


def choices_of(batch: MapBatch, *, singletons: bool = False) -> list[tuple[int, Choice]]:
    """Return the choices in a batch of windows, each with the index of its window in the batch."""
    return [
        (index, choice)
        for index, window in enumerate(batch.sentences)
        if isinstance(window, Window)
        for choice in choices(window, singletons=singletons)
    ]


def _other_heads(candidates: Iterable[Mention], mention: Mention) -> frozenset[int]:
    """Return the head words of candidates that are not the head word of the mention."""
    words = (candidate.head for candidate in candidates)
    return frozenset(word for word in words if word is not None and word != mention.head)


def _choice(
    window: Window, mention: Mention, before: tuple[Mention, ...], others: Iterable[Mention], lost: Counter[str]
) -> Iterator[Choice]:
    """Yield the choice of a mention if it has an antecedent with another head word, else count why it has none."""
    antecedents = [candidate for candidate in before if candidate.entity == mention.entity]
    if gold := _other_heads(antecedents, mention):
        with_other_head = tuple(candidate for candidate in before if candidate.head != mention.head)
        heads, all_heads = _other_heads(before, mention), _other_heads(others, mention)
        yield Choice(window, mention, with_other_head, heads, all_heads, gold)
    else:
        lost["same head" if antecedents else "no antecedent"] += 1


def distance(document: Document, choice: Choice) -> tuple[int, int]:
    """Return the numbers of sentences and words from the head word of a mention to that of its nearest antecedent."""
    head = choice.head
    nearest = min(choice.gold, key=lambda word: abs(word - head))
    return abs(document.sentence_of(head) - document.sentence_of(nearest)), abs(head - nearest)


def bin_of(value: int, bins: Sequence[int]) -> int:
    """Return the index of the bin into which a distance falls."""
    return int(np.searchsorted(bins, value, side="right")) - 1


def bin_name(index: int, bins: Sequence[int]) -> str:
    """Return the name of a bin, for example ``6–10`` or ``51+``."""
    if index == len(bins) - 1:
        return f"{bins[index]}+"
    last = bins[index + 1] - 1
    return str(last) if last == bins[index] else f"{bins[index]}–{last}"


def account(corpus: Documents, windows: Iterable[Window], *, singletons: bool = False) -> dict[str, int]:
    """Count the mentions that have an antecedent, those that are scored, and the others by reason."""
    # `forced` are scored mentions without a wrong candidate before them. The other names are those of `REASONS`.
    lost: Counter[str] = Counter()
    scored = forced = documents = 0
    last_document = None
    for window in windows:
        for choice in choices(window, singletons=singletons, lost=lost):
            scored += 1
            forced += choice.heads == choice.gold
            documents += window.source.id != last_document  # the windows of a document follow each other
            last_document = window.source.id
    anaphors = corpus.facts.anaphors
    lost["no words"] += corpus.facts.anaphors_without_words
    lost["no answer"] += corpus.facts.unanswered
    lost["outside"] = anaphors - scored - (lost.total() - lost["no answer"])
    totals = {"anaphors": anaphors, "scored": scored, "documents": documents, "forced": forced}
    return {**totals, **{reason: lost[reason] for reason in REASONS}}


DIRECTIONS = ("mention->antecedent", "antecedent->mention")
"""The directions of attention. ``mention->antecedent`` picks the candidate to whose head word the mention's head word
attends most (row argmax), ``antecedent->mention`` the candidate whose head word attends most to the mention's head word
(column argmax)."""

_DECISIONS_AT_ONCE = 64  # the number of decisions at a time, so that their rows take no more memory than the maps


def antecedent_hits(
    batch: MapBatch, choices: Sequence[tuple[int, Choice]], policies: Sequence[str] = POLICIES
) -> Bool[Tensor, "choices policies directions layers heads"]:
    """Return whether each attention head picks an antecedent's head word, by policies and `DIRECTIONS`."""
    # Ties go to the first candidate in the text.
    position = word_positions(batch)
    n = batch.maps.shape[-1]
    parts = []
    for start in range(0, len(choices), _DECISIONS_AT_ONCE):
        part = choices[start : start + _DECISIONS_AT_ONCE]
        windows = torch.tensor([index for index, _ in part])
        mention = torch.zeros(len(part), dtype=torch.long)
        gold = torch.zeros(len(part), n, dtype=torch.bool)
        allowed = torch.zeros(len(part), len(policies), n, dtype=torch.bool)
        for row, (index, choice) in enumerate(part):
            mention[row] = position[index, choice.head - choice.window.start]
            gold[row] = _mask(choice.gold, choice.window, position[index], n)
            for policy, name in enumerate(policies):
                allowed[row, policy] = _mask(choice.candidates(name), choice.window, position[index], n)
        hits, close = _compare(batch.maps, batch.noise, windows, mention, gold, allowed)
        # A window with a choice that float32 leaves open is decided again in float64: one window at a time, and without
        # a variable that keeps its maps alive, because float64 takes twice the memory.
        for index in sorted(set(windows[close].tolist())):
            rows = torch.nonzero(windows == index).flatten()
            hits[rows] = _argmax(batch.exact([index])[0], mention[rows], gold[rows], allowed[rows])
        parts.append(hits)
    shape = (len(policies), len(DIRECTIONS), *batch.maps.shape[1:3])
    return torch.cat(parts) if parts else torch.zeros(0, *shape, dtype=torch.bool)


def _mask(words: frozenset[int], window: Window, position: Int[Tensor, " words"], n: int) -> Bool[Tensor, " n"]:
    """Return which of the ``n`` rows of a map belong to some words, given the row of each word of the window."""
    is_word = torch.zeros(n, dtype=torch.bool)
    is_word[position[torch.tensor([word - window.start for word in words])]] = True
    return is_word


def _compare(
    maps: Float[Tensor, "batch layers heads n n"],
    noise: float,
    windows: Int[Tensor, " choices"],
    mention: Int[Tensor, " choices"],
    gold: Bool[Tensor, "choices n"],
    allowed: Bool[Tensor, "choices policies n"],
) -> tuple[Bool[Tensor, "choices policies directions layers heads"], Bool[Tensor, " choices"]]:
    """Return whether the best antecedent beats the best other candidate in float32, and which choices are too close."""
    # windows: the index of each choice's window in the batch. mention: the position of the mention's head word.
    # gold, allowed: whether a position has the head word of an antecedent, and of a candidate by each policy.
    device = maps.device
    windows, mention, gold, allowed = windows.to(device), mention.to(device), gold.to(device), allowed.to(device)
    shape = (len(windows), allowed.shape[1], len(DIRECTIONS), *maps.shape[1:3])
    is_right = torch.zeros(shape, dtype=torch.bool, device=device)
    is_close = torch.zeros(len(windows), dtype=torch.bool, device=device)
    # The row and the column of each mention, shape (choices, layers, heads, n).
    for direction, values in enumerate((maps[windows, :, :, mention, :], maps[windows, :, :, :, mention])):
        antecedent = values.masked_fill(~gold[:, None, None], -torch.inf).amax(-1)  # choice, layer, head
        for policy in range(allowed.shape[1]):
            candidates = allowed[:, policy]
            # The first candidate is at the number of positions before it. The clamp is for choices without candidates.
            first_candidate = (candidates.cumsum(-1) == 0).sum(-1, keepdim=True)
            is_first_gold = gold.gather(1, first_candidate.clamp(max=gold.shape[1] - 1))
            other = values.masked_fill((gold | ~candidates)[:, None, None], -torch.inf).amax(-1)
            largest = torch.maximum(antecedent, other)
            # Values that are 0 are equal whatever the rounding, and the first candidate is picked.
            is_right[:, policy, direction] = (antecedent > other) | ((largest == 0) & is_first_gold[..., None])
            close = ((antecedent - other).abs() <= noise * largest.abs()) & (largest != 0)
            is_close |= close.flatten(1).any(1)
    return is_right.cpu(), is_close.cpu()


def _argmax(
    maps: Float[Tensor, "layers heads n n"],
    mention: Int[Tensor, " choices"],
    gold: Bool[Tensor, "choices padded"],
    allowed: Bool[Tensor, "choices policies padded"],
) -> Bool[Tensor, "choices policies directions layers heads"]:
    """Return whether the candidate with the largest value, the first one of equals, is an antecedent."""
    maps = maps.cpu()
    gold, allowed = gold[:, : maps.shape[-1]], allowed[..., : maps.shape[-1]]
    picked = []
    for values in (maps[:, :, mention, :], maps[:, :, :, mention].transpose(-1, -2)):  # layers, heads, choices, n
        by_policy = values[:, :, :, None].masked_fill(~allowed, -torch.inf)
        # NumPy promises the first of equal values, torch does not.
        picked.append(torch.from_numpy(by_policy.numpy().argmax(-1)))  # layers, heads, choices, policies
    picks = torch.stack(picked, -1).permute(2, 3, 4, 0, 1)  # choices, policies, directions, layers, heads
    return gold[torch.arange(len(mention))[:, None, None, None, None], picks]


@dataclass(frozen=True)
class AntecedentGuesses:
    """Returns the position that each head picks for the head word of each mention that is scored, −1 for all others."""

    # The guesses are for inputs that are kept to be looked at.

    policy: str  # one of `POLICIES`
    singletons: bool  # whether mentions of entities that are mentioned only once are candidates

    def __call__(self, batch: MapBatch) -> Int[Tensor, "batch 2 layers heads n"]:
        """Return the guesses in both `DIRECTIONS`. If two mentions have the same head word, the first one is kept."""
        choices = choices_of(batch, singletons=self.singletons)
        position = word_positions(batch)
        picks = torch.full((len(batch), len(DIRECTIONS), *batch.maps.shape[1:4]), -1)
        picked = picked_positions(batch, choices, self.policy, antecedent_hits(batch, choices, (self.policy,))[:, 0])
        for decision in reversed(range(len(choices))):  # so that the first of two mentions is written last
            index, choice = choices[decision]
            picks[index, :, :, :, int(position[index, choice.head - choice.window.start])] = picked[decision]
        return picks


def picked_positions(
    batch: MapBatch,
    choices: Sequence[tuple[int, Choice]],
    policy: str,
    hits: Bool[Tensor, "choices directions layers heads"],
) -> Int[Tensor, "choices directions layers heads"]:
    """Return the position that each head picks for each mention, given the `antecedent_hits` of a policy."""
    # The hits are exact. A right pick is the best antecedent, and a wrong one is the best of the other candidates.
    position = word_positions(batch)
    picked = torch.empty(hits.shape, dtype=torch.long)
    for decision, (index, choice) in enumerate(choices):
        start, position_of_word = choice.window.start, position[index]
        mention = int(position_of_word[choice.head - start])
        # The positions of the antecedents, and of all other candidates.
        right, wrong = (
            position_of_word[torch.tensor(sorted(words), dtype=torch.long) - start]
            for words in (choice.gold, choice.candidates(policy) - choice.gold)
        )
        maps = batch.maps[index].cpu()
        for direction, values in enumerate((maps[:, :, mention], maps[:, :, :, mention])):  # layer, head, position
            best_right = right[values[..., right].argmax(-1)]
            best_wrong = wrong[values[..., wrong].argmax(-1)] if len(wrong) else best_right
            picked[decision, direction] = torch.where(hits[decision, direction], best_right, best_wrong)
    return picked


BASELINES = ("nearest", "head match", "rule-based", "random")
"""The names of the baselines. ``nearest`` picks the nearest candidate. ``head match`` picks the nearest one with the
same head word in any case, and is wrong if there is none. ``rule-based`` picks the nearest one that passes the first of
four sieves which any candidate passes: the same words; the same head word; agreement in number, gender and person; no
condition. ``random`` picks a candidate by a hash of the document, the mention and the seed."""

Traits = tuple[str, str, str]
"""Number, gender and person of a mention, each empty if it is unknown."""

_NUMBER_BY_TAG = {"NN": "Sing", "NNP": "Sing", "NNS": "Plur", "NNPS": "Plur"}


def column_name(method: str) -> str:
    """Return the name of a baseline in the names of columns, such as ``rule_based``."""
    return method.replace(" ", "_").replace("-", "_")


def baseline_picks(
    document: Document, choice: Choice, by_mention: dict[Mention, Traits], seed: int
) -> tuple[Mention | None, ...]:
    """Return the candidate that each of `BASELINES` picks, None if it picks none."""
    ordered = nearest_first(document, choice)
    anaphor = choice.mention
    form, head = _form(document, anaphor), _head_form(document, anaphor)
    same_form = [candidate for candidate in ordered if _form(document, candidate) == form]
    same_head = [candidate for candidate in ordered if _head_form(document, candidate) == head]
    agreeing = [candidate for candidate in ordered if agree(by_mention[candidate], by_mention[anaphor])]

    # The random candidate depends on nothing but the mention and the seed.
    key = f"{document.id} {anaphor.start} {anaphor.stop} {anaphor.entity}".encode()
    digest = hashlib.blake2b(key, digest_size=8, key=seed.to_bytes(8, "little")).digest()
    random_number = int.from_bytes(digest, "little")
    return (  # in the order of `BASELINES`
        ordered[0],
        next(iter(same_head), None),
        (same_form or same_head or agreeing or ordered)[0],
        choice.before[random_number % len(choice.before)],
    )


def _form(document: Document, mention: Mention) -> list[str]:
    """Return the words of a mention in lower case."""
    return [document.words[word].casefold() for word in mention.words]


def _head_form(document: Document, mention: Mention) -> str:
    assert mention.head is not None  # noqa: S101  # candidates have words
    return document.words[mention.head].casefold()


def nearest_first(document: Document, choice: Choice) -> list[Mention]:
    """Return the candidates of the baselines, the nearest first; those of a question may stand after the mention."""
    if document.questions is None:
        return list(reversed(choice.before))
    return sorted(choice.before, key=lambda candidate: (abs((candidate.head or 0) - choice.head), candidate.start))


def traits(document: Document, start: int = 0, stop: int | None = None) -> dict[Mention, Traits]:
    """Return number, gender and person of the mentions that have words.

    These are the mentions of all questions, and those that start at the words from ``start`` to ``stop``.
    """
    feats = [feats_of_word for sentence in document.sentences for feats_of_word in sentence.feats]
    tags = [tag for sentence in document.sentences for tag in sentence.xpos]
    indices = document.starting(start, len(document.words) + 1 if stop is None else stop)
    mentions = list(document.mentions[indices.start : indices.stop])
    for question in document.questions or ():
        mentions += [question.anaphor, *question.candidates]
    by_mention = {}
    has_features = document.has_features  # takes a look at every word
    for mention in mentions:
        if mention.head is None:
            continue
        if has_features:
            values = dict(pair.split("=", 1) for pair in feats[mention.head].split("|") if "=" in pair)
            number, gender, person = (values.get(name, "") for name in ("Number", "Gender", "Person"))
        else:
            number, gender, person = _from_lexicon(document, mention, tags[mention.head] if tags else "")
        by_mention[mention] = (number, gender, person or ("" if mention.type == "pronoun" else "3"))
    return by_mention


def sources_of_agreement(corpus: Documents) -> list[str]:
    """Return the sources from which number, gender and person of some documents come, as phrases for the notes."""
    n_by_features = corpus.facts.with_features
    n_by_lexicon = len(corpus.documents) - n_by_features
    n_by_source = {"UD features": n_by_features, "a lexicon of English pronouns and titles, and tags": n_by_lexicon}
    return [source for source, n_documents in n_by_source.items() if n_documents]


def agree(first: Traits, second: Traits) -> bool:
    """Return whether two mentions agree in every trait that is known of both."""
    known = ((a, b) for a, b in zip(first, second, strict=True) if a and b)
    # A feature may have several values (``Masc,Fem``), of which one in common is enough.
    return all(set(a.split(",")) & set(b.split(",")) for a, b in known)


def _from_lexicon(document: Document, mention: Mention, tag: str) -> Traits:
    """Return number, gender and person of an English mention, whose head word has this tag."""
    assert mention.head is not None  # noqa: S101
    if mention.type == "pronoun":
        return PRONOUNS.get(document.words[mention.head].casefold(), ("", "", ""))
    forms = []
    for word in reversed([word for word in mention.words if word <= mention.head]):
        form = document.words[word].casefold()
        if form == ".":  # the full stop of "Mrs." may be a word of its own
            continue
        if not form.rstrip(".").isalnum():  # a title before a possessive is not that of the head: "the king 's castle"
            break
        forms.append(form.rstrip("."))
    genders = {TITLES[form] for form in forms if form in TITLES}
    return _NUMBER_BY_TAG.get(tag, ""), genders.pop() if len(genders) == 1 else "", ""
