"""A record of the IMAP connector as the event that it means: the same as of a mail in a Maildir."""

from extractors.maildir.normalize import normalise

__all__ = ["normalise"]
