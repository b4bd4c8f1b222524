"""Tools that are not ours: what the person agreed to of each, what it says of itself, and the process it runs in."""
