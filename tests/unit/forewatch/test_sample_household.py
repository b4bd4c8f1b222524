"""The sample household: the same everywhere, large enough, and made of files that other readers accept."""

from __future__ import annotations

import csv
import email
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from email import policy
from email.message import EmailMessage
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from zoneinfo import ZoneInfo

import icalendar
import pytest
import recurring_ical_events
from lxml import etree

from forewatch.sample import accounts, generate
from forewatch.sample.household import Drop, Household
from forewatch.sample.iban import is_valid
from forewatch.sample.labels import ALSO, RULES
from rules.library import library_paths
from rules.loader import load
from schemas.clock import local_day
from streams.silence import note_arrival, patience

START = date(2026, 1, 1)
ZONES = ("Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe")
SEEDS = (1, 77)
RARE = ("mailbox-quiet",)
"""A whole mailbox loses its mail once a year; there are a holiday and an outage that look like it."""
WAITING = (
    "parcel-late", "promise-open", "claim-open", "document-before-trip", "refund-missing", "mailbox-quiet",
    "report-stopped",
)  # fmt: skip
"""Their first mail becomes a situation only when nothing has followed it by a day, or when the second one comes."""
NS = {"c": "urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"}


@lru_cache(maxsize=8)
def household(seed: int, zone: str = ZONES[0]) -> Household:
    return generate(seed, zone, START)


def digest(home: Household) -> str:
    parts = [repr((drop.at.astimezone(UTC), drop.path, drop.action, drop.content)) for drop in home.drops]
    return sha256("\n".join([*parts, *map(repr, home.labels)]).encode()).hexdigest()


def arrivals(home: Household, folder: str) -> Iterator[Drop]:
    return (drop for drop in home.drops if drop.path.startswith(folder) and drop.action != "delete")


@lru_cache(maxsize=4)
def letters(seed: int, zone: str = ZONES[0], folder: str = "mail/new") -> tuple[EmailMessage, ...]:
    """Each received mail once, or each that the owner sent."""
    raw = (drop.content for drop in arrivals(household(seed, zone), folder))
    return tuple(email.message_from_bytes(content, policy=policy.default) for content in raw)  # type: ignore[misc]


def calendar_file(home: Household) -> bytes:
    return list(arrivals(home, "calendar"))[-1].content


def camt_rows(home: Household) -> list[dict[str, str]]:
    """Every entry of every CAMT statement, with repetitions."""
    rows = []
    for drop in arrivals(home, "bank-a"):
        for entry in etree.fromstring(drop.content).iterfind(".//c:Ntry", NS):
            rows.append(
                {field: entry.findtext(f".//c:{field}", "", NS) for field in ("AcctSvcrRef", "Sts", "Amt", "IBAN")}
            )
    return rows


def csv_rows(home: Household) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for drop in arrivals(home, "bank-b"):
        rows += csv.DictReader(io.StringIO(drop.content.decode("iso-8859-1")), delimiter=";")
    return rows


SCRIPT = """
from datetime import UTC, date
from hashlib import sha256
from forewatch.sample import generate
home = generate(5, "Asia/Kolkata", date(2026, 1, 1))
parts = [repr((drop.at.astimezone(UTC), drop.path, drop.action, drop.content)) for drop in home.drops]
print(sha256("\\n".join([*parts, *map(repr, home.labels)]).encode()).hexdigest())
"""


def test_another_process_in_another_locale_makes_the_same_bytes() -> None:
    environment = {**os.environ, "TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "4711"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(generate(5, "Asia/Kolkata", START))


def test_another_seed_is_another_year() -> None:
    one, two = household(1), household(77)
    assert one.owner_name != two.owner_name
    assert not {drop.content for drop in arrivals(one, "mail")} & {drop.content for drop in arrivals(two, "mail")}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_year_is_as_large_as_promised(seed: int) -> None:
    home = household(seed)
    booked = {row["AcctSvcrRef"] for row in camt_rows(home) if row["Sts"] == "BOOK"}
    booked |= {row["Kundenreferenz (End-to-End)"] for row in csv_rows(home) if row["Info"] == "Umsatz gebucht"}
    calendar = icalendar.Calendar.from_ical(calendar_file(home))
    zone = ZoneInfo(home.zone)
    begin, end = datetime(2026, 1, 1, tzinfo=zone), datetime(2027, 1, 1, tzinfo=zone)
    occurrences = recurring_ical_events.of(calendar).between(begin, end)
    assert len(letters(seed)) >= 600
    assert len(booked) >= 1500
    assert len(occurrences) >= 250
    assert len(home.situations) >= 150
    assert len(home.look_alikes) >= 150
    assert sum(label.cancelled_on is not None for label in home.situations) >= 20


@pytest.mark.parametrize("seed", SEEDS)
def test_each_rule_has_situations_and_look_alikes(seed: int) -> None:
    home = household(seed)
    for labels in (home.situations, home.look_alikes):
        counts = Counter(rule for label in labels for rule in label.rules[:1])
        assert set(counts) == set(RULES)
        assert all(count >= (1 if rule in RARE else 3) for rule, count in counts.items())
    assert {label.language for label in home.situations} >= {"en", "de", "fr", "es"}


@pytest.mark.parametrize("zone", ZONES)
def test_drops_are_in_order_and_within_the_year(zone: str) -> None:
    home = household(3, zone)
    instants = [drop.at.astimezone(UTC) for drop in home.drops]
    assert all(one <= two for one, two in pairwise(instants))
    days = {local_day(instant, ZoneInfo(zone)) for instant in (instants[0], instants[-1])}
    assert all(home.start <= day < home.end for day in days)
    assert len({drop.path for drop in home.drops if drop.action == "add"}) == sum(d.action == "add" for d in home.drops)


@pytest.mark.parametrize("zone", ZONES)
def test_the_words_of_labels_stand_in_the_files(zone: str) -> None:
    home = household(3, zone)
    names = {str(letter["Message-ID"]).strip("<>") for letter in (*letters(3, zone), *letters(3, zone, "mail/.Sent"))}
    names |= {row["AcctSvcrRef"] for row in camt_rows(home)}
    names |= {row["Kundenreferenz (End-to-End)"] for row in csv_rows(home)}
    for drop in arrivals(home, "calendar"):
        names |= {line[4:] for line in drop.content.decode().split("\r\n") if line.startswith("UID:")}
    for letter in letters(3, zone):
        for part in letter.walk():
            if part.get_content_type() == "text/calendar":
                names |= {line[4:] for line in part.get_content().splitlines() if line.startswith("UID:")}
    names |= {f"account:{name}" for name, _, _ in accounts(home)}
    names |= {
        f"balance:{iban}"
        for drop in arrivals(home, "bank-a")
        for iban in re.findall("<IBAN>(.*?)</IBAN>", drop.content.decode())
    }
    missing = {item for label in home.labels for item in label.items} - names
    assert missing == set()


@pytest.mark.parametrize("zone", ZONES)
def test_labels_lie_within_the_year(zone: str) -> None:
    home = household(3, zone)
    assert len({label.id for label in home.labels}) == len(home.labels)
    for label in home.labels:
        assert label.items
        assert home.start <= label.notice_from <= label.notice_by < home.end
        assert set(label.rules) <= {*RULES, *ALSO}
        if label.cancelled_on:
            assert label.notice_from < label.cancelled_on < home.end
            assert label.notice_by <= label.cancelled_on


def test_a_label_opens_on_the_day_on_which_its_mail_comes() -> None:
    home = household(3, "America/Los_Angeles")
    came = {}
    for drop in arrivals(home, "mail/new"):
        name = str(email.message_from_bytes(drop.content, policy=policy.default)["Message-ID"]).strip("<>")
        came[name] = local_day(drop.at, ZoneInfo(home.zone))
    opened = {
        label: came[label.items[0]]
        for label in home.situations
        if label.items[0] in came and label.rules[0] not in WAITING
    }
    assert len(opened) > 30
    assert all(label.notice_from - day <= timedelta(days=1) for label, day in opened.items())
    assert all(label.notice_from >= day for label, day in opened.items())


def test_every_mail_is_whole() -> None:
    for letter in letters(1):
        assert letter["From"].addresses[0].domain.endswith(".example")
        assert letter["Subject"]
        assert letter["Date"].datetime.utcoffset() is not None
        for part in letter.walk():
            assert not part.defects
            if part.get_content_maintype() == "text":
                assert part.get_content().strip()
                assert "�" not in part.get_content()


def test_mails_come_in_many_forms() -> None:
    mails = letters(1)
    parts = [part for mail in mails for part in mail.walk()]
    assert {part.get_content_charset() for part in parts} >= {"utf-8", "iso-8859-1", "windows-1252"}
    transfers = {str(part["Content-Transfer-Encoding"]) for part in parts}
    assert transfers >= {"quoted-printable", "base64", "8bit"}
    kinds = Counter(mail.get_content_type() for mail in mails)
    assert set(kinds) >= {"text/plain", "text/html", "multipart/alternative", "multipart/mixed"}
    methods = {part.get_param("method") for part in parts if part.get_content_type() == "text/calendar"}
    assert methods == {"REQUEST", "CANCEL"}
    assert sum("List-Unsubscribe" in mail for mail in mails) > 100
    assert sum("In-Reply-To" in mail for mail in mails) > 3


def test_structured_data_are_json() -> None:
    found = Counter()
    for mail in letters(1):
        html = mail.get_body(("html",))
        if html is None:
            continue
        for script in etree.HTML(html.get_content()).iterfind(".//script"):
            found[json.loads(script.text)["@type"]] += 1
    assert found["Invoice"] > 10
    assert sum(found.values()) - found["Invoice"] > 10


@pytest.mark.parametrize("zone", ZONES)
def test_the_calendar_reads_back_and_has_exceptions(zone: str) -> None:
    calendar = icalendar.Calendar.from_ical(calendar_file(household(3, zone)))
    entries = calendar.walk("VEVENT")
    assert any("RECURRENCE-ID" in entry for entry in entries)
    assert any("EXDATE" in entry for entry in entries)
    assert any(str(entry["STATUS"]) == "CANCELLED" for entry in entries)
    assert any(entry["SEQUENCE"] > 0 and "RRULE" not in entry for entry in entries)
    assert any(type(entry["DTSTART"].dt) is date for entry in entries)
    tzids = {entry["DTSTART"].params.get("TZID") for entry in entries}
    assert {zone, "W. Europe Standard Time", None} <= tzids


@pytest.mark.parametrize("seed", SEEDS)
def test_ordinary_meetings_do_not_overlap(seed: int) -> None:
    home = household(seed)
    zone = ZoneInfo(home.zone)
    clashing = {item for label in home.labels if "meeting-clash" in label.rules for item in label.items}
    calendar = icalendar.Calendar.from_ical(calendar_file(home))
    begin, end = datetime(2026, 1, 1, tzinfo=zone), datetime(2027, 1, 1, tzinfo=zone)
    times = []
    for entry in recurring_ical_events.of(calendar).between(begin, end):
        start, stop = entry["DTSTART"].dt, entry["DTEND"].dt
        if isinstance(start, datetime) and str(entry["STATUS"]) != "CANCELLED" and str(entry["UID"]) not in clashing:
            start, stop = (
                at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=zone).astimezone(UTC) for at in (start, stop)
            )
            times.append((start, stop))
    times.sort()
    assert len(times) > 150
    assert [(one, two) for one, two in pairwise(times) if two[0] < one[1]] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_statements_add_up_and_repeat_themselves(seed: int) -> None:
    home = household(seed)
    closing = ""
    for drop in arrivals(home, "bank-a/camt053"):
        tree = etree.fromstring(drop.content)
        opening, closed = (
            f"{balance.findtext('c:CdtDbtInd', '', NS)}{balance.findtext('c:Amt', '', NS)}"
            for balance in tree.iterfind(".//c:Bal", NS)
        )
        assert closing in ("", opening)
        closing = closed
    repeated = Counter(row["AcctSvcrRef"] for row in camt_rows(home) if row["Sts"] == "BOOK")
    assert max(repeated.values()) == 2
    assert any(row["Sts"] == "PDNG" for row in camt_rows(home))
    weekly = Counter(row["Kundenreferenz (End-to-End)"] for row in csv_rows(home))
    assert max(weekly.values()) >= 2
    assert any(row["Info"] == "Umsatz vorgemerkt" for row in csv_rows(home))


def test_account_numbers_check_out() -> None:
    found = {row["IBAN"] for row in camt_rows(household(1)) if row["IBAN"]}
    assert len(found) > 20
    assert all(is_valid(number) for number in found)


@pytest.mark.parametrize("zone", ZONES)
def test_a_silent_source_says_nothing(zone: str) -> None:
    home = household(3, zone)
    folders = {"mail": "mail", "calendar": "calendar", "bank-a": "bank-a", "bank-b": "bank-b"}
    labels = [label for label in home.situations if label.rules == ("source-silent",)]
    assert len(labels) == 4
    for label in labels:
        account = label.items[0].removeprefix("account:")
        days = {local_day(drop.at, ZoneInfo(zone)) for drop in home.drops if drop.path.startswith(folders[account])}
        assert label.cancelled_on in days
        assert not any(label.notice_from <= day < label.notice_by for day in days)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("account", ["mail", "calendar", "bank-a", "bank-b"])
def test_a_source_is_silent_once_and_that_is_labelled(seed: int, account: str) -> None:
    home = household(seed)
    zone = ZoneInfo(home.zone)
    arrived: tuple[datetime, ...] = ()
    silent = []
    for drop in [drop for drop in home.drops if drop.path.startswith(f"{account}/")]:
        allowed = patience(arrived)
        if allowed and drop.at - arrived[-1] > allowed:
            silent.append((local_day(arrived[-1] + allowed, zone), local_day(drop.at, zone)))
        arrived = note_arrival(arrived, drop.at, zone)
    (label,) = (label for label in home.situations if label.items == (f"account:{account}",))
    ((noticed, over),) = silent
    assert over == label.cancelled_on
    assert label.notice_from <= noticed < label.notice_by
    allowed = patience(arrived)
    assert allowed is not None
    assert datetime(2027, 1, 1, tzinfo=zone) - arrived[-1] < allowed


def test_the_labels_are_about_every_detector_but_those_that_watch_other_sources() -> None:
    library = load(library_paths(), zone=ZoneInfo("UTC"))
    labelled = {library.by_id[rule].detector for rule in RULES}
    assert {rule.detector for rule in library} - labelled <= {"threshold", "flatline", "mean"}
