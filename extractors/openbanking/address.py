"""Where secrets may be sent."""

from __future__ import annotations


def encrypted(url: str, *, allow_private: bool) -> None:
    """ValueError for an address to which a secret would go in clear text."""
    if not url.startswith("https://") and not allow_private:
        raise ValueError("the secret would be sent in clear text: use https, or set allow_private = true at home")
