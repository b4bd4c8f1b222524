"""What is remembered: of one run, and of the person, each with where it comes from."""
