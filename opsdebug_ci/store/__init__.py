"""The baseline store: append-only Parquet that anyone can read, and SQL over it.

The only importer of pyarrow and duckdb, so that everything else starts fast; import its modules, not this package:
`backends` (open a store by its location), `query` (SQL, table list), `known` (failures already recorded),
`identity` (run ids). Decides layout, columns and format version; deliberately judges nothing.
"""
