"""History that other tools recorded, read from their files into values of ours.

`registry` knows the formats; each has a module. Reads JSON only, runs nothing, and touches no store.
"""
