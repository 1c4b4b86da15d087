"""Everything that decides what a probing run computes, and whether it makes sense."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...corpora_loaders import CorpusError
from ..contract import OptionError, OptionGroup
from ..option_groups import groups_of
from ..shared.input_options import ModelOptions
from ..shared.numbers import Seed
from ..shared.options import CountOptions, FeedForwardOptions
from .options import MapStoreOptions, ProbedMapOptions, ProbeOptions, ProbeTrainingOptions, Role, TreebankOptions
from .state_options import StateProbeOptions


@dataclass(frozen=True)
class ProbingOptions(OptionGroup):
    """Everything that decides what a probing run computes."""

    model: ModelOptions = field(default_factory=ModelOptions)
    treebanks: TreebankOptions = field(default_factory=TreebankOptions)
    probes: ProbeOptions = field(default_factory=ProbeOptions)
    training: ProbeTrainingOptions = field(default_factory=ProbeTrainingOptions)
    maps: ProbedMapOptions = field(default_factory=ProbedMapOptions)
    feed_forward: FeedForwardOptions = field(default_factory=FeedForwardOptions)
    states: StateProbeOptions = field(default_factory=StateProbeOptions)
    store: MapStoreOptions = field(default_factory=MapStoreOptions)
    counts: CountOptions = field(default_factory=CountOptions)

    seed: Seed = 0
    """The first seed of the probes, and the seed of the control task, the random weights and the bootstrap."""

    @property
    def seeds(self) -> range:
        """The seeds of the probes."""
        return range(self.seed, self.seed + self.training.seeds)

    def check(self, loaded: Collection[Role] = (), *, has_vectors: bool = False) -> None:
        """Validate the options before anything slow happens."""
        from ...corpora_loaders.lines import archive_of
        from ...probes import make_state_probe

        super().check()
        self.treebanks.check(loaded)
        self.probes.check(has_vectors=has_vectors)
        for group in (self.model, self.training, self.maps, self.states, self.store, self.counts):
            group.check()
        if self.states != StateProbeOptions() and not self.probes.of_states():
            options = "--layers, --pooling, --rank, --hidden and --codelength"
            raise OptionError(f"{options} are for probes of hidden states, such as arcs")
        if self.states.codelength and not any(make_state_probe(name).softmax for name in self.probes.of_states()):
            raise OptionError(
                "--codelength is for probes that predict probabilities: label:KEY, relation, arcs and arcs+attention; "
                "distance and depth predict none"
            )
        if self.feed_forward != FeedForwardOptions() and "atbff" not in self.maps.map:
            raise OptionError("--ff-bias is for maps that pass the feed-forward block (atbff…)")
        files = [Path(name) for names in self.treebanks.files(loaded).values() for name in names]
        if self.probes.vectors is not None:
            files.append(archive_of(self.probes.vectors))
        for file in files:
            if not file.exists():
                raise CorpusError("there is no such file", file=file)

    def flat(self) -> dict[str, Any]:
        """Return all options by their names, as on the command line, with paths as text."""
        flat: dict[str, Any] = {"seed": self.seed}
        for group in groups_of(ProbingOptions):
            for name, value in asdict(getattr(self, group)).items():
                flat[name] = str(value) if isinstance(value, Path) else value
        return flat
