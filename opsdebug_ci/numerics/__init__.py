"""Arithmetic on the worker side: formats, error statistics, tolerances, the mpmath oracle."""
