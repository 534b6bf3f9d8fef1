"""What the bot does on GitHub: one comment, one check, for the right pull request."""
