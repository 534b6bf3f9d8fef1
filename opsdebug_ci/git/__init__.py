"""The program git: the only place that runs it, and what is done with repositories through it."""
