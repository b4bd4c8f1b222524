"""An MCP server of a travel agency: options, holds, bookings, kept in one file. Only the standard library."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

BOOK = Path(sys.argv[1]) / "agency.json"
"""``{"sold": [options], "bookings": {reference: {option, status}}}``; a test looks at it and sells options out."""
PRICES = {"TRAIN-7": "118.00 EUR", "FLIGHT-2": "164.00 EUR", "FLIGHT-9": "201.00 EUR"}


class Refused(Exception):
    pass


def options(book: dict[str, Any], city: str) -> dict[str, str]:
    """The two cheapest, by what is known when they are asked for."""
    best, second = sorted(PRICES, key=lambda option: float(PRICES[option].split()[0]))[:2]
    return {"best": best, "best_price": PRICES[best], "second": second, "second_price": PRICES[second]}


def hold(book: dict[str, Any], option: str) -> dict[str, str]:
    if option in book["sold"]:
        raise Refused(f"{option} is sold out")
    reference = f"R{len(book['bookings']) + 1}"
    book["bookings"][reference] = {"option": option, "status": "held"}
    return {"reference": reference, "option": option, "price": PRICES[option]}


def moved(status: str) -> Callable[[dict[str, Any], str], dict[str, str]]:
    def work(book: dict[str, Any], reference: str) -> dict[str, str]:
        book["bookings"][reference]["status"] = status
        option = book["bookings"][reference]["option"]
        return {"reference": reference, "option": option, "price": PRICES[option]}

    return work


def booking(book: dict[str, Any], reference: str) -> dict[str, str]:
    return {"status": book["bookings"][reference]["status"]}


Work = Callable[..., dict[str, str]]
TOOLS: dict[str, tuple[Work, str, tuple[str, ...]]] = {
    "options": (options, "city", ("best", "best_price", "second", "second_price")),
    "hold": (hold, "option", ("reference", "option", "price")),
    "book": (moved("booked"), "reference", ("reference", "option", "price")),
    "release": (moved("released"), "reference", ("reference", "option", "price")),
    "booking": (booking, "reference", ("status",)),
}


def _schema(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


def _listing() -> list[dict[str, Any]]:
    return [
        {"name": name, "description": name, "inputSchema": _schema(arg), "outputSchema": _schema(*fields)}
        for name, (_, arg, fields) in TOOLS.items()
    ]


def _call(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    book = json.loads(BOOK.read_text())
    try:
        out = TOOLS[name][0](book, **arguments)
    except Refused as refusal:
        return {"content": [{"type": "text", "text": str(refusal)}], "isError": True}
    BOOK.write_text(json.dumps(book))
    return {"content": [{"type": "text", "text": json.dumps(out)}], "structuredContent": out}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, id_ = message.get("method"), message.get("id")
        if id_ is None:
            continue
        answer: dict[str, Any] = {"error": {"code": -32601, "message": "unknown method"}}
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            server = {"name": "agency", "version": "1"}
            answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}}
        elif method == "tools/list":
            answer = {"result": {"tools": _listing()}}
        elif method == "tools/call":
            answer = {"result": _call(message["params"]["name"], message["params"]["arguments"])}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id_, **answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
