"""The rules that come with Forewatch: complete, free of lint, and true to their examples."""

from __future__ import annotations

from collections.abc import Iterator
from zoneinfo import ZoneInfo

import pytest

from rules import loader
from rules.library import library_paths
from rules.prepared import PreparedRule
from rules.testing import run_examples

PLAYBOOKS = (
    "pay-invoice", "renew-document", "cancel-contract", "end-trial", "check-missing-income", "answer-mail",
    "resolve-clash", "handle-booking-change", "review-charge", "check-source", "prepare-deadline", "review-price",
    "renew-consent", "ask-for-refund", "secure-card", "cover-account",
    "ask-again", "secure-account", "prepare-meeting", "check-row",
)  # fmt: skip
IDS = {
    "invoice-unpaid", "document-expiring", "contract-notice", "trial-ending", "salary-missing", "mail-unanswered",
    "meeting-clash", "booking-changed", "spend-anomaly", "source-silent", "due-soon", "price-rise",
    "sign-in-needed", "consent-ending", "report-stopped",
    "reply-owed", "promise-open", "parcel-late", "claim-open", "return-window", "sign-in-alert", "mail-flood",
    "mailbox-quiet", "receivable-overdue", "approval-waiting", "deal-stalled", "issue-overdue", "milestone-at-risk",
    "leave-expiring", "contract-record-ending", "run-failed", "runs-failing", "document-before-trip",
    "travel-unreachable", "day-overbooked", "meeting-moved", "meeting-unprepared", "invitation-unanswered",
    "price-raised", "iban-changed", "invoice-iban-changed", "payee-unknown", "account-overdrawn",
    "low-balance",
    "refund-missing", "debit-returned", "income-lower", "payouts-lower", "double-charge", "spending-spike",
    "subscription-dormant", "bank-fees", "foreign-fee", "withdrawals-many", "card-tested",
    "service-canary", "canary-lost", "rule-blind",
}  # fmt: skip
ZONES = ("Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe")


def rules(zone: str) -> Iterator[PreparedRule]:
    return iter(loader.load(library_paths(), zone=ZoneInfo(zone), playbooks=PLAYBOOKS).rules)


@pytest.mark.parametrize("zone", ZONES)
def test_every_example_does_what_it_promises_in_every_zone(zone: str) -> None:
    results = [result for rule in rules(zone) for result in run_examples(rule)]
    failed = [f"{result.rule}: {result.name}: {result.why}" for result in results if not result.passed]
    assert not failed, "\n".join(failed)
    assert len(results) >= 60


def test_the_library_has_the_rules_that_others_depend_on() -> None:
    assert {rule.id for rule in rules("UTC")} == IDS


def test_every_rule_has_examples_that_must_fire_and_that_must_not() -> None:
    for rule in rules("UTC"):
        assert rule.model.examples.fires, rule.id
        assert len(rule.model.examples.silent) >= 2, rule.id


def test_every_detector_of_the_design_is_used_by_a_rule() -> None:
    design = {
        "match", "deadline", "absence", "sequence", "count", "sum", "rate", "spike", "drop", "anomaly", "new_value",
        "change", "conflict", "flatline", "threshold",
    }  # fmt: skip
    assert design - {rule.detector for rule in rules("UTC")} == set()
