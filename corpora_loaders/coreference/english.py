"""Closed-class words of English: pronouns with their number, gender and person; titles and nouns that show a gender.

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
