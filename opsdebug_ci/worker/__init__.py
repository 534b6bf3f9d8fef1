"""The worker process: cases in, observations out. Runs in the user's interpreter and may die there."""
