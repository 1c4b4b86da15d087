"""The estimator of scikit-learn that all probes are."""

from __future__ import annotations

import inspect

from sklearn.base import BaseEstimator


class Estimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator whose constructor may pass further arguments on to that of its base class, as ``**others``."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # scikit-learn reads the signature of the class alone, so that copies of a probe whose constructor passes its
        # seed on would lose it.
        names: set[str] = set()
        for kind in [each for each in cls.__mro__ if "__init__" in vars(each)]:
            _, *parameters = inspect.signature(vars(kind)["__init__"]).parameters.values()
            names |= {each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
            if all(each.kind is not each.VAR_KEYWORD for each in parameters):
                break
        return sorted(names)
