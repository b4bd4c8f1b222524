"""Runs programs that are not ours: in a sandbox without network, with an egress broker as the only way out."""
