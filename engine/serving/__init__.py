"""A server on this machine that draws sentences as they are typed, for the page of a run."""
