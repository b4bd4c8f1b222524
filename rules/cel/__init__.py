"""The part of CEL (Common Expression Language) that rules need: parsed, checked against the event, compiled."""
