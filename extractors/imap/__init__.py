"""Mail on a server, by IMAP: looked at and never touched."""

from extractors.imap.connector import ImapConnector

connector = ImapConnector()

__all__ = ["ImapConnector", "connector"]
