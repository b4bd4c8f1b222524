"""What the policy costs a household that nobody attacks: weeks of the invented family, every question answered yes."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from actions.policy.policy import Policy
from forewatch.demo import START, ZONE, household_of, prepare
from forewatch.play import Player, Span
from forewatch.sample import accounts, materialise
from forewatch.settings import Settings
from forewatch.testing import approve_all
from forewatch.wiring import Service, build, build_setup
from schemas.account import AccountState
from schemas.clock import ManualClock, start_of_day
from streams.journal import valid_entries


@dataclass(frozen=True, slots=True)
class Benign:
    """``tasks``: runs that were approved and are over; ``done`` of them ended well; ``asked``: confirmations."""

    tasks: int
    done: int
    asked: int

    @property
    def per_task(self) -> float:
        return self.asked / self.tasks if self.tasks else 0.0


async def live(policy: Policy, days: int) -> Benign:
    with tempfile.TemporaryDirectory(prefix="fw") as folder:
        root, zone = Path(folder), ZoneInfo(ZONE)
        household = household_of(1, ZONE, START, "usual")
        clock = ManualClock(start_of_day(START, zone))
        settings = Settings(
            home=root / "home", timezone=ZONE, broker=f"embedded://{root}/log.db?sync=normal", poll_concurrency=1
        )
        setup = replace(build_setup(settings, clock), policy=policy)
        service = await build(settings, clock, random.Random(1), setup)
        try:
            await service.start()
            await service.accounts.refresh()
            for name, connector, config in accounts(household):
                place = root / "world" / str(config["path"])
                prepare(place, connector)
                account = AccountState(
                    id=name, owner=settings.owner, connector=connector, config={**config, "path": str(place)},
                    created_at=clock.now(),
                )  # fmt: skip
                await service.log.append([service.accounts.output(account)])
            span = Span(START, START + timedelta(days=days), zone)
            player = Player(
                service, clock, span, answer=approve_all,
                arrive=lambda until: materialise(household, root / "world", until),
            )  # fmt: skip
            await player.play()
            return await _counted(service)
        finally:
            await service.stop()


async def _counted(service: Service) -> Benign:
    states = [state for book in service.act.books() for state in book.proposals.values()]
    over = [state for state in states if state.phase in ("done", "failed", "stopped")]
    asked = [entry async for entry in valid_entries(service.log) if entry.type == "step.confirmed"]
    of_those = {state.id for state in over}
    return Benign(len(over), sum(s.phase == "done" for s in over), sum(entry.stream in of_those for entry in asked))
