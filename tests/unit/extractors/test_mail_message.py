"""Reading mails: charsets, headers, structure, dates and attachments, as real programs write them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from extractors.mail import message
from extractors.mail.content import content_key
from extractors.mail.message import Message
from schemas.errors import PoisonError

HEAD = b"From: Ada Quill <ada@example.org>\nTo: Nora Brandt <nora@example.net>\nDate: Mon, 02 Mar 2026 10:15:00 +0100\n"
FILE_TIME = datetime(2026, 3, 4, 12, tzinfo=UTC)


def read(body: bytes = b"x", *headers: bytes) -> Message:
    return message.read(HEAD + b"".join(header + b"\n" for header in headers) + b"\n" + body)


def parts(*bodies: bytes, kind: bytes = b"mixed") -> Message:
    inner = b"".join(b"--z\n" + body + b"\n" for body in bodies)
    return read(inner + b"--z--\n", b"Content-Type: multipart/" + kind + b"; boundary=z")


@pytest.mark.parametrize(
    ("label", "raw", "text"),
    [
        (b"utf-8", "Straße 5 €".encode(), "Straße 5 €"),
        (b"iso-8859-1", b"49,90 \x80 \x96 \x93so\x94", "49,90 € – “so”"),
        (b"us-ascii", "Rätsel".encode(), "Rätsel"),
        (b"gb2312", "发票 镕".encode("gb18030"), "发票 镕"),
        (b"iso-2022-jp", "請求書".encode("iso-2022-jp"), "請求書"),
        (b"shift_jis", "①株式".encode("cp932"), "①株式"),
        (b"x-no-such-set", "läuft".encode(), "läuft"),
        (b"utf-8", b"L\xe4uft in K\xf6ln", "Läuft in Köln"),
        (b"base64", b"Zm9v", "Zm9v"),
        (b"unicode_escape", rb"\u0041", r"\u0041"),
        (b'"utf-8"', "ß".encode(), "ß"),
    ],
)
def test_a_body_is_read_whatever_its_charset_says(label: bytes, raw: bytes, text: str) -> None:
    assert read(raw, b"Content-Type: text/plain; charset=" + label).text == text


def test_a_label_that_lies_is_warned_of() -> None:
    assert any(
        "charset" in warning for warning in read(b"L\xe4uft", b"Content-Type: text/plain; charset=utf-8").warnings
    )
    assert read(b"ok", b"Content-Type: text/plain; charset=utf-8").warnings == []


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        (b"=?utf-8?Q?M=C3=BCll?=", "Müll"),
        (b"=?UTF-8?Q?zur_M=C3?=\n =?UTF-8?Q?=BCllabfuhr?=", "zur Müllabfuhr"),
        (b"=?utf-8?B?R3LDvMOf?= =?utf-8?B?ZQ==?=", "Grüße"),
        (b"=?utf-8?B?w?= =?utf-8?B?5w=?=", "Ü"),
        (b"=?iso-8859-1?Q?K=F6ln?= =?utf-8?Q?_und?= Bonn", "Köln und Bonn"),
        (b"=?utf-8*de?Q?M=C3=BCll?=", "Müll"),
        ("Prüfung – heute".encode(), "Prüfung – heute"),
        (b"Gr\xfc\xdfe", "Grüße"),
        (b"=?utf-8?X?broken?=", "=?utf-8?X?broken?="),
        (b"a\n\tb", "a b"),
    ],
)
def test_a_subject_is_decoded(raw: bytes, subject: str) -> None:
    assert read(b"x", b"Subject: " + raw).subject == subject


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (b'filename="report.pdf"', "report.pdf"),
        (b"filename*=utf-8''%C3%9Cbersicht.pdf", "Übersicht.pdf"),
        (b"filename*0*=utf-8''%C3;\n filename*1*=%9C.pdf", "Ü.pdf"),
        (b"filename*1=b.pdf; filename*0=a", "ab.pdf"),
        (b'filename="=?windows-1252?Q?Stra=DFe=2EPDF?="', "Straße.PDF"),
        (b'filename="../../etc/passwd"', "passwd"),
        (b'filename="C:\\\\x\\\\y.exe"', "y.exe"),
        (b'filename="a;b.txt"', "a;b.txt"),
        (b'filename="\xe2\x80\xaegpj.exe"', "gpj.exe"),
        (b'filename="..."', "unnamed"),
        (b"", "unnamed"),
    ],
)
def test_an_attachment_has_a_bare_name(value: bytes, name: str) -> None:
    found = parts(b"\nsee", b"Content-Type: application/pdf\nContent-Disposition: attachment; " + value + b"\n\nAAAA")
    assert [attachment.filename for attachment in found.attachments] == [name]


def test_a_long_name_keeps_its_suffix() -> None:
    found = parts(b"\nx", b'Content-Disposition: attachment; filename="' + b"a" * 5_000 + b'.pdf"\n\nA')
    assert found.attachments[0].filename.endswith(".pdf")
    assert len(found.attachments[0].filename) <= 255


def test_sizes_and_hashes_are_those_of_the_decoded_bytes() -> None:
    content = b"%PDF-1.4 tiny"
    found = parts(
        b"\nx",
        b"Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n" + base64.b64encode(content),
    )
    assert [(each.size, each.content_type) for each in found.attachments] == [(len(content), "application/pdf")]
    assert len(found.attachments[0].sha256) == 64


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (b"base64", b"UGF5IDMwIOKCrC4="),
        (b"BASE64", b"UGF5I DMwIOK\nCrC4"),
        (b"quoted-printable", b"Pay =\n30 =E2=82=AC."),
        (b"x-uuencode", b'begin 644 a.txt\n,4&%Y(#,P(.*"K"X \n`\nend'),
        (b"8bit", "Pay 30 €.".encode()),
        (b"", "Pay 30 €.".encode()),
    ],
)
def test_every_transfer_encoding_is_decoded(encoding: bytes, body: bytes) -> None:
    found = read(body, b"Content-Type: text/plain; charset=utf-8", b"Content-Transfer-Encoding: " + encoding)
    assert found.text == "Pay 30 €."
    assert found.warnings == []


def test_a_nested_mail_is_an_attachment_and_not_part_of_the_text() -> None:
    inner = b"Content-Type: message/rfc822\n\nFrom: Bob <bob@example.org>\nSubject: Inner\n\nDeadline is 5 May 2026."
    found = parts(b"\nSee the attached mail.", inner)
    assert found.text == "See the attached mail."
    assert [(each.filename, each.content_type) for each in found.attachments] == [("Inner.eml", "message/rfc822")]


def test_pictures_inside_of_the_text_are_no_attachments() -> None:
    picture = b"Content-Type: image/png; name=logo.png\nContent-ID: <1>\nContent-Disposition: inline\n\nAAAA"
    assert parts(b"Content-Type: text/html\n\n<p>Hi</p>", picture, kind=b"related").attachments == []


def test_the_signed_text_is_read_and_the_signature_is_not() -> None:
    signature = b"Content-Type: application/pgp-signature\n\n-----BEGIN PGP SIGNATURE-----"
    found = parts(b"\nSigned words.", signature, kind=b"signed")
    assert found.text == "Signed words."
    assert found.attachments == []


@pytest.mark.parametrize(
    ("headers", "warning"),
    [
        ((b"Content-Type: multipart/encrypted; boundary=z",), "encrypted"),
        ((b"Content-Type: application/pkcs7-mime; name=smime.p7m",), "encrypted or opaque"),
        ((b"Content-Type: application/ms-tnef; name=winmail.dat",), "TNEF"),
        ((b"Subject: a", b"Subject: b"), "more than one subject"),
        ((b"Content-Transfer-Encoding: rot13",), "transfer encoding"),
    ],
)
def test_what_cannot_be_read_is_said(headers: tuple[bytes, ...], warning: str) -> None:
    assert any(warning in each for each in read(b"--z\n\nx\n--z--", *headers).warnings)


def test_the_first_of_two_subjects_counts() -> None:
    assert read(b"x", b"Subject: first", b"Subject: second").subject == "first"


def test_html_says_more_than_a_plain_part_that_only_excuses_itself() -> None:
    page = b"Content-Type: text/html\n\n<p>Please pay 45.00 EUR by 5 May 2026 to our account and quote 12345.</p>"
    found = parts(b"\nYour program cannot show this.", page, kind=b"alternative")
    assert found.text.startswith("Please pay 45.00 EUR")


def test_the_plain_part_is_read_where_both_say_the_same() -> None:
    found = parts(
        b"\nPay 45 EUR *now*.", b"Content-Type: text/html\n\n<p>Pay 45 EUR <b>now</b>.</p>", kind=b"alternative"
    )
    assert found.text == "Pay 45 EUR *now*."


def test_flowed_lines_are_joined_and_quotes_and_signatures_are_not() -> None:
    raw = b"Please pay \n300 EUR by \n15 March.\n\n> old \n> text\n-- \nAda"
    found = read(raw, b"Content-Type: text/plain; charset=utf-8; format=flowed")
    assert found.text == "Please pay 300 EUR by 15 March.\n\n> old text\n--\nAda"
    assert found.new_text == "Please pay 300 EUR by 15 March."


def test_delsp_takes_the_space_away() -> None:
    found = read("日本 \n語".encode(), b"Content-Type: text/plain; charset=utf-8; format=flowed; delsp=yes")
    assert found.text == "日本語"


@pytest.mark.parametrize("newline", [b"\r\n", b"\r", b"\n"])
def test_every_line_end_is_one(newline: bytes) -> None:
    raw = (HEAD + b"Content-Type: multipart/mixed; boundary=z\n\n--z\n\nOne\n--z\n\nTwo\n--z--\n").replace(
        b"\n", newline
    )
    assert message.read(raw).text == "One\n\nTwo"


def test_a_mail_without_the_empty_line_is_read() -> None:
    found = message.read(HEAD + b"Hello, the deadline is 5 May.\nBye\n")
    assert found.text == "Hello, the deadline is 5 May.\nBye"
    assert "no empty line between header and body" in found.warnings


def test_a_mail_that_was_cut_keeps_what_it_has() -> None:
    found = read(
        b"--z\n\nfirst\n--z\nContent-Type: text/plain\n\nsecond and", b"Content-Type: multipart/mixed; boundary=z"
    )
    assert found.text == "first\n\nsecond and"


@pytest.mark.parametrize(
    ("date", "received", "sent_at", "source"),
    [
        ("Mon, 2 Mar 2026 10:15:00 -0500 (CET)", None, "2026-03-02T15:15", "header"),
        ("2026-03-02T10:15:00+01:00", None, "2026-03-02T09:15", "header"),
        ("Thu, 32 Brumaire 2026 25:61:00 +9999", "Tue, 3 Mar 2026 08:00:07 +0000", "2026-03-03T08:00", "received"),
        ("Thu, 01 Jan 1970 00:00:00 +0000", "Tue, 3 Mar 2026 08:00:07 +0000", "2026-03-03T08:00", "received"),
        ("Sat, 1 Jan 2050 00:00:00 +0000", "Tue, 3 Mar 2026 08:00:07 +0000", "2026-03-03T08:00", "received"),
        ("nonsense", None, "2026-03-04T12:00", "file"),
        ("Thu, 01 Jan 1970 00:00:00 +0000", None, "2026-03-04T12:00", "file"),
    ],
)
def test_the_best_date_is_taken(date: str, received: str | None, sent_at: str, source: str) -> None:
    trace = f"Received: from a by b; {received}\n" if received else ""
    found = message.read(f"{trace}From: a@example.org\nDate: {date}\n\nx".encode(), file_time=FILE_TIME)
    assert found.sent_at is not None
    assert found.sent_at.isoformat().startswith(sent_at)
    assert found.date_source == source


def test_a_mail_without_any_date_has_none() -> None:
    found = message.read(b"From: a@example.org\n\nx")
    assert (found.sent_at, found.date_source) == (None, "none")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"Ada Quill <ADA@Example.org>", [("Ada Quill", "ada@example.org")]),
        (
            b'"Quill, Ada" <ada@example.org>, bob@example.org',
            [("Quill, Ada", "ada@example.org"), ("", "bob@example.org")],
        ),
        (b"bob@example.org (Bob B.)", [("Bob B.", "bob@example.org")]),
        (b"undisclosed-recipients:;", []),
        (b"Team: a@example.org, b@example.org;", [("", "a@example.org"), ("", "b@example.org")]),
        (b"=?utf-8?Q?M=C3=BCller=2C_J?= <j@example.org>", [("Müller, J", "j@example.org")]),
        (b"Nobody", [("Nobody", "")]),
        (b"<a@example.org", [("", "a@example.org")]),
    ],
)
def test_addresses_are_split_before_they_are_decoded(raw: bytes, expected: list[tuple[str, str]]) -> None:
    found = [(box.name, box.address) for role, box in read(b"x", b"Cc: " + raw).mailboxes if role == "cc"]
    assert found == expected


def test_the_thread_is_the_root_of_the_references() -> None:
    assert read(b"x", b"References: <a@x> <b@x>", b"In-Reply-To: <b@x>", b"Message-ID: <c@x>").thread == "<a@x>"
    assert read(b"x", b"In-Reply-To: <b@x>", b"Message-ID: <c@x>").thread == "<b@x>"
    assert read(b"x", b"Message-ID: <c@x>").thread == "<c@x>"
    without_id = read(b"x")
    assert without_id.thread == without_id.content_key


@pytest.mark.parametrize(
    ("header", "is_list", "is_automatic"),
    [
        (b"List-Id: News <news.example.org>", True, False),
        (b"List-Unsubscribe: <https://example.org/off>", True, False),
        (b"Precedence: bulk", True, False),
        (b"Auto-Submitted: auto-generated", False, True),
        (b"Auto-Submitted: no", False, False),
        (b"X-Mailer: something", False, False),
    ],
)
def test_mail_to_many_and_mail_from_programs_are_told_by_headers(
    header: bytes, is_list: bool, is_automatic: bool
) -> None:
    found = read(b"x", header).mailing
    assert (found.is_list, found.is_automatic) == (is_list, is_automatic)


@pytest.mark.parametrize("sender", ["noreply@example.org", "no-reply+x@example.org", "donotreply@example.org"])
def test_an_address_that_reads_no_answers_is_a_program(sender: str) -> None:
    assert message.read(f"From: {sender}\n\nx".encode()).mailing.is_automatic


@pytest.mark.parametrize(("raw", "code"), [(b"", "empty"), (b"\n\n", "empty"), (b"\x00\xff no header", "malformed")])
def test_what_is_no_mail_is_poison_with_a_reason(raw: bytes, code: str) -> None:
    with pytest.raises(PoisonError) as caught:
        message.read(raw)
    assert caught.value.code == code


def test_copies_with_other_line_ends_have_one_content_key() -> None:
    raw = HEAD + b"\nx\n"
    assert content_key(raw) == content_key(raw.replace(b"\n", b"\r\n") + b"\r\n")
    assert content_key(raw) != content_key(raw + b"y")
