from .analyses import check_analysis as check_analysis
from .explanation_tests import check_explanation_test as check_explanation_test
from .formats import check_format as check_format
from .kinds import check_kind as check_kind
from .probes import check_probe as check_probe
from .questions import check_question as check_question

__all__: list[str]
