"""What connectors are tested with: the contract suite, polls, stand-ins for services, and runs under faults."""

from extractors.testing.access import Key
from extractors.testing.contract import QUALITY, ConnectorContract, ScriptedSource
from extractors.testing.polling import START, Poll, context_for, events_of, poll, record_of, records_of

__all__ = [
    "QUALITY",
    "START",
    "ConnectorContract",
    "Key",
    "Poll",
    "ScriptedSource",
    "context_for",
    "events_of",
    "poll",
    "record_of",
    "records_of",
]
