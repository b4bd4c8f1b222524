"""The plugins of this installation: files that the person reviewed, tools that come of them, an account of egress."""
