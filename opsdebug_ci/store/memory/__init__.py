"""What the store remembers, asked by the rest of the program."""
