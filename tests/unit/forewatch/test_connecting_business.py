"""Connecting a business system: what is asked for is what its definition says."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.standins.rest import account

DEFINITION = """\
kind: rest
name: shop
about: the shop's orders
base_url: https://shop.example/api
auth: {type: basic, help: Ask your administrator}
streams:
  - {name: orders, path: /orders, records: items, id: id}
"""


def test_a_person_is_asked_for_the_secrets_that_a_definition_names(
    forewatch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with account(DEFINITION, tmp_path) as shop:
        shop.system.put("orders", {"id": 1})
        monkeypatch.setattr("sys.stdin", io.StringIO("nora\ns3cret\n"))
        options = ("--set", "allow_private=true", "--set", f"base_url={shop.system.url}")
        said = forewatch("accounts", "add", "rest", shop.config.definition, "--name", "shop", *options)
        assert said.code == 0, said.err
        assert "Ask your administrator" in said.err
        assert "orders: 1 rows" in said.err
        assert "s3cret" not in said.err + said.out
        assert forewatch("accounts", "test", "shop").code == 0


def test_a_mistake_in_a_definition_is_told_with_its_place(forewatch: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(DEFINITION.replace("records:", "recrods:"))
    said = forewatch("accounts", "add", "rest", str(path))
    assert said.code == 2
    assert f"{path}:7:35: unknown key 'recrods'; did you mean 'records'?" in said.err.replace("\n", "")
