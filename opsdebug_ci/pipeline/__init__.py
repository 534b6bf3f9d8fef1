"""Glue: one module per stage or command; every effect comes in as a parameter."""
