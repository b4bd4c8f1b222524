"""Facts in words, in four languages: what a sentence means, and what it only seems to."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

import pytest

from extractors.facts import TextContext, extract
from schemas.fact import (
    AmountFact,
    ChangeFact,
    DueFact,
    ExpiryFact,
    Fact,
    InvoiceFact,
    QuestionFact,
    RefundFact,
    ReservationFact,
    ResolutionFact,
)

CONTEXT = TextContext(
    written_on=date(2026, 3, 2),
    zone=ZoneInfo("Europe/Berlin"),
    sender="Acme",
    owners=("Nora Brandt", "nora@example.net"),
)
NEWSLETTER = replace(CONTEXT, bulk=True)


def facts(text: str, subject: str = "", context: TextContext = CONTEXT) -> list[Fact]:
    return extract(text, context, subject=subject)


def dues(text: str, subject: str = "", context: TextContext = CONTEXT) -> list[tuple[str, str]]:
    return [(fact.on.isoformat(), fact.what) for fact in facts(text, subject, context) if isinstance(fact, DueFact)]


@pytest.mark.parametrize(
    ("text", "day", "what"),
    [
        ("Next payment of 300 EUR is due on 15 March 2026.", "2026-03-15", "pay"),
        ("Due date  15 March 2026\nTotal  300 EUR", "2026-03-15", "pay"),
        ("Please pay within 14 days. Total: $1,200.00", "2026-03-16", "pay"),
        ("Payment must reach us on or before 22 Mar 2026.", "2026-03-22", "pay"),
        ("Please return the signed form by Friday.", "2026-03-06", "return"),
        ("Your library books are due back on 20 March.", "2026-03-20", "return"),
        ("RSVP by 3/15.", "2026-03-15", "answer"),
        ("Could you reply by Friday?", "2026-03-06", "answer"),
        ("You have until 5 May to cancel your subscription.", "2026-05-05", "cancel"),
        ("The closing date for registration is 1 April.", "2026-04-01", "submit"),
        ("You need to sign the lease by the 28th.", "2026-03-28", "sign"),
        ("Zahlbar bis 31.03. ohne Abzug.", "2026-03-31", "pay"),
        ("Bitte überweisen Sie den Betrag bis zum\n31.03.2026.", "2026-03-31", "pay"),
        ("Der Rechnungsbetrag ist am 20. März fällig.", "2026-03-20", "pay"),
        ("Die Bücher sind bis 20.03. zurückzugeben.", "2026-03-20", "return"),
        ("Anmeldeschluss ist Freitag, der 20. März.", "2026-03-20", "submit"),
        ("Bitte gib mir bis Freitag Bescheid.", "2026-03-06", "answer"),
        ("Kündbar bis spätestens 30.04.2026", "2026-04-30", "cancel"),
        ("Merci de régler la facture de 89,00 € avant le 15 avril 2026.", "2026-04-15", "pay"),
        ("À régler avant le 15/04/2026", "2026-04-15", "pay"),
        ("La date limite d'inscription est le 1er avril.", "2026-04-01", "submit"),
        ("Vous avez jusqu'au 29 mars pour nous l'envoyer.", "2026-03-29", "act"),
        ("La factura de 45,20 € vence el 12 de abril de 2026.", "2026-04-12", "pay"),
        ("Le rogamos que abone el importe antes del 12 de abril.", "2026-04-12", "pay"),
        ("Los libros deben devolverse como máximo el 20 de marzo.", "2026-03-20", "return"),
    ],
)
def test_a_trigger_in_its_clause_makes_a_date_a_deadline(text: str, day: str, what: str) -> None:
    assert dues(text) == [(day, what)]


@pytest.mark.parametrize(
    "text",
    [
        "The concert is on 15 March 2026.",
        "We will deliver your parcel by Friday.",
        "Offer ends 31 March! Save 50 % until Sunday.",
        "No payment is due before 3 April.",
        "Your invoice was paid in full on 1 March; it was due on 15 March.",
        "The deadline for suggestions passed on 20 February.",
        "Wir melden uns bis Freitag bei Ihnen.",
        "Unser Büro ist bis 15. März geschlossen.",
        "Nur bis Sonntag: 20 % Rabatt auf alles.",
        "Rechnung vom 2. März 2026",
        "La réunion du 15 mars est confirmée.",
        "Oferta válida hasta el 15 de marzo.",
        "Nous vous répondrons avant le 15 mars, votre livraison suit.",
        "I worked there until 15 March 2024.",
    ],
)
def test_a_date_that_binds_nobody_is_a_mention(text: str) -> None:
    assert dues(text) == []


def test_an_offer_in_a_newsletter_binds_nobody() -> None:
    text = "Book your holiday by 16 April 2026. The deadline for early birds is 16 April 2026!"
    assert dues(text, "Book and save", NEWSLETTER) == []


def test_a_bill_in_a_mail_to_many_is_still_due() -> None:
    assert dues("Your bill 4711 of 30.00 EUR is due on 16 April 2026.", context=NEWSLETTER) == [("2026-04-16", "pay")]


def test_what_is_debited_by_itself_is_not_to_be_paid() -> None:
    found = facts("Invoice 4711: 30,00 EUR. We will collect the amount by direct debit on 14 April 2026.")
    assert [(due.on.isoformat(), due.what) for due in found if isinstance(due, DueFact)] == [("2026-04-14", "debit")]
    (invoice,) = [fact for fact in found if isinstance(fact, InvoiceFact)]
    assert invoice.autopay
    assert not invoice.paid


def test_a_deadline_that_has_passed_is_not_next_year() -> None:
    assert dues("The fee was due on 25 February.") == [("2026-02-25", "pay")]


@pytest.mark.parametrize(
    ("text", "number", "amount", "due", "iban"),
    [
        (
            "Invoice no. A-77\nTotal: 300.00 EUR\nPlease pay by 29 March 2026 to DE89370400440532013000.",
            "A-77", "300.00 EUR", "2026-03-29", "DE89370400440532013000",
        ),
        (
            "Rechnungsnummer: 2026-18\nNetto 100,00 €\nMwSt 19,00 €\nGesamtbetrag 119,00 €\nZahlbar bis 31.03.2026",
            "2026-18", "119.00 EUR", "2026-03-31", None,
        ),
        ("Facture n° F-12\nTotal TTC : 89,00 €\nÉchéance : 15/04/2026", "F-12", "89.00 EUR", "2026-04-15", None),
        ("Factura nº 88\nImporte total: 45,20 €. Vencimiento: 12/04/2026", None, "45.20 EUR", "2026-04-12", None),
        ("Your bill of 45.00 GBP is due on 12 April.", None, "45.00 GBP", "2026-04-12", None),
    ],
)  # fmt: skip
def test_an_invoice_has_its_number_total_due_day_and_account(
    text: str, number: str | None, amount: str, due: str, iban: str | None
) -> None:
    (invoice,) = [fact for fact in facts(text) if isinstance(fact, InvoiceFact)]
    assert str(invoice.amount) == amount
    assert invoice.due is not None
    assert invoice.due.isoformat() == due
    assert invoice.iban == iban
    assert number is None or invoice.number == number
    assert invoice.issuer == "Acme"


def test_fees_and_earlier_balances_are_not_the_total() -> None:
    found = facts("Invoice 4711. Previous balance 80,00 €. Late fee 5,00 €. Amount due: 120,00 € by 15 March.")
    (invoice,) = [fact for fact in found if isinstance(fact, InvoiceFact)]
    assert str(invoice.amount) == "120.00 EUR"
    assert "80.00 EUR" not in [str(fact.amount) for fact in found if isinstance(fact, AmountFact)]


@pytest.mark.parametrize(
    "text",
    [
        "Invoice 4711 over 30.00 EUR. If you have already paid, please ignore this reminder. Please pay by 20 March.",
        "Rechnung 4711: 30,00 EUR. Sollten Sie bereits gezahlt haben, ist dies gegenstandslos. Zahlbar bis 20.03.2026.",
        "Facture 4711 de 30,00 €. Si vous avez déjà payé, n'en tenez pas compte. À régler avant le 20 mars.",
        "Factura 4711 de 30,00 €. Si ya ha pagado, no tenga en cuenta este aviso. Vence el 20 de marzo.",
        "We have not yet received your payment for invoice 4711. Amount due: 30.00 EUR. New due date: 20 March 2026.",
    ],
)
def test_a_reminder_that_speaks_of_paying_is_not_a_receipt(text: str) -> None:
    found = facts(text)
    assert [due.on.isoformat() for due in found if isinstance(due, DueFact)] == ["2026-03-20"]
    assert not any(isinstance(fact, ResolutionFact) for fact in found)


@pytest.mark.parametrize(
    ("text", "outcome", "number"),
    [
        ("Thank you for your payment. Invoice 4711 is settled.", "paid", "4711"),
        ("Ihre Zahlung ist eingegangen. Die Rechnung 4711 ist vollständig bezahlt.", "paid", "4711"),
        ("Nous avons bien reçu votre paiement pour la facture 4711.", "paid", "4711"),
        ("Hemos recibido su pago de la factura 4711.", "paid", "4711"),
        ("Your booking QX7RTZ has been cancelled.", "cancelled", "QX7RTZ"),
        ("Leider mussten wir die Buchung QX7RTZ stornieren.", "cancelled", "QX7RTZ"),
        ("Votre réservation QX7RTZ a été annulée.", "cancelled", "QX7RTZ"),
        ("Su reserva QX7RTZ ha sido cancelada.", "cancelled", "QX7RTZ"),
        ("Wir bestätigen die Kündigung Ihres Vertrags.", "cancelled", None),
        ("Your parcel was delivered today.", "delivered", None),
        ("Ihr Paket wurde heute zugestellt.", "delivered", None),
        ("Your passport has been renewed.", "extended", None),
        ("Votre abonnement a été renouvelé.", "extended", None),
        ("Your case has been resolved.", "resolved", None),
        ("El expediente queda cerrado.", "resolved", None),
        ("We have received your application for the renewal of your licence.", "received", None),
        ("Your application is complete.", "received", None),
        ("Ihre Unterlagen sind eingegangen.", "received", None),
        ("Wir bestätigen den Eingang Ihres Antrags.", "received", None),
        ("Nous avons bien reçu votre demande.", "received", None),
        ("Hemos recibido su solicitud de renovación.", "received", None),
    ],
)
def test_what_is_over_is_a_resolution(text: str, outcome: str, number: str | None) -> None:
    found = [fact for fact in facts(text) if isinstance(fact, ResolutionFact)]
    assert [(fact.outcome, fact.number) for fact in found] == [(outcome, number)]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("We have received your application. Your passport has been renewed.", "extended"),
        ("Thank you, we have received everything. The matter is closed for you.", "resolved"),
        ("Ihre Unterlagen sind eingegangen. Ihr Ausweis wurde verlängert.", "extended"),
    ],
)
def test_of_a_mail_that_says_both_the_end_counts_more_than_the_receipt(text: str, outcome: str) -> None:
    best = next(fact for fact in facts(text) if isinstance(fact, ResolutionFact))
    assert best.outcome == outcome


@pytest.mark.parametrize(
    "text",
    [
        "Your booking can be cancelled free of charge until 5 May.",
        "If the invoice is not paid, your account will be closed.",
        "Without a cancellation the contract renews for 12 months.",
        "The fee has to be paid at the counter.",
        "Ohne Kündigung verlängert sich der Vertrag.",
        "Die Rechnung ist noch nicht bezahlt.",
        "Has the parcel been delivered?",
        "La facture n'a pas été payée.",
        "La factura no ha sido pagada.",
    ],
)
def test_what_may_happen_or_has_not_happened_is_no_resolution(text: str) -> None:
    assert not any(isinstance(fact, ResolutionFact) for fact in facts(text))


@pytest.mark.parametrize(
    ("text", "category", "day"),
    [
        ("Your passport expires on 5 May 2026.", "document", "2026-05-05"),
        ("Your driving licence is valid until 5 May 2026.", "document", "2026-05-05"),
        ("Ihr Reisepass läuft am 05.05.2026 ab.", "document", "2026-05-05"),
        ("Der Parkausweis ist nur noch bis zum 5. Mai 2026 gültig.", "document", "2026-05-05"),
        ("Votre carte d'identité expire le 5 mai 2026.", "document", "2026-05-05"),
        ("Su pasaporte caduca el 5 de mayo de 2026.", "document", "2026-05-05"),
        ("A document runs out.\n\nDocument: railcard\nValid until: 2026-05-05", "document", "2026-05-05"),
        ("Your insurance policy ends on 5 May 2026.", "contract", "2026-05-05"),
        ("Ihr Vertrag verlängert sich am 05.05.2026 automatisch.", "contract", "2026-05-05"),
        ("Votre essai gratuit se termine le 5 mai 2026.", "trial", "2026-05-05"),
        ("Your free trial ends on May 5, 2026.", "trial", "2026-05-05"),
        ("Ihr Gutschein ist gültig bis 05.05.2026.", "voucher", "2026-05-05"),
        ("Your consent to access the account expires on 5 May 2026.", "consent", "2026-05-05"),
    ],
)
def test_what_runs_out_is_an_expiry(text: str, category: str, day: str) -> None:
    found = [fact for fact in facts(text) if isinstance(fact, ExpiryFact)]
    assert [(fact.category, fact.on.isoformat()) for fact in found] == [(category, day)]
    assert dues(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "This link expires on 5 May 2026.",
        "The offer expires on 5 May 2026.",
        "Your session ends on 5 May.",
        "Please bring your passport on 5 May 2026.",
        "The exhibition ends on 5 May.",
    ],
)
def test_what_concerns_nobody_tomorrow_is_no_expiry(text: str) -> None:
    assert not any(isinstance(fact, ExpiryFact) for fact in facts(text))


def test_a_voucher_in_a_newsletter_is_an_advertisement() -> None:
    assert facts("Your voucher is valid until 5 May 2026.", context=NEWSLETTER) == []


@pytest.mark.parametrize(
    ("text", "notice_by"),
    [
        ("Your contract ends on 30 June 2026. You must give notice by 30 April 2026.", "2026-04-30"),
        ("Your contract ends on 30 June 2026, with three months' notice.", "2026-03-30"),
        ("Der Vertrag endet am 30.06.2026. Die Kündigungsfrist beträgt 4 Wochen.", "2026-06-02"),
        ("Die Kündigungsfrist für den Vertrag 4711 endet am 30.04.2026.", "2026-04-30"),
        ("Le contrat prend fin le 30 juin 2026. Date limite de résiliation : 30 avril 2026", "2026-04-30"),
    ],
)
def test_a_contract_has_a_last_day_of_notice(text: str, notice_by: str) -> None:
    (expiry,) = [fact for fact in facts(text) if isinstance(fact, ExpiryFact)]
    assert expiry.notice_by is not None
    assert expiry.notice_by.isoformat() == notice_by


@pytest.mark.parametrize(
    "text",
    [
        "Hi Nora,\n\nwould you be able to come on Friday?",
        "Nora, any news about the house?",
        "Please let me know which dish you bring.",
        "Kannst du am Freitag kommen?",
        "Gib mir bitte Bescheid, was du mitbringst.",
        "Passt es Ihnen am Freitag?",
        "Est-ce que vous pourriez venir ?",
        "Dis-moi quel plat tu apportes.",
        "¿Podéis venir el viernes?",
        "Dime por favor si vienes.",
    ],
)
def test_somebody_who_asks_wants_an_answer(text: str) -> None:
    assert [fact for fact in facts(text) if isinstance(fact, QuestionFact)]


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("Ready to save? Could you use 20 %?", NEWSLETTER),
        ("Could you rate us?", replace(CONTEXT, automatic=True)),
        ("Questions about your bill? Call us.", CONTEXT),
        ("Haben Sie Fragen zur Rechnung? Rufen Sie an.", CONTEXT),
        ("We look forward to your visit.", CONTEXT),
        ("Thanks, see you on Friday.", CONTEXT),
    ],
)
def test_nobody_is_asked_by_mail_to_many_or_out_of_politeness(text: str, context: TextContext) -> None:
    assert not any(isinstance(fact, QuestionFact) for fact in facts(text, context=context))


def test_a_question_to_somebody_else_is_hardly_one() -> None:
    (asked,) = [fact for fact in facts("Hi Tom,\n\ncan you come on Friday?") if isinstance(fact, QuestionFact)]
    assert asked.certainty < 0.5


def test_a_question_may_have_a_last_day() -> None:
    (asked,) = [fact for fact in facts("Could you reply by Friday?") if isinstance(fact, QuestionFact)]
    assert asked.by == date(2026, 3, 6)


@pytest.mark.parametrize(
    "text",
    [
        "From 1 April 2026 your monthly price will increase from €5.99 to €7.99.",
        "Ab dem 1. April 2026 steigt der Monatspreis von 5,99 € auf 7,99 €.",
        "Le prix de votre abonnement passera de 5,99 € à 7,99 € le 1er avril 2026.",
        "Desde el 1 de abril de 2026 su plan costará 7,99 € en lugar de 5,99 €.",
        "We adjust our prices.\nCurrent price  5.99 EUR\nNew price  7.99 EUR\nEffective from  1 April 2026",
    ],
)
def test_a_price_that_changes_has_both_prices_and_a_day(text: str) -> None:
    (change,) = [fact for fact in facts(text) if isinstance(fact, ChangeFact)]
    assert (str(change.old), str(change.new)) == ("5.99 EUR", "7.99 EUR")
    assert change.on == date(2026, 4, 1)


@pytest.mark.parametrize(
    ("text", "code", "status", "starts_at"),
    [
        ("Your booking QX7RTZ is confirmed: 28 March 2026, 19:30.", "QX7RTZ", "confirmed", "2026-03-28T18:30"),
        ("Ihre Buchung QX7RTZ wurde geändert: 28.03.2026, 19:30 Uhr.", "QX7RTZ", "changed", "2026-03-28T18:30"),
        ("Votre réservation QX7RTZ du 28 mars à 19h30 a été annulée.", "QX7RTZ", "cancelled", "2026-03-28T18:30"),
        ("Su mesa está reservada para el 28 de marzo a las 19:30. Código de reserva QX7RTZ.", "QX7RTZ", "confirmed",
         "2026-03-28T18:30"),
        ("Your appointment is confirmed for 28 March, 7:30 pm.", None, "confirmed", "2026-03-28T18:30"),
        ("Booking QX7RTZ on 29 March 2026 at 10:00 goes ahead. Nothing has changed.", "QX7RTZ", "confirmed",
         "2026-03-29T08:00"),
    ],
)  # fmt: skip
def test_a_booking_has_a_code_a_status_and_a_start(text: str, code: str | None, status: str, starts_at: str) -> None:
    (booked,) = [fact for fact in facts(text) if isinstance(fact, ReservationFact)]
    assert (booked.code, booked.status) == (code, status)
    assert booked.starts_at is not None
    assert booked.starts_at.isoformat().startswith(starts_at)


@pytest.mark.parametrize(
    "text",
    ["An appointment can be booked online.", "Thank you for your order.", "The show was great on 5 March at 19:30."],
)
def test_a_booking_that_nobody_made_is_none(text: str) -> None:
    assert not any(isinstance(fact, ReservationFact) for fact in facts(text))


def test_the_same_thing_said_twice_is_one_fact() -> None:
    text = "Amount due: 30.00 EUR, due on 15 March 2026. Again: 30.00 EUR is due on 15.03.2026."
    found = facts(text, "Your invoice 4711 is due on 15 March 2026")
    assert sum(isinstance(fact, DueFact) for fact in found) == 1
    assert sum(isinstance(fact, AmountFact) for fact in found) == 1
    assert sum(isinstance(fact, InvoiceFact) for fact in found) == 1


def test_what_must_be_done_stands_before_what_comes_by_itself() -> None:
    found = dues("30 EUR will be debited on 5 March 2026. Please sign the form by 9 March 2026.")
    assert found == [("2026-03-09", "sign"), ("2026-03-05", "debit")]


def test_every_fact_says_where_it_was_read() -> None:
    text = "Invoice no. A-77. Total 30.00 EUR, please pay by 20 March 2026. Your contract ends on 5 May 2026."
    for fact in facts(text):
        assert fact.span is not None
        assert fact.span.part == "text"
        assert fact.span.quote
        assert 0 <= fact.span.start < fact.span.end <= len(text)


def test_facts_do_not_depend_on_anything_but_their_arguments() -> None:
    text = "Please pay 30 EUR by Friday."
    assert facts(text) == facts(text)
    assert dues(text, context=replace(CONTEXT, written_on=date(2026, 3, 9))) == [("2026-03-13", "pay")]


@pytest.mark.parametrize(
    "text",
    [
        "We have issued a refund of €49.90 to your card. It will appear within 5-7 days.",
        "Your refund of EUR 49.90 has been processed and will reach your account within ten working days.",
        "€49.90 will be refunded to your account.",
        "Wir erstatten Ihnen 49,90 € innerhalb von 14 Tagen.",
        "Die Erstattung über 49,90 € haben wir veranlasst.",
        "Ihnen werden 49,90 € zurückerstattet.",
        "Wir überweisen Ihnen den Betrag von 49,90 € zurück.",
        "Nous vous rembourserons 49,90 € sous 14 jours.",
        "Le remboursement de 49,90 € a été effectué sur votre compte.",
        "Le reembolsaremos 49,90 € en un plazo de 14 días.",
        "Hemos tramitado la devolución de 49,90 €, que recibirá en unos días.",
    ],
)
def test_money_that_is_to_come_back_is_a_refund(text: str) -> None:
    assert [str(fact.amount) for fact in facts(text) if isinstance(fact, RefundFact)] == ["49.90 EUR"]


@pytest.mark.parametrize(
    "text",
    [
        "If you return the item, we will refund €49.90.",
        "We cannot refund the 49.90 EUR you asked for.",
        "Your refund request over €49.90 is being reviewed.",
        "You receive a voucher of €49.90 instead of a refund.",
        "Please pay the amount of €49.90 by 5 May.",
        "Wenn Sie die Ware zurücksenden, erstatten wir 49,90 €.",
        "Eine Erstattung der 49,90 € ist leider nicht möglich.",
        "Wir prüfen Ihren Antrag auf Erstattung von 49,90 €.",
        "Die 49,90 € verrechnen wir mit Ihrer nächsten Rechnung.",
        "Nous ne pouvons pas vous rembourser les 49,90 €.",
        "Vous recevrez un avoir valable un an de 49,90 €.",
        "No podemos reembolsarle los 49,90 €.",
        "Descontaremos los 49,90 € de su próxima factura.",
    ],
)
def test_money_that_may_come_back_or_comes_as_something_else_is_no_refund(text: str) -> None:
    assert not any(isinstance(fact, RefundFact) for fact in facts(text))
