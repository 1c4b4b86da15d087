"""Probes of hidden states: distances and depths of trees, labels of words and of pairs, and the heads of words."""
