"""Questions in SQL: views, functions, answers."""
