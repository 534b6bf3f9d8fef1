"""What a stage found, said on GitHub: artifacts in, one comment and one check out."""
