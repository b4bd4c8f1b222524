"""Money: a Decimal and an ISO 4217 code; an outflow is negative everywhere."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Annotated, Self

from pydantic import Field, PlainSerializer, field_validator

from schemas.model import Model

_EXPONENTS = {
    **dict.fromkeys(
        [
            "BIF",
            "CLP",
            "DJF",
            "GNF",
            "ISK",
            "JPY",
            "KMF",
            "KRW",
            "PYG",
            "RWF",
            "UGX",
            "UYI",
            "VND",
            "VUV",
            "XAF",
            "XOF",
            "XPF",
        ],
        0,
    ),
    **dict.fromkeys(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"], 3),
    **dict.fromkeys(["CLF", "UYW"], 4),
}


def exponent(currency: str) -> int:
    """Digits after the point of the currency's minor unit (ISO 4217): JPY 0, EUR 2, KWD 3."""
    return _EXPONENTS.get(currency, 2)


Amount = Annotated[Decimal, PlainSerializer(lambda d: format(d, "f"), return_type=str, when_used="json")]


class Money(Model):
    """``amount`` in major units (euros, not cents)."""

    amount: Amount = Field(max_digits=24, decimal_places=6)
    currency: str = Field(pattern=r"^[A-Z]{3}$")

    @field_validator("amount")
    @classmethod
    def _normal_form(cls, value: Decimal) -> Decimal:
        """At least the currency's usual digits are added by ``of``; here only -0 goes."""
        return value if value else abs(value)

    @classmethod
    def of(cls, amount: Decimal | str | int, currency: str) -> Self:
        """The currency's usual digits, and more only where they are not zero, so equal money has equal text.

        12.5 EUR is 12.50, -8.95000 EUR is -8.95, 5000.00 JPY is 5000. ValueError for what is no amount.
        """
        value = Decimal(amount)
        if not value.is_finite():
            raise ValueError(f"not an amount: {amount!r}")
        try:
            places = max(exponent(currency), -int(value.normalize().as_tuple().exponent))
            value = value.quantize(Decimal(1).scaleb(-places))
        except InvalidOperation as error:
            raise ValueError(f"too many digits for an amount: {amount!r}") from error
        return cls(amount=value, currency=currency)

    @classmethod
    def from_minor(cls, minor: int, currency: str) -> Self:
        """1250 EUR cents -> 12.50; 5000 JPY -> 5000."""
        return cls(amount=Decimal(minor).scaleb(-exponent(currency)), currency=currency)

    def __neg__(self) -> Money:
        return Money(amount=-self.amount, currency=self.currency)

    def __add__(self, other: Money) -> Money:
        """Exact; ValueError across currencies."""
        if other.currency != self.currency:
            raise ValueError(f"cannot add {other.currency} to {self.currency}")
        return Money.of(self.amount + other.amount, self.currency)

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"


_PLAIN = re.compile(r"[+-]?\d+(\.\d+)?")


def decimal(text: str) -> Decimal:
    """A plain decimal with a point; ValueError for anything else (no exponents, no NaN)."""
    stripped = text.strip()
    if not _PLAIN.fullmatch(stripped):
        raise ValueError(f"not a plain decimal: {text!r}")
    try:
        return Decimal(stripped)
    except InvalidOperation as error:
        raise ValueError(f"not a plain decimal: {text!r}") from error
