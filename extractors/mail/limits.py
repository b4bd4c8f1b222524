"""How much of a mail is read. What passes a limit is warned of, or refused with a reason."""

MESSAGE_BYTES = 64 * 1024 * 1024
"""A larger message is refused (too_large)."""
HEADER_BYTES = 512 * 1024
"""Of one header block; what stands behind is not read."""
HEADER_FIELDS = 2_000
FIELD_BYTES = 64 * 1024
"""Of one header field, unfolded."""
PARTS = 1_000
DEPTH = 30
"""Multiparts inside of multiparts."""
TEXT_BYTES = 1024 * 1024
"""Of one text part, decoded."""
TEXT_PARTS = 50
CALENDAR_BYTES = 256 * 1024
PARTIES = 200
ATTACHMENTS = 200
REFERENCES = 100
