"""New text: the words of this mail, without the mail that it answers and without its signature."""

from __future__ import annotations

import pytest

from extractors.mail.reply import new_text


@pytest.mark.parametrize(
    "attribution",
    [
        "On Fri, 27 Feb 2026 at 17:00, Nora Brandt <nora@example.net> wrote:",
        "On Fri, 27 Feb 2026 at 17:00, Nora Brandt\n<nora@example.net> wrote:",
        "Am 27.02.2026 um 17:00 schrieb Nora Brandt:",
        "Le ven. 27 févr. 2026 à 17:00, Nora <n@example.net> a écrit :",
        "El vie, 27 feb 2026 a las 17:00, Nora (<n@example.net>) escribió:",
        "Nora Brandt <nora@example.net> schrieb am Fr., 27. Feb. 2026, 17:00:",
        "Il giorno ven 27 feb 2026 alle ore 17:00 Nora <n@example.net> ha scritto:",
        "-----Original Message-----",
        "-----Ursprüngliche Nachricht-----",
        "-----Message d'origine-----",
        "From: Nora <n@example.net>\nSent: Friday\nTo: Tom\nSubject: Rent",
        "Von: Nora <n@example.net>\nGesendet: Freitag\nAn: Tom\nBetreff: Miete",
        "De : Nora <n@example.net>\nEnvoyé : vendredi\nÀ : Tom\nObjet : Loyer",
        "________________________________\nFrom: Nora <n@example.net>\nSent: Friday\nTo: Tom\nSubject: Rent",
    ],
)
def test_what_stands_below_an_attribution_is_old(attribution: str) -> None:
    assert new_text(f"New words.\n\n{attribution}\n\nOld words: pay 900 EUR.") == "New words."
    assert new_text(f"New words.\n\n{attribution}\n> Old words.\n> More.") == "New words."


def test_an_answer_between_the_quotes_is_new() -> None:
    text = "Hi,\n\nOn 27 Feb 2026, Nora <n@example.net> wrote:\n> Can you come?\nYes.\n> And Tom?\nTom too."
    assert new_text(text) == "Hi,\n\nYes.\nTom too."


def test_a_forwarded_mail_is_content() -> None:
    text = "FYI\n\n---------- Forwarded message ---------\nFrom: Water <w@example.org>\nDate: Monday\n\nPay 30 EUR."
    assert new_text(text) == text


@pytest.mark.parametrize(
    "signature",
    [
        "-- \nTom Miller\nTel 123",
        "--\nTom",
        "Sent from my iPhone",
        "Mit freundlichen Grüßen\nTom\nMusterstr. 1",
        "Best,\nTom",
    ],
)
def test_a_signature_is_not_text(signature: str) -> None:
    expected = "See you on Friday." if not signature.startswith("Best,") else f"See you on Friday.\n\n{signature}"
    assert new_text(f"See you on Friday.\n\n{signature}") == expected


def test_a_postscript_is_text() -> None:
    text = "See you.\n\nBest regards\nTom\n\nP.S. bring 30 EUR by Friday"
    assert new_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "The total on 3 March is:\n300 EUR",
        "Hi Nora,\n\nThank you, your payment of 30 EUR is due on 3 March.\n\nPlease pay.",
        "Agenda:\n- one\n- two",
        "From: the old station\nwalk to the river.",
        "Regards from Rome! " + "We walked all day. " * 80,
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert new_text(text) == text.strip()
