"""Data, ids, clock and errors that every other package speaks; imports nothing of ours."""
