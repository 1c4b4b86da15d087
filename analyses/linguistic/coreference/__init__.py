"""Which heads find antecedents (Clark et al. 2019, §4.3), against simple rules."""

from attentionology.analyses.linguistic.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.linguistic.coreference.agreement import source_of_agreement
from attentionology.analyses.linguistic.coreference.antecedents import DIRECTIONS
from attentionology.analyses.linguistic.coreference.baselines import BASELINES, column_name
from attentionology.analyses.linguistic.coreference.choices import POLICIES, REASONS, account
from attentionology.analyses.linguistic.coreference.contrasts import STEREOTYPES
from attentionology.analyses.linguistic.coreference.examples import Example, examples_of
from attentionology.analyses.linguistic.coreference.tables import CoreferenceTables

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
