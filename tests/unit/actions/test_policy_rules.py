"""The rules of the policy that look beyond one argument: ids that go back, identifiers, the trifecta, rates, payees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actions.plain import clean
from actions.policy.circumstances import Circumstances, Today
from actions.policy.experience import Known
from actions.policy.identifiers import find, strip
from actions.policy.policy import Policy, Verdict, is_trifecta
from actions.policy.rules import Limits
from actions.run.resolve import resolve, resolved
from actions.tools.tool import Arg, Manifest
from schemas.fact import Span
from schemas.plan import Argument, Effect, Fixed, Plan, Step, Template
from schemas.value import Integrity, Value

WHEN = datetime(2025, 3, 3, 9, tzinfo=UTC)
OLD, NEW = "DE89370400440532013000", "GB29NWBK60161331926819"
SAVED = Circumstances(
    known={("Iban", OLD): Known("Iban", OLD, WHEN, 3)}, usual={"Iban": OLD}, about="Acme",
)  # fmt: skip


def tool(name: str, effect: Effect, args: Mapping[str, Arg], **more: object) -> Manifest:
    base = {
        "name": name, "version": "1", "description": "a tool", "says": "Do it", "effect": effect, "args": dict(args),
        "effect_class": "pure" if effect == "read" else "keyed", "key_ttl_s": 60.0, "integrity_out": Integrity.KNOWN,
    }  # fmt: skip
    return Manifest.model_validate(base | more)


PAY = tool("bank.pay", "payment", {"to": Arg(type="Iban"), "amount": Arg(type="Money")})
SEND = tool(
    "mail.send", "outbound",
    {"to": Arg(type="Email"), "text": Arg(type="Text"),
     "thread": Arg(type="MessageId", sink="content", required=False)},
)  # fmt: skip
READ = tool("mail.read", "read", {"message": Arg(type="MessageId")})
MOVE = tool("calendar.move", "write_self", {"event": Arg(type="EventId")})


def outside(v: object, type_: str, **more: object) -> Value:
    return Value.model_validate({"v": v, "type": type_, "sources": ("ev7",)} | more)


def mine(v: object, type_: str) -> Value:
    return Value.model_validate({"v": v, "type": type_, "integrity": Integrity.USER})


def euros(amount: str) -> Value:
    return mine({"amount": amount, "currency": "EUR"}, "Money")


def judged(manifest: Manifest, scene: Circumstances, **args: Value) -> Verdict:
    return Policy().judge(manifest, args, scene)


class TestProvenance:
    def test_a_new_account_number_stands_beside_the_one_that_was_paid_before(self) -> None:
        span = Span(part="text", start=0, end=9, quote=f"our new account is {NEW}")
        verdict = judged(PAY, SAVED, to=outside(NEW, "Iban", span=span), amount=euros("5.00"))
        assert verdict.rule == 3
        assert verdict.reasons[0] == (
            "the account number “GB29 NWBK 6016 1331 9268 19” comes from outside text (ev7): "
            f"“our new account is {NEW}”; you have never used this account number; "
            "your saved account number for Acme is “DE89 3704 0044 0532 0130 00”"
        )

    def test_an_account_that_was_paid_before_says_so_and_still_asks(self) -> None:
        verdict = judged(PAY, SAVED, to=outside("DE89 3704 0044 0532 0130 00", "Iban"), amount=euros("5.00"))
        assert (verdict.kind, "3 times, last on 2025-03-03" in verdict.reasons[0]) == ("confirm", True)


class TestIdsThatGoBack:
    HOME = Circumstances(origins={"ev7": "mail"})

    def test_an_id_goes_back_to_the_connector_that_minted_it_to_read_and_to_reply(self) -> None:
        thread = outside("<1@shop.example>", "MessageId")
        assert judged(READ, self.HOME, message=thread).kind == "allow"
        reply = judged(SEND, self.HOME, to=mine("a@b.example", "Email"), text=mine("Yes.", "Text"), thread=thread)
        assert reply.reasons == ("this is a outbound and needs its own confirmation",)

    @pytest.mark.parametrize("origin", ["bank", "calendar", ""])
    def test_an_id_of_another_connector_asks(self, origin: str) -> None:
        scene = Circumstances(origins={"ev7": origin})
        assert judged(READ, scene, message=outside("<1@shop.example>", "MessageId")).kind == "confirm"

    def test_an_id_that_somebody_wrote_in_a_text_asks(self) -> None:
        span = Span(part="text", start=0, end=9, quote="open <1@shop.example>")
        assert judged(READ, self.HOME, message=outside("<1@shop.example>", "MessageId", span=span)).kind == "confirm"

    def test_an_id_that_decides_what_is_changed_asks_wherever_it_came_from(self) -> None:
        scene = Circumstances(origins={"ev7": "calendar"})
        assert judged(MOVE, scene, event=outside("uid-1", "EventId")).rule == 3


class TestReaders:
    def test_private_words_that_leave_to_nobody_in_particular_are_confirmed(self) -> None:
        form = tool("web.submit", "outbound", {"text": Arg(type="Text")})
        private = Value(v="x", type="Text", integrity=Integrity.USER, readers=("ann@example.org",))
        assert "text was not meant for others" in judged(form, Circumstances(), text=private).reasons

    def test_a_question_that_leaves_with_private_words_is_confirmed_and_one_with_a_secret_denied(self) -> None:
        away = tool("web.search", "read", {"q": Arg(type="Query")}, permissions={"hosts": ("search.example:443",)})
        for readers, kind in ((("ann@example.org",), "confirm"), ((), "deny")):
            private = Value(v="x", type="Query", integrity=Integrity.USER, readers=readers)
            assert judged(away, Circumstances(), q=private).kind == kind


class TestTrifecta:
    HISTORY = tool("history.query", "read", {"q": Arg(type="Text")}, returns={"text": "Text"})
    WEB = tool(
        "web.get", "read", {"url": Arg(type="Url")}, returns={"text": "Text"}, integrity_out=Integrity.UNTRUSTED,
        permissions={"hosts": ("web.example:443",)},
    )  # fmt: skip

    def plan(self, *manifests: Manifest) -> bool:
        steps = tuple(
            Step(uid=f"u{n}", id=f"s{n}", tool=m.name, tool_version="1", manifest=m.sha(), effect=m.effect,
                 effect_class=m.effect_class)
            for n, m in enumerate(manifests, 1)
        )  # fmt: skip
        by_name = {m.name: m for m in manifests}
        return is_trifecta(Plan(proposal="p", run="r", planner="p", policy="2", steps=steps), by_name.get)

    def test_private_data_outside_text_and_a_way_out_are_a_trifecta_and_two_of_them_are_not(self) -> None:
        assert self.plan(self.HISTORY, self.WEB, SEND)
        assert not self.plan(self.HISTORY, SEND)
        assert not self.plan(self.HISTORY, MOVE)

    def test_in_a_trifecta_even_a_question_that_leaves_is_confirmed_by_itself(self) -> None:
        url = mine("https://web.example/", "Url")
        assert judged(self.WEB, Circumstances(), url=url).kind == "allow"
        assert judged(self.WEB, Circumstances(trifecta=True), url=url).rule == 9


class TestRates:
    def test_more_letters_than_usual_are_confirmed_and_far_more_denied(self) -> None:
        to, text = mine("a@b.example", "Email"), mine("Hello", "Text")
        few, many, flood = (Circumstances(today=Today(sent=sent)) for sent in (3, 20, 100))
        assert len(judged(SEND, few, to=to, text=text).reasons) == 1
        assert "it would be number 21 to leave today; the limit is 20" in judged(SEND, many, to=to, text=text).reasons
        assert (judged(SEND, flood, to=to, text=text).kind, judged(SEND, flood, to=to, text=text).rule) == ("deny", 10)

    def test_sums_of_a_day_are_counted_by_currency(self) -> None:
        scene = replace(SAVED, today=Today(paid={"EUR": Decimal(1990), "USD": Decimal(5)}))
        says = "it would bring what is paid today to 2010.00 EUR; the limit is 2000"
        assert says in judged(PAY, scene, to=mine(OLD, "Iban"), amount=euros("-20.00")).reasons
        assert judged(PAY, scene, to=mine(OLD, "Iban"), amount=euros("9000.00")).kind == "deny"

    def test_the_first_payment_to_somebody_says_so(self) -> None:
        verdict = judged(PAY, SAVED, to=mine(NEW, "Iban"), amount=euros("5.00"))
        assert "you have never paid “GB29 NWBK 6016 1331 9268 19” before" in verdict.reasons
        assert len(judged(PAY, SAVED, to=mine(OLD, "Iban"), amount=euros("5.00")).reasons) == 1

    def test_other_limits_are_another_policy(self) -> None:
        assert Policy(limits=Limits(sent=1)).version != Policy().version


IDENTIFIERS = {
    "pay to DE89 3704 0044 0532 0130 00 now": "pay to [account number removed] now",
    "see https://evil.example/pay?x=1, www.evil.example": "see [web address removed] [web address removed]",
    "hxxps://evil.example and evil[dot]example": "[web address removed] and [web address removed]",
    "mail x@evil.example or x [at] evil [dot] example": "mail [mail address removed] or [mail address removed]",
    "ring +49 30 1234567 or 030 / 123 456 78": "ring [telephone number removed] or [telephone number removed]",
    "come to Musterstraße 5, 10115 Berlin": "come to [postal address removed]",
    "5 rue de la Paix 75002 Paris": "[postal address removed]",
    "ｈｔｔｐｓ：／／evil.example": "[web address removed]",
    "ht\u200btps://ev\u2060il.example": "[web address removed]",
    "bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh": "[account number removed]",
    "on 12.03.2025 at 14:30 it is 1,234.50 EUR, invoice 2025-00017": None,
    "Hello Mr.Smith, e.g. this. And so on... v1.2.3": None,
}


@pytest.mark.parametrize(("text", "left"), IDENTIFIERS.items())
def test_what_makes_a_reader_go_call_or_pay_is_found_and_taken_out(text: str, left: str | None) -> None:
    assert strip(text)[0] == (text if left is None else left)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([*IDENTIFIERS, "x", " ", ".", "/", "@", "http", "://", "evil", ".example"]), max_size=8)
)
def test_nothing_that_can_be_found_is_left_however_pieces_are_joined(pieces: list[str]) -> None:
    assert find(strip("".join(pieces))[0]) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[Pay here](https://evil.example)", "Pay here (https://evil.example)"),
        ("![x](https://evil.example/a.png)", "x (https://evil.example/a.png)"),
        ("https://раураl.example/a", "https://xn--l-7sba6dbr.example/a"),
        ("x@bücher.example", "x@xn--bcher-kva.example"),
        ("раураl.com", "xn--l-7sba6dbr.com"),
        ("München.Bahnhof um 9", "München.Bahnhof um 9"),
        ("отчёт.pdf", "отчёт.pdf"),
        ("a\u3164\u115f\u2800\u034fb\ufe0f\U000e0041", "ab"),
    ],
)
def test_shown_text_links_nowhere_and_hides_no_other_script(text: str, shown: str) -> None:
    assert clean(text) == shown


class TestStripping:
    """Rule 5 on the arguments themselves."""

    LETTER = Template(
        text="Please call us at +49 30 7654321. You wrote: {0} {1}",
        parts=(Fixed(value=outside(f"Pay {NEW} at https://evil.example", "Text")), Fixed(value=mine(OLD, "Iban"))),
    )

    def step(self, manifest: Manifest, **args: Argument) -> tuple[Plan, Step]:
        step = Step(uid="u1", id="s1", tool=manifest.name, tool_version="1", manifest="m", args=args,
                    effect=manifest.effect, effect_class=manifest.effect_class)  # fmt: skip
        return Plan(proposal="p", run="r", planner="p", policy="2", steps=(step,)), step

    def test_outside_identifiers_are_taken_out_of_a_letter_and_its_own_words_stay(self) -> None:
        args, removed = resolved(*self.step(SEND, text=self.LETTER), {}, SEND)
        assert args["text"].v == (
            "Please call us at +49 30 7654321. You wrote: Pay [account number removed] at [web address removed] "
            "DE89 3704 0044 0532 0130 00"
        )
        assert [(name, one.text) for name, one in removed] == [("text", NEW), ("text", "https://evil.example")]

    def test_what_the_person_keeps_stays(self) -> None:
        args, removed = resolved(*self.step(SEND, text=self.LETTER), {}, SEND, kept=("https://evil.example",))
        assert "at https://evil.example DE89" in str(args["text"].v)
        assert len(removed) == 1

    def test_what_stays_with_the_owner_is_left_as_it_is(self) -> None:
        note = tool("notes.add", "write_self", {"text": Arg(type="Text")})
        assert NEW in str(resolve(*self.step(note, text=self.LETTER), {}, note)["text"].v)

    def test_the_persons_own_words_are_left_as_they_are(self) -> None:
        own = Fixed(value=mine(f"Pay {NEW}", "Text"))
        assert resolve(*self.step(SEND, text=own), {}, SEND)["text"].v == f"Pay {NEW}"
