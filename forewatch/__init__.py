"""The product: command line, socket API, settings, wiring, storage."""
