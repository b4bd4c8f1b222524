"""Trials that end: by the word for their end, by the price that begins, or by how long they are; and what is none."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

import pytest

from extractors.facts import TextContext, extract
from schemas.fact import ExpiryFact

CONTEXT = TextContext(written_on=date(2026, 3, 2), zone=ZoneInfo("Europe/Berlin"), sender="Streamly")
BULK = replace(CONTEXT, bulk=True)
END = date(2026, 3, 16)


def ends(text: str, subject: str = "", context: TextContext = CONTEXT) -> list[tuple[date, str]]:
    facts = extract(text, context, subject=subject)
    return [(fact.on, fact.category) for fact in facts if isinstance(fact, ExpiryFact)]


@pytest.mark.parametrize(
    "text",
    [
        "Your trial ends on 16 March.",
        "Your free trial will end on March 16, 2026. After that, you'll be charged $9.99 a month.",
        "Your 30-day trial is over on 16 March 2026 and your card will then be charged.",
        "You have free access until 16 March 2026; after that it costs 12.99 EUR a month.",
        "Enjoy your free month! Your first payment of 9.99 EUR will be taken on 16 March 2026.",
        "Your trial converts to a paid subscription on 16 March 2026 unless you cancel before.",
        "Your free trial turns into a paid plan on March 16.",
        "We will charge you 9.99 EUR on 16 March when your trial is over.",
        "Only 3 days left in your trial: it finishes on 16 March.",
        "Your trial period started today. It is free until 16 March 2026.",
        "Your 14-day trial has started. Billing begins on 16 March 2026.",
        "Your complimentary month ends 16 March 2026.",
        "Your introductory period ends on 16 March 2026, then 12 EUR a month.",
        "Dein Probemonat endet am 16. März 2026.",
        "Dein kostenloser Testzeitraum läuft am 16.03.2026 ab.",
        "Der kostenlose Monat endet am 16. März, danach kostet das Abo 9,99 EUR im Monat.",
        "Du testest kostenlos bis zum 16. März 2026. Danach werden 9,99 EUR fällig.",
        "Ab dem 16. März 2026 wird dein Test kostenpflichtig.",
        "Nach der Probezeit buchen wir ab dem 16.03.2026 monatlich 9,99 EUR ab.",
        "Dein Probeabo geht am 16. März in ein kostenpflichtiges Abo über.",
        "Deine Gratisphase ist am 16. März vorbei.",
        "Votre essai gratuit se termine le 16 mars 2026.",
        "Votre période d'essai prend fin le 16 mars 2026, puis 9,99 EUR par mois.",
        "Votre mois offert s'achève le 16 mars 2026.",
        "Vous profitez de l'offre gratuite jusqu'au 16 mars 2026.",
        "À partir du 16 mars, votre abonnement d'essai devient payant.",
        "Tu prueba gratuita termina el 16 de marzo de 2026.",
        "Tu mes gratis acaba el 16 de marzo de 2026.",
        "A partir del 16 de marzo se te cobrará 9,99 EUR al mes por tu suscripción de prueba.",
        "Disfruta gratis hasta el 16 de marzo de 2026; después, 9,99 EUR al mes.",
    ],
)
def test_a_trial_ends_on_the_day_that_it_begins_to_cost(text: str) -> None:
    assert ends(text) == [(END, "trial")]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("You won't be charged until 16 March 2026. Cancel any time before.", "Your Streamly trial"),
        ("Hello Nora,\n\nyour trial is running.\nWe will charge you 9.99 EUR on 16 March.", "Welcome"),
    ],
)
def test_the_subject_or_the_words_before_may_name_it(text: str, subject: str) -> None:
    assert ends(text, subject) == [(END, "trial")]


@pytest.mark.parametrize(
    "text",
    [
        "Your 14-day free trial has started.",
        "Your two-week trial begins today. Enjoy!",
        "Ihre 14-tägige kostenlose Testphase hat begonnen.",
        "Ihre kostenlose Probezeit von 14 Tagen hat begonnen.",
        "Votre essai gratuit de 14 jours a commencé.",
        "Su prueba gratuita de 14 días ha comenzado.",
    ],
)
def test_one_that_has_begun_is_counted_from_the_letter(text: str) -> None:
    assert ends(text) == [(END, "trial")]


def test_a_day_that_is_told_counts_and_not_the_length() -> None:
    assert ends("Your 30-day free trial has started. It ends on 16 March 2026.") == [(END, "trial")]


@pytest.mark.parametrize(
    "text",
    [
        "Try Streamly free for 30 days. Start your free trial by 16 March.",
        "Start your free trial today. Thirty days, no strings attached.",
        "Your trial has turned into a full subscription on 2 March. The next payment is due on 16 March 2026.",
        "Entry to the museum is free until 16 March 2026.",
        "Parking is free until 16 March; after that it costs 2 EUR an hour.",
        "Your free trial was cancelled. You won't be charged on 16 March.",
        "Your free trial ended on 16 February.",
        "Your premium plan renews on 16 March 2026. You will be charged 9.99 EUR. Invite a friend to a free month.",
        "Your voucher is valid until 16 March 2026: one free month of Streamly.",
        "Your parcel is shipped free until 16 March.",
        "The concert is over on 16 March.",
        "Die Ausstellung ist bis 16. März kostenlos.",
        "Ihr Abo verlängert sich am 16. März. Wir buchen 9,99 EUR ab. Ein Gratismonat für jeden, der uns empfiehlt.",
        "Votre abonnement est débité le 16 mars 2026.",
        "Su suscripción se renueva el 16 de marzo de 2026.",
        "Der Kurs läuft bis 16. März. Eine kostenlose Probestunde gibt es jederzeit.",
        "Your 14-day trial offer: start today!",
        "Start your 14-day free trial now.",
    ],
)
def test_what_only_speaks_of_being_free_is_no_trial(text: str) -> None:
    assert "trial" not in [category for _, category in ends(text)]


@pytest.mark.parametrize("text", ["Your free month ends on 16 March.", "Free until 16 March, then 9.99 EUR a month."])
def test_a_letter_to_many_must_name_the_trial(text: str) -> None:
    assert ends(text) == [(END, "trial")]
    assert ends(text, context=BULK) == []
    assert ends("Your trial is over on 16 March.", context=BULK) == [(END, "trial")]
