"""The base of all errors. It is in the lowest room because every room raises errors of this kind."""

from .characters import visible


class AttentionologyError(Exception):
    """Base of the errors that the input causes, such as a damaged file or an option that cannot be used.

    Catch it to handle whatever the toolkit reports about its input. An error in the program itself is of another class.

    Example:
        >>> from attentionology import AttentionologyError, load_treebank
        >>> try:
        ...     treebank = load_treebank("missing.conllu")
        ... except AttentionologyError as error:
        ...     print(error)
        missing.conllu: there is no such file
    """

    def __str__(self) -> str:
        return visible(super().__str__())  # the message may have names of files and words of corpora
