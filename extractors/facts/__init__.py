"""Facts: typed values that words and markup state, extracted by rules that a person can read (law L1).

``extract`` reads words; ``jsonld.find`` reads schema.org markup in HTML; ``itip.find`` reads invitations. All are pure:
the same words in the same context give the same facts, on any machine and in any year.
"""

from extractors.facts.context import TextContext
from extractors.facts.extract import extract

__all__ = ["TextContext", "extract"]
