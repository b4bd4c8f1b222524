"""Detection: pure evaluation of declarative rules over the event stream."""
