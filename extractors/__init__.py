"""Connectors: code that polls one kind of source and normalises what it gives; and the fact extractors."""
