"""One literal per table of the store, with the rows a run gives it."""
