"""What tests of acting are made of: a journal in memory, a bank that misbehaves, crashes at every point."""
