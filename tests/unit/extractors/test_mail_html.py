"""HTML mail: what its reader sees, and nothing else."""

from __future__ import annotations

import pytest

from extractors.mail import html


@pytest.mark.parametrize(
    "hiding",
    [
        '<div style="display:none">SECRET</div>',
        '<div style="DISPLAY : NONE !important">SECRET</div>',
        '<span style="font-size:0">SECRET</span>',
        '<span style="font-size:1px;line-height:1px">SECRET</span>',
        '<div style="max-height:0;overflow:hidden">SECRET</div>',
        '<div style="opacity:0">SECRET</div>',
        '<div style="visibility: hidden">SECRET</div>',
        '<div style="mso-hide:all">SECRET</div>',
        "<div hidden>SECRET</div>",
        "<!-- SECRET -->",
        "<script>SECRET</script>",
        "<style>.SECRET{}</style>",
        "<title>SECRET</title>",
        "<style>.pre{display:none}</style><b class='a pre'>SECRET</b>",
        "<style>#pre{display:none}</style><b id='pre'>SECRET</b>",
    ],
)
def test_what_is_hidden_is_not_read(hiding: str) -> None:
    assert html.read(f"<html><body>{hiding}<p>Seen</p></body></html>").text == "Seen"


@pytest.mark.parametrize(
    "shown",
    [
        '<div style="max-height:0.5em">SEEN</div>',
        '<div style="opacity:0.9">SEEN</div>',
        '<td style="font-size:0"><p style="font-size:14px">SEEN</p></td>',
        "<style>@media (max-width:600px){.d{display:none}}</style><b class='d'>SEEN</b>",
        '<div style="font-size:10px">SEEN</div>',
    ],
)
def test_what_is_seen_is_read(shown: str) -> None:
    assert "SEEN" in html.read(f"<html><body>{shown}</body></html>").text


def test_a_row_of_a_table_is_a_line() -> None:
    rows = "<tr><td><p>Due date</p></td><td><p>20.03.2026</p></td></tr><tr><td>Total</td><td>1,00&nbsp;€</td></tr>"
    assert html.read(f"<table>{rows}</table>").text.split("\n") == ["Due date  20.03.2026", "Total  1,00 €"]


def test_a_number_is_not_cut_by_the_tags_inside_of_it() -> None:
    assert html.read("<p>Total 1.<span>234</span>,<b>56</b> €</p>").text == "Total 1.234,56 €"


def test_what_a_mail_program_marked_as_quoted_is_not_new() -> None:
    page = html.read("<p>Yes</p><blockquote type='cite'>old</blockquote><div class='gmail_quote x'>older</div>")
    assert page.new_text == "Yes"
    assert "old" in page.text


def test_a_forwarded_mail_is_new() -> None:
    page = html.read("<p>FYI</p><div class='gmail_quote'>---------- Forwarded message ---------<br>Pay 30 EUR</div>")
    assert "Pay 30 EUR" in page.new_text


def test_one_broken_block_of_json_does_not_cost_the_others() -> None:
    page = html.read(
        '<script type="application/ld+json">{"@type": "Invoice",</script>'
        '<script type="application/ld+json"><!-- {"@type": "Order", "orderNumber": "7",} --></script>'
        '<script type="application/ld+json">{"@graph": [{"@type": "Event"}, {"x": 1}]}</script>'
    )
    assert [item["@type"] for item in page.items] == ["Order", "Event"]
    assert page.broken_items == 1


def test_microdata_has_the_form_of_json_ld() -> None:
    page = html.read(
        '<div itemscope itemtype="http://schema.org/Invoice"><meta itemprop="identifier" content="A1">'
        '<div itemprop="totalPaymentDue" itemscope itemtype="http://schema.org/PriceSpecification">'
        '<span itemprop="price">5.00</span><meta itemprop="priceCurrency" content="EUR"></div>'
        '<time itemprop="paymentDueDate" datetime="2026-03-20">soon</time></div>'
    )
    assert page.items == [
        {
            "@type": "Invoice",
            "identifier": "A1",
            "totalPaymentDue": {"@type": "PriceSpecification", "price": "5.00", "priceCurrency": "EUR"},
            "paymentDueDate": "2026-03-20",
        }
    ]


def test_html_that_is_nested_too_deep_keeps_its_words() -> None:
    assert html.read("<div>" * 3_000 + "words").text.strip() == "words"
