"""Configuration, selection, pairwise cover: from what the person wants to the cases to run."""
