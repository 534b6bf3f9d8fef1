"""Where a store may lie: one interface, one file per kind of place, one registry."""
