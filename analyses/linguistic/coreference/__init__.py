"""Which heads find antecedents (Clark et al. 2019, §4.3), against simple rules."""

from analyses.linguistic.coreference.accuracy import CoreferenceAccuracy
from analyses.linguistic.coreference.agreement import source_of_agreement
from analyses.linguistic.coreference.antecedents import DIRECTIONS
from analyses.linguistic.coreference.baselines import BASELINES, column_name
from analyses.linguistic.coreference.choices import POLICIES, REASONS, account
from analyses.linguistic.coreference.contrasts import STEREOTYPES
from analyses.linguistic.coreference.examples import Example, examples_of
from analyses.linguistic.coreference.tables import CoreferenceTables

__all__ = [
    "BASELINES",
    "DIRECTIONS",
    "POLICIES",
    "REASONS",
    "STEREOTYPES",
    "CoreferenceAccuracy",
    "CoreferenceTables",
    "Example",
    "account",
    "column_name",
    "examples_of",
    "source_of_agreement",
]
