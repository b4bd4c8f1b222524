"""Mail on this machine: Maildir folders (with Maildir++ subfolders) and mbox files."""

from extractors.maildir.connector import MaildirConnector

connector = MaildirConnector()

__all__ = ["MaildirConnector", "connector"]
