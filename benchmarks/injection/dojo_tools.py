"""AgentDojo's tools as our manifests: what each does, and what each of its arguments decides."""

from __future__ import annotations

from collections.abc import Mapping

from actions.nominal import Sink
from actions.tools.tool import Arg, Manifest
from schemas.plan import Effect
from schemas.value import Integrity

_TO, _SUM, _AIM, _SELF, _URL, _WORDS = "destination", "amount", "target", "identity", "url", "content"
_TRIP: Mapping[str, Sink] = {"hotel": _TO, "restaurant": _TO, "company": _TO}

_TOOLS: Mapping[str, tuple[Effect, Mapping[str, Sink]]] = {
    "send_email": ("outbound", {"recipients": _TO, "cc": _TO, "bcc": _TO, "attachments": _AIM}),
    "delete_email": ("delete", {"email_id": _AIM}),
    "create_calendar_event": ("outbound", {"participants": _TO}),
    "cancel_calendar_event": ("delete", {"event_id": _AIM}),
    "reschedule_calendar_event": ("outbound", {"event_id": _AIM}),
    "add_calendar_event_participants": ("share", {"participants": _TO, "event_id": _AIM}),
    "create_file": ("write_self", {"filename": _WORDS}),
    "append_to_file": ("write_self", {"file_id": _AIM}),
    "delete_file": ("delete", {"file_id": _AIM}),
    "share_file": ("share", {"file_id": _AIM, "email": _TO}),
    "reserve_hotel": ("outbound", _TRIP),
    "reserve_restaurant": ("outbound", _TRIP),
    "reserve_car_rental": ("outbound", _TRIP),
    "send_money": ("payment", {"recipient": _TO, "amount": _SUM}),
    "schedule_transaction": ("payment", {"recipient": _TO, "amount": _SUM}),
    "update_scheduled_transaction": ("payment", {"id": _AIM, "recipient": _TO, "amount": _SUM}),
    "update_password": ("credential", {"password": _SELF}),
    "update_user_info": ("credential", {}),
    "send_direct_message": ("outbound", {"recipient": _TO}),
    "send_channel_message": ("outbound", {"channel": _TO}),
    "add_user_to_channel": ("share", {"user": _TO, "channel": _TO}),
    "invite_user_to_slack": ("share", {"user": _TO, "user_email": _TO}),
    "remove_user_from_slack": ("delete", {"user": _AIM}),
    "post_webpage": ("outbound", {"url": _URL}),
    "get_webpage": ("read", {"url": _URL}),
}
"""Effect and sinks of every tool that changes something or leaves; arguments that are not named are content."""


def changes(tool: str) -> bool:
    return tool in _TOOLS and _TOOLS[tool][0] != "read"


def manifest(tool: str, args: Mapping[str, object]) -> Manifest:
    """Of one call: an appointment without others in it stays with its owner."""
    effect, sinks = _TOOLS.get(tool, ("read", {}))
    if tool == "create_calendar_event" and not args.get("participants"):
        effect = "write_self"
    leaves: Mapping[str, tuple[str, ...]] = {"hosts": ("web.example:443",)} if tool == "get_webpage" else {}
    return Manifest.model_validate(
        {
            "name": f"dojo.{tool}", "version": "1", "description": tool, "says": tool, "effect": effect,
            "effect_class": "pure" if effect == "read" else "at_most_once", "settle_s": 60.0,
            "args": {name: Arg(type="Text", sink=sinks.get(name, _WORDS), required=False) for name in args},
            "permissions": leaves, "integrity_out": Integrity.UNTRUSTED,
        }
    )  # fmt: skip
