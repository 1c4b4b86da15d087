"""Names that commands still import from here; they live in ``analyses.shared``."""

from attentionology.analyses.shared.cache_folder import cache_folder
from attentionology.analyses.shared.input_options import check_seed, default_folder, paths_read
from attentionology.analyses.shared.numbers import NUMBERS, OptionalNumber, OptionalReal

__all__ = ["NUMBERS", "OptionalNumber", "OptionalReal", "cache_folder", "check_seed", "default_folder", "paths_read"]
