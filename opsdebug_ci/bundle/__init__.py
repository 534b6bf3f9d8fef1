"""The file form of a bundle: one archive of a manifest and raw storages. Standard library only; both sides write it."""
