"""Two salaries a month: shifted by weekends, three times late or missing; and a child benefit that always comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from forewatch.sample import bankdays
from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.labels import Label
from forewatch.sample.marking import notice, silence
from forewatch.sample.scene import Row, Scene
from forewatch.sample.stage import Stage, days

RULES = ("salary-missing",)
_HISTORY = 4
"""Salaries that come as usual before one may fail."""
_WORDS = {
    "en": "Salary {m:02d}/{y}",
    "de": "Lohn/Gehalt {m:02d}/{y}",
    "fr": "Salaire {m:02d}/{y}",
    "es": "Nómina {m:02d}/{y}",
}


@dataclass(frozen=True, slots=True)
class Job:
    company: Company
    amount: Decimal
    day_of_month: int
    shift: Callable[[date], date]
    """Where a pay day goes that is no bank day."""

    def pay_day(self, month: tuple[int, int]) -> date:
        return self.shift(date(*month, self.day_of_month))


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["salaries"]
    early = Job(stage.company("jobs", "craft"), dice["pay", 1].cents(2600, 4200), 27, bankdays.on_or_before)
    late = Job(
        stage.company("jobs", "school"),
        dice["pay", 2].cents(1500, 2500),
        dice["day"].pick((1, 2, 28)),
        bankdays.on_or_after,
    )
    for index, (job, plan) in enumerate(
        zip((early, late), dice["plan"].shuffled((("late",), ("late", "never"))), strict=True)
    ):
        yield _career(stage, dice[index], job, plan, str(index))
    yield _benefit(stage, dice["benefit"])


def _months(stage: Stage) -> list[tuple[int, int]]:
    first = stage.start.year * 12 + stage.start.month - 1
    return [((first + index) // 12, (first + index) % 12 + 1) for index in range(13)]


def _career(stage: Stage, dice: Dice, job: Job, plan: tuple[str, ...], name: str) -> Scene:
    months = [month for month in _months(stage) if stage.start < job.pay_day(month) < stage.end - days(2)]
    failing = _failing(stage, dice, job, months, len(plan))
    rows: list[Row] = []
    labels: list[Label] = []
    for month in months:
        due = job.pay_day(month)
        fate = plan[failing.index(month)] if month in failing else "paid"
        before = tuple(row.reference for row in rows[-4:])
        if fate == "paid":
            rows.append(_pay(job, due, month, dice))
        elif fate == "late":
            rows.append(_pay(job, bankdays.on_or_after(due + days(12)), month, dice))
            seen = stage.seen_on("bank-a", rows[-1].booked)
            labels.append(_missing(f"{name}{month[1]:02d}", before, (due, seen), job, "comes twelve days late", seen))
        else:
            labels.append(_missing(f"{name}{month[1]:02d}", before, (due, due + days(16)), job, "never comes", None))
        if fate == "paid" and due.day != job.day_of_month and len(rows) > _HISTORY:
            labels.append(_shifted(f"{name}{month[1]:02d}", rows, due, job))
    return Scene(rows=tuple(rows), labels=tuple(labels))


def _failing(
    stage: Stage, dice: Dice, job: Job, months: list[tuple[int, int]], count: int
) -> tuple[tuple[int, int], ...]:
    """Months of failing salaries: after some history, apart from one another, when bank A speaks."""
    fits = [
        month
        for month in months[_HISTORY:]
        if job.pay_day(month) + days(20) < stage.end
        and not any(stage.outages.covers("bank-a", job.pay_day(month) + days(offset)) for offset in range(-2, 20))
    ]
    chosen: list[tuple[int, int]] = []
    for month in dice["failing"].shuffled(fits):
        if all(abs(months.index(month) - months.index(other)) > 2 for other in chosen):
            chosen.append(month)
    return tuple(chosen[:count])


def _pay(job: Job, booked: date, month: tuple[int, int], dice: Dice) -> Row:
    return Row(
        bank="bank-a",
        booked=booked,
        amount=job.amount,
        counterparty=job.company.name,
        purpose=_WORDS[job.company.lang].format(y=month[0], m=month[1]),
        reference=f"PAY{dice['e2e', month].hexes(10).upper()}",
        kind="salary",
        iban=job.company.iban,
    )


def _missing(
    name: str, items: tuple[str, ...], window: tuple[date, date], job: Job, what: str, cancelled_on: date | None
) -> Label:
    return notice(name, RULES, items, window, job.company.lang, f"a salary that {what}", cancelled_on)


def _shifted(name: str, rows: list[Row], due: date, job: Job) -> Label:
    items = tuple(row.reference for row in rows[-3:])
    window = (due - days(4), due + days(2))
    return silence(name, RULES, items, window, job.company.lang, "a pay day moved by a weekend or holiday")


def _benefit(stage: Stage, dice: Dice) -> Scene:
    office = stage.company("benefit", "office")
    rows = []
    for index, month in enumerate(_months(stage)):
        booked = bankdays.on_or_after(date(*month, 24))
        if stage.start <= booked < stage.end:
            reference = f"KG{dice['e2e', index].digits(10)}"
            rows.append(
                Row(
                    "bank-a",
                    booked,
                    Decimal("510.00"),
                    office.name,
                    f"{month[1]:02d}/{month[0]} {stage.family.surname}",
                    reference,
                    "income",
                    office.iban,
                )
            )
    return Scene(rows=tuple(rows))
