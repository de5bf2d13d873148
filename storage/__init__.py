"""Nouns to and from Parquet, DuckDB and the manifest; table schemas and their version."""
