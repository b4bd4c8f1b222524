"""SimpleFIN: bank accounts through a SimpleFIN server, such as the SimpleFIN Bridge."""

from __future__ import annotations

from extractors.simplefin.connector import SimpleFin

connector = SimpleFin()

__all__ = ["SimpleFin", "connector"]
