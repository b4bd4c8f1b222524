"""Promises, claims, preparations, alerts and return periods in four languages, and words that only resemble them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

import pytest

from extractors.facts import TextContext, extract
from schemas.fact import AlertFact, ClaimFact, DueFact, ExpiryFact, Fact, PreparationFact, PromiseFact, ResolutionFact

CONTEXT = TextContext(written_on=date(2026, 3, 2), zone=ZoneInfo("Europe/Berlin"), sender="Acme")
BULK = replace(CONTEXT, bulk=True)
DAY = date(2026, 3, 14)


def facts(text: str, context: TextContext = CONTEXT) -> list[Fact]:
    return extract(text, context)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("I'll send you the photos by 14 March 2026.", "send"),
        ("We will forward the contract by Saturday, 14 March 2026.", "send"),
        ("I will bring the keys back by 14 March 2026.", "send"),
        ("You will receive your new card by 14 March 2026.", "send"),
        ("You will hear from us by 14 March 2026.", "answer"),
        ("We will get back to you by 14 March 2026.", "answer"),
        ("It will probably arrive on 14 March 2026.", "deliver"),
        ("We will refund the amount by 14 March 2026.", "refund"),
        ("Ich schicke dir die Unterlagen bis zum 14. März 2026.", "send"),
        ("Bis zum 14. März sende ich Ihnen das Angebot zu.", "send"),
        ("Wir senden Ihnen das Angebot bis spätestens 14.03.2026 zu.", "send"),
        ("Bis 14. März 2026 bringe ich dir die Bohrmaschine zurück.", "send"),
        ("Wir erstatten Ihnen den Betrag bis zum 14. März 2026.", "refund"),
        ("Leider gibt es eine Verzögerung. Ihr Paket wird nun am\n14. März 2026 zugestellt.", "deliver"),
        ("Wir melden uns bis zum 14. März 2026 bei Ihnen.", "answer"),
        ("Es kommt voraussichtlich am 14. März 2026 an.", "deliver"),
        ("Je t'enverrai les photos avant le 14 mars 2026.", "send"),
        ("J'apporterai les tables avant le 14 mars 2026.", "send"),
        ("Nous vous enverrons le devis d'ici le 14 mars 2026.", "send"),
        ("Nous vous répondrons avant le 14 mars 2026.", "answer"),
        ("Il arrivera sans doute le 14 mars 2026.", "deliver"),
        ("Te enviaré las fotos antes del 14 de marzo de 2026.", "send"),
        ("Le responderemos antes del 14 de marzo de 2026.", "answer"),
        ("Llegará probablemente el 14 de marzo de 2026.", "deliver"),
    ],
)
def test_what_the_writer_will_do_by_a_day_is_a_promise_and_no_duty_of_the_reader(text: str, what: str) -> None:
    found = facts(text)
    assert [(fact.what, fact.by) for fact in found if isinstance(fact, PromiseFact)] == [(what, DAY)]
    assert not [fact for fact in found if isinstance(fact, DueFact)]


@pytest.mark.parametrize(
    "text",
    [
        "Could you send me the photos by 14 March 2026?",
        "Please send us the form by 14 March 2026.",
        "If you order today, we will send it by 14 March 2026.",
        "We cannot send the parts by 14 March 2026.",
        "Bitte schicken Sie uns das Formular bis zum 14. März 2026.",
        "Wenn Sie heute bestellen, senden wir es bis zum 14. März 2026.",
        "Vous avez jusqu'au 14 mars pour nous l'envoyer.",
        "Si vous commandez aujourd'hui, nous vous enverrons le colis le 14 mars 2026.",
        "Tiene hasta el 14 de marzo para enviarnos el formulario.",
        "You will have until 14 March 2026 to reply.",
        "We met on 14 March 2026 and it was lovely.",
    ],
)
def test_what_the_reader_is_asked_for_or_what_depends_on_something_is_no_promise(text: str) -> None:
    assert not [fact for fact in facts(text) if isinstance(fact, PromiseFact)]


def test_what_the_writer_offers_to_do_by_a_day_is_no_duty_of_the_reader() -> None:
    offers = (
        "If you like, I will bring you a basket by 14 March 2026.",
        "Wenn du magst, bringe ich dir bis 14. März 2026 einen Korb.",
        "Si tu veux, je t'apporterai un panier avant le 14 mars 2026.",
        "Si quieres, te llevaré una cesta antes del 14 de marzo de 2026.",
    )
    assert [fact for offer in offers for fact in facts(offer) if isinstance(fact, DueFact | PromiseFact)] == []


def test_what_was_handed_to_the_carrier_is_not_delivered() -> None:
    found = facts("Wir haben Ihr Paket dem Paketdienst übergeben.")
    assert not [fact for fact in found if isinstance(fact, ResolutionFact)]


def test_a_promise_knows_the_number_of_its_parcel() -> None:
    (promise,) = [f for f in facts("Your parcel 4711-0815 will arrive on 14 March 2026.") if isinstance(f, PromiseFact)]
    assert promise.number == "4711-0815"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("We have received your claim CL-4711 and will look into it.", "CL-4711"),
        ("Your complaint C-4711 has been registered.", "C-4711"),
        ("I hereby file a complaint about the delivery.", None),
        ("Ihre Reklamation R-4711 ist bei uns eingegangen.", "R-4711"),
        ("Wir haben Ihre Schadensmeldung S-4711 erhalten und prüfen sie.", "S-4711"),
        ("Nous avons bien reçu votre réclamation R-4711.", "R-4711"),
        ("Hemos recibido su reclamación R-4711.", "R-4711"),
    ],
)
def test_a_claim_that_is_made_or_has_come_in_is_open(text: str, number: str | None) -> None:
    assert [fact.number for fact in facts(text) if isinstance(fact, ClaimFact)] == [number]


@pytest.mark.parametrize(
    "text",
    [
        "If you have a complaint, our service is there for you.",
        "Wenn Sie eine Reklamation haben, rufen Sie uns an.",
        "Complaints can be made within 30 days.",
        "Si tiene una queja, escríbanos.",
    ],
)
def test_a_claim_that_one_could_make_is_none(text: str) -> None:
    assert not [fact for fact in facts(text) if isinstance(fact, ClaimFact)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Please read the attached report before the meeting.", "read"),
        ("Please bring your ID card.", "bring"),
        ("Please prepare a short summary beforehand.", "prepare"),
        ("Bitte lesen Sie vorab den Bericht.", "read"),
        ("Bitte füllen Sie vorher den Bogen aus.", "prepare"),
        ("Bitte bringen Sie Ihren Ausweis mit.", "bring"),
        ("Merci de lire le rapport avant la réunion.", "read"),
        ("Merci d'apporter une pièce d'identité. Pensez à apporter le contrat.", "bring"),
        ("Por favor, lea el informe antes de la reunión.", "read"),
    ],
)
def test_what_is_wanted_by_the_meeting_is_a_preparation(text: str, what: str) -> None:
    assert [fact.what for fact in facts(text) if isinstance(fact, PreparationFact)] == [what]


@pytest.mark.parametrize(
    "text",
    [
        "We will read the report together.",
        "Did you bring the report?",
        "Please read our terms and conditions.",
        "Wir lesen den Bericht gemeinsam.",
        "Nous lirons le rapport ensemble.",
    ],
)
def test_what_nobody_is_asked_to_do_beforehand_is_none(text: str) -> None:
    assert not [fact for fact in facts(text) if isinstance(fact, PreparationFact)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("The password of your account was changed on 2 March 2026. If it was you, all is well.", "password"),
        ("Somebody signed in to your account from a new device.", "sign_in"),
        ("The phone number of your account has been changed.", "contact"),
        ("Das Passwort Ihres Kontos bei Acme wurde am 2. März 2026 geändert.", "password"),
        ("Am 2. März hat sich ein neues Gerät an Ihrem Konto angemeldet.", "sign_in"),
        ("Le mot de passe de votre compte a été modifié le 2 mars 2026.", "password"),
        ("Un nouvel appareil s'est connecté à votre compte.", "sign_in"),
        ("La contraseña de su cuenta se cambió el 2 de marzo de 2026.", "password"),
        ("Un dispositivo nuevo entró en su cuenta.", "sign_in"),
    ],
)
def test_what_happened_to_an_account_is_an_alert(text: str, what: str) -> None:
    assert [fact.what for fact in facts(text) if isinstance(fact, AlertFact)] == [what]
    assert not [fact for fact in facts(text, BULK) if isinstance(fact, AlertFact)]


@pytest.mark.parametrize(
    "text",
    [
        "Use the code 123456 to sign in to Acme.",
        "How to tell whether your password has been changed: seven tips.",
        "We will tell you when your password has been changed.",
        "If your password was changed, call us.",
        "Wir informieren Sie immer, wenn Ihr Passwort geändert wurde.",
    ],
)
def test_advice_and_codes_are_no_alert(text: str) -> None:
    assert not [fact for fact in facts(text) if isinstance(fact, AlertFact)]


@pytest.mark.parametrize(
    "text",
    [
        "The return period for your order ends on 14 March 2026.",
        "You may return it free of charge until 14 March 2026.",
        "Ihre Rückgabefrist endet am 14. März 2026.",
        "Le délai de retour de votre commande se termine le 14 mars 2026.",
        "El plazo de devolución de su pedido termina el 14 de marzo de 2026.",
    ],
)
def test_the_last_day_to_send_goods_back_ends_a_right(text: str) -> None:
    found = [fact for fact in facts(text) if isinstance(fact, ExpiryFact)]
    assert [(fact.category, fact.on) for fact in found] == [("return", DAY)]


def test_library_books_have_a_due_day_and_no_right_of_return() -> None:
    found = facts("The three books on your card have to be returned by 14 March 2026.")
    assert [fact.what for fact in found if isinstance(fact, DueFact)] == ["return"]
    assert not [fact for fact in found if isinstance(fact, ExpiryFact)]
