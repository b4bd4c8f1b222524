"""A durable log with topics, partitions and groups in one SQLite file, inside the process that uses it."""
