"""Errors of the command line."""

from attentionology.analyses.contract import OptionError as UsageError

__all__ = ["UsageError"]
