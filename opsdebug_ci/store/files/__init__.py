"""What a store is made of: names, packs, what counts, Parquet in and out."""
