"""The ``attentionology`` command: one file per sub-command. The only place that wires rooms together."""
