"""The small stories that make up a year: one module for each kind of thing that can need attention."""
