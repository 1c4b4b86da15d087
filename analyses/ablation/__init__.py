"""The analysis ``ablation``: what changes in a model if one of its heads is switched off."""
