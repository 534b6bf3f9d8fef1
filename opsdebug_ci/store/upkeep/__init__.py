"""The store looked after: packed, pruned, verified, sent elsewhere."""
