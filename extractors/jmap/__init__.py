"""Mail by JMAP: Fastmail, Cyrus, Stalwart."""

from extractors.jmap.connector import Jmap

connector = Jmap()

__all__ = ["Jmap", "connector"]
