"""The analysis ``coreference``: how often each attention head picks an antecedent of a mention."""
