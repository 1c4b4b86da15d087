"""The base of all errors; it stands in the lowest room, because every room raises errors of this kind."""


class AttentionologyError(Exception):
    """Base of everything that is wrong with the input and not with the program."""
