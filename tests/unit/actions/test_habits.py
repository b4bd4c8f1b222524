"""What the person gave before, in a new plan: suggested with its provenance, filled in only once they confirmed it."""

from __future__ import annotations

from datetime import timedelta

from actions.planning.playbook import Playbook
from actions.proposal.propose import Tick
from actions.proposal.render import proposal as shown
from actions.proposal.state import ProposalState
from actions.testing.household import trigger
from actions.testing.talk import Talk
from schemas.plan import Fixed
from schemas.trigger import Trigger
from schemas.value import Integrity, Value
from tests.unit.actions.test_memories import fired, offered, rebuilt, talk, the, told


def edited(world: Talk, number: int, payee: str) -> None:
    world.tell(offered(world, number), "edit", step="s1", args={"payee": payee})


def payee_of(state: ProposalState) -> Value:
    assert state.plan is not None
    argument = state.plan.step("s1").args["payee"]
    assert isinstance(argument, Fixed)
    return argument.value


def nameless(number: int) -> Trigger:
    """A bill that does not say from whom."""
    values = {name: value for name, value in trigger().values.items() if name != "party.name"}
    return fired(number, values=values)


class TestSuggested:
    def test_what_was_given_twice_is_suggested_and_never_used_unasked(self) -> None:
        world = talk()
        edited(world, 1, "Visa")
        edited(world, 2, "Visa")
        state = offered(world, 3)
        assert payee_of(state).v == "Acme"
        (line,) = [reason for reason in shown(state, world.setup).reasons if "Visa" in reason]
        known = the(world, "default")
        assert line.startswith("you gave “Visa” for payee 2 times, last on 2025-03-03")
        assert f"forewatch memory keep {known.id[:8]}" in line

    def test_it_stands_beside_a_question_as_what_was_found(self) -> None:
        world = talk()
        for number in (1, 2):
            world.say(nameless(number))
            state = world.book.by_trigger(nameless(number).id)
            assert state is not None
            world.tell(state, "answer", slots={"payee": "Acme Energy"})
        world.say(nameless(3))
        state = world.book.by_trigger(nameless(3).id)
        assert state is not None
        assert (state.phase, len(state.questions)) == ("needs_input", 1)
        (question,) = shown(state, world.setup).questions
        assert question.found == "Acme Energy"
        assert "2 times" in question.text

    def test_what_was_given_once_says_nothing(self) -> None:
        world = talk()
        edited(world, 1, "Visa")
        assert not any("Visa" in reason for reason in shown(offered(world, 2), world.setup).reasons)


class TestConfirmed:
    def test_it_fills_the_slot_as_the_persons_own_value_and_says_where_it_comes_from(self) -> None:
        world = talk()
        edited(world, 1, "Visa")
        known = the(world, "default")
        told(world, "keep", memory=known.id)
        state = offered(world, 2)
        value = payee_of(state)
        assert (value.v, value.integrity, value.how, value.sources) == ("Visa", Integrity.USER, "user", (known.id,))
        view = shown(state, world.setup)
        assert any(f"as you settled it (memory {known.id[:8]}" in reason for reason in view.reasons)
        assert next(arg.badge for arg in view.steps[0].args if arg.name == "payee") == "you"
        world.tell(state, "approve")
        assert the(world, "default").support == 1, "using it is no further act of the person"

    def test_what_the_person_gives_this_time_goes_first(self) -> None:
        world = talk()
        edited(world, 1, "Visa")
        told(world, "keep", memory=the(world, "default").id)
        state = offered(world, 2)
        world.tell(state, "edit", step="s1", args={"payee": "Giro"})
        assert payee_of(state).v == "Giro"
        assert payee_of(offered(world, 3)).v == "Acme", "a default that the person changed holds no more"

    def test_it_holds_for_its_other_side_alone(self) -> None:
        world = talk()
        edited(world, 1, "Visa")
        told(world, "keep", memory=the(world, "default").id)
        assert payee_of(offered(world, 2, "Bolt")).v == "Bolt"

    def test_forgetting_it_ends_it(self) -> None:
        world = talk()
        edited(world, 1, "Visa")
        told(world, "keep", memory=the(world, "default").id)
        told(world, "forget", memory=the(world, "default").id)
        assert payee_of(offered(world, 2)).v == "Acme"
        assert rebuilt(world) == list(world.book.memory)

    def test_an_argument_without_a_slot_takes_it_too(self) -> None:
        world = talk()
        book = world.setup.playbooks["pay"].model_dump(by_alias=True)
        book["steps"][0]["args"]["payee"] = {"text": "Bill of {payee}"}
        world.setup = type(world.setup)({"pay": Playbook.model_validate(book)}, world.setup.tools)
        edited(world, 1, "Visa")
        told(world, "keep", memory=the(world, "default").id)
        assert payee_of(offered(world, 2)).v == "Visa"


class TestIgnored:
    def expire(self, world: Talk, numbers: range) -> None:
        for number in numbers:
            offered(world, number, deadline_at=world.clock.now() + timedelta(days=2))
            world.clock.advance_to(world.clock.now() + timedelta(days=3))
            world.say_time()

    def test_three_interruptions_without_an_answer_send_the_next_to_the_digest_and_it_is_told_once(self) -> None:
        world = Ticking.of(talk())
        self.expire(world, range(1, 4))
        state = offered(world, 4)
        assert (state.surface, state.surface_reason) == ("digest", "ignored")
        offered(world, 5)
        notes = [entry for entry in world.entries if entry.body.get("code") == "demoted"]
        assert [note.stream for note in notes] == [state.id]
        assert "forewatch memory forget" in str(notes[0].body["says"])

    def test_what_is_critical_still_interrupts_and_so_does_what_another_side_sends(self) -> None:
        world = Ticking.of(talk())
        self.expire(world, range(1, 4))
        assert offered(world, 4, urgency="critical").surface == "now"
        assert offered(world, 5, "Bolt").surface == "now"

    def test_an_answer_or_forgetting_lets_them_interrupt_again(self) -> None:
        for answer in (True, False):
            world = Ticking.of(talk())
            self.expire(world, range(1, 4))
            state = offered(world, 4)
            if answer:
                world.tell(state, "approve")
            else:
                told(world, "forget", memory=the(world, "ignored").id)
            assert offered(world, 5).surface == "now"

    def test_what_waited_in_the_digest_was_not_ignored(self) -> None:
        world = Ticking.of(talk(budget=0))
        self.expire(world, range(1, 5))
        assert offered(world, 9).surface_reason == "budget_spent"


class Ticking(Talk):
    @classmethod
    def of(cls, world: Talk) -> Ticking:
        return cls(world.setup, world.clock)

    def say_time(self) -> None:
        self.say(Tick())
