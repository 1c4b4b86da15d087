from .corpus import CorpusOptions as CorpusOptions
from .explain import Explanation as Explanation
from .probe import ProbingRun as ProbingRun
from .results.run import Run as Run
from .shown_heads import Shown as Shown

__all__: list[str]
