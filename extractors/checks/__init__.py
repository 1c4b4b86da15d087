"""Examinations of a model: what it supports (`doctor`), and how precise its maps are."""
