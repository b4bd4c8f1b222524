"""The tools that ship with Forewatch; each says in its manifest what it can do to the world."""
