"""RFC 5322 messages: bytes to Message to Event, for every connector that gives mail (Maildir today; IMAP and the rest).

Everything here is pure and bounded: whatever the bytes are, ``message.read`` ends soon, as a Message or a PoisonError.
"""
