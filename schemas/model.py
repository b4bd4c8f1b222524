"""The base of every model: frozen, closed, aware datetimes only, one JSON form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, JsonValue


class Model(BaseModel):
    """Frozen and closed. Equal models have equal JSON, so a model can be hashed by its JSON."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64", allow_inf_nan=False
    )


def _to_utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


Instant = Annotated[AwareDatetime, AfterValidator(_to_utc)]
"""An aware datetime, kept in UTC. Naive datetimes are refused."""

Json = JsonValue

__all__ = ["Instant", "Json", "Model"]
