from .columns import TableColumn as TableColumn
from .explorer.contribution import Contribution as Contribution
from .explorer.data import Fact as Fact
from .explorer.data import Measure as Measure
from .finding import Finding as Finding
from .page import Section as Section
from .table import ShownTable as ShownTable

__all__: list[str]
