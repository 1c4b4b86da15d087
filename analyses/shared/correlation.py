"""The fewest points of a rank correlation."""

FEWEST_POINTS = 5
"""The number of points below which there is no correlation. Two points always give ±1, and four give +1 or −1 by chance
alone in one of twelve cases."""
