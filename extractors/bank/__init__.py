"""What every bank source needs, files and APIs alike: rows, amounts, identity, pending rows, balances and events."""
