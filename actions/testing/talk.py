"""Talk: inputs in, journal entries out, without a port or a loop; for tests of what is decided."""

from __future__ import annotations

from actions.journal import seal
from actions.proposal.book import Book
from actions.proposal.propose import Input, decide
from actions.proposal.state import ProposalState
from actions.setup import Setup
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.journal import JournalEntry
from schemas.model import Json


class Talk:
    """One owner's book, a clock that is moved by hand, and every entry that was written."""

    def __init__(self, setup: Setup, clock: ManualClock, owner: str = "ann") -> None:
        self.setup = setup
        self.clock = clock
        self.book = Book(owner)
        self.entries: list[JournalEntry] = []
        self._said = 0

    def say(self, said: Input) -> list[JournalEntry]:
        drafts = decide(self.book, said, self.clock.now(), self.setup)
        entries = seal(drafts, owner=self.book.owner, epoch=1, tip=self.book.tip)
        for entry in entries:
            self.book.apply(entry)
        self.entries += entries
        return entries

    def tell(
        self, state: ProposalState, verb: Verb, *, digest: str | None = None, channel: str = "cli", **args: Json
    ) -> list[JournalEntry]:
        """A command about this proposal, by somebody who looks at it now unless ``digest`` says otherwise."""
        return self.say(self.command(state, verb, digest=digest, channel=channel, **args))

    def command(
        self, state: ProposalState, verb: Verb, *, digest: str | None = None, channel: str = "cli", **args: Json
    ) -> Command:
        self._said += 1
        return Command(
            id=ids.command_id(state.id, verb, str(self._said)),
            owner=self.book.owner,
            who="ann",
            channel=channel,
            verb=verb,
            proposal=state.id,
            digest=state.digest if digest is None else digest,
            args=args,
            at=self.clock.now(),
        )
