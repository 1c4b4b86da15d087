"""Closed-class words of English, for corpora without tags.

These are pronouns with their number, gender and person; titles and nouns that show a gender; and words that end a noun
phrase.

Example:
    >>> from attentionology.corpora_loaders.coreference import PRONOUNS, TITLES
    >>> PRONOUNS["she"]
    ('Sing', 'Fem', '3')
    >>> TITLES["mrs"]
    'Fem'
"""

from __future__ import annotations

PRONOUNS: dict[str, tuple[str, str, str]] = {
    **dict.fromkeys(("i", "me", "my", "mine", "myself"), ("Sing", "", "1")),
    **dict.fromkeys(("we", "us", "our", "ours", "ourselves", "'s"), ("Plur", "", "1")),
    **dict.fromkeys(("you", "your", "yours"), ("", "", "2")),
    "yourself": ("Sing", "", "2"),
    "yourselves": ("Plur", "", "2"),
    **dict.fromkeys(("he", "him", "his", "himself"), ("Sing", "Masc", "3")),
    **dict.fromkeys(("she", "her", "hers", "herself"), ("Sing", "Fem", "3")),
    **dict.fromkeys(("it", "its", "itself"), ("Sing", "Neut", "3")),
    **dict.fromkeys(("they", "them", "their", "theirs", "themselves"), ("Plur", "", "3")),
    **dict.fromkeys(("themself", "one", "oneself", "one's"), ("Sing", "", "3")),
    **dict.fromkeys(("this", "that"), ("Sing", "", "3")),
    **dict.fromkeys(("these", "those"), ("Plur", "", "3")),
    **dict.fromkeys(("who", "whom", "whose", "which", "what", "there"), ("", "", "3")),
    **dict.fromkeys(("someone", "somebody", "anyone", "anybody", "everyone", "everybody"), ("Sing", "", "3")),
    **dict.fromkeys(("thou", "thee", "thy", "thine", "thyself"), ("Sing", "", "2")),
    **dict.fromkeys(("ye", "y'all"), ("Plur", "", "2")),
    **dict.fromkeys(("hisself",), ("Sing", "Masc", "3")),
    **dict.fromkeys(("'em", "both", "many", "several", "few", "others"), ("Plur", "", "3")),
    **dict.fromkeys(("whoever", "whomever", "none", "another", "each", "either", "neither"), ("", "", "3")),
    **dict.fromkeys(("no-one", "nobody", "something", "anything", "everything", "nothing"), ("Sing", "", "3")),
}
"""The number, gender and person of each pronoun, empty if the form does not show it. ``'s`` is the one in *let's*."""

TITLES = {
    **dict.fromkeys(("mr", "sir", "lord", "king", "prince", "duke", "father", "brother", "uncle"), "Masc"),
    **dict.fromkeys(("mrs", "ms", "miss", "lady", "queen", "princess", "duchess", "mother", "sister", "aunt"), "Fem"),
    **dict.fromkeys(
        ("man", "boy", "gentleman", "husband", "son", "actor", "waiter", "businessman", "chairman"), "Masc"
    ),
    **dict.fromkeys(("woman", "girl", "wife", "daughter", "actress", "waitress", "businesswoman"), "Fem"),
}
"""The gender that a title or a noun for a person shows. Titles are without their periods."""

PHRASE_ENDS = frozenset(
    "i you he she it we they there about above across after against along among around as at because before "
    "behind below beneath beside besides between beyond but by despite down during except for from if in "
    "inside into like near of off on onto or out outside over past per since so than though through throughout "
    "till to toward towards under underneath unlike until up upon when where whether which while who whom "
    "whose why with within without and nor is are was were be been being has have had do does did can could "
    "will would shall should may might must".split()
)
"""Personal and relative pronouns, prepositions, conjunctions and auxiliaries. In a simple noun phrase, such a word can
only be the first."""

NAMES_TOO = frozenset(("may", "will"))
"""Words of `PHRASE_ENDS` that are names if they have a capital letter: *Stella May Tackett*."""

SURNAMES_TOO = frozenset("can do near off so than till".split())
"""Words of `PHRASE_ENDS` that are names if they have a capital letter and end a name: *Emmett Till*."""

ABBREVIATIONS = frozenset(
    "mr mrs ms messrs mme mlle dr prof rev fr hon msgr gen col lt capt maj sgt cpl pvt cmdr cdr adm gov sen rep pres "
    "supt insp det st ste mt ft jr sr esq ph phil wm chas geo thos jas jos no nos vs v vol ch pt fig sec art inc ltd "
    "co corp bros dept univ assn ave blvd rd approx ca cf al etc "
    "jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
"""Words that are written with a period, here without it. Single letters, and letters with periods between them, are
abbreviations as well."""

SUFFIXES = frozenset(("jr", "sr", "esq", "phd"))
"""Words that follow a name and are never its head, without their periods."""

MONTHS = frozenset(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec".split()
)
"""Months without their periods. The head of a date is the day (one or two digits) if there is one, otherwise the
month."""

DETERMINERS = frozenset(
    "a an the this that these those my your his her its our their some any no every each another all both".split()
)
"""Words that may start a noun phrase with a capital letter but are not names."""
