"""A run: the next move as a pure decision, the executor that performs it, waits, doubt, replanning and undoing."""
