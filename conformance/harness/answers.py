# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Answers of an adapter: taken strictly, compared with what is expected (PROTOCOL.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional

from . import strict_json


class BadAnswer(Exception):
    """Output that is not an object of the protocol."""


@dataclass(frozen=True)
class Answer:
    """What an adapter said about a file."""

    accepted: bool
    level: str = ""
    cls: str = ""
    code: str = ""
    foreign: Optional[str] = None
    description: Any = None

    def __str__(self) -> str:
        return "accept" if self.accepted else f"reject, {self.level}, {self.cls}, {self.code}"


def parse(output: bytes, level: str) -> Answer:
    """The answer to decode or batch at a level. Raises BadAnswer."""
    value = _object(output)
    result = value.get("result")
    if result == "accept":
        members = {"result", "description"} if level == "verify" else {"result"}
        if set(value) != members:
            raise BadAnswer(f"an accepting answer at level {level} has the members {', '.join(sorted(members))}, "
                            f"not {', '.join(sorted(value))}")
        if level == "verify" and not isinstance(value["description"], dict):
            raise BadAnswer("the description is not an object")
        return Answer(True, description=value.get("description"))
    if result == "reject":
        members = {"result", "level", "class", "code"}
        if set(value) - {"foreign"} != members:
            raise BadAnswer(f"a refusing answer has the members {', '.join(sorted(members))} and maybe foreign, "
                            f"not {', '.join(sorted(value))}")
        _texts(value)
        return Answer(False, value["level"], value["class"], value["code"], value.get("foreign"))
    if result == "internal":
        raise BadAnswer(f"the adapter says that it has no answer: {_short(value.get('message'))}")
    raise BadAnswer(f"result is neither accept nor reject: {_short(value)}")


def parse_refusal(output: bytes) -> Answer:
    """The answer of encode where it refuses. Raises BadAnswer."""
    value = _object(output)
    if value.get("result") != "reject" or set(value) != {"result", "class", "code"}:
        raise BadAnswer('a refusing writer says {"result":"reject","class":C,"code":E}, not ' + _short(value))
    _texts(value)
    return Answer(False, "", value["class"], value["code"])


def _object(output: bytes) -> dict[str, Any]:
    try:
        value = strict_json.loads(output)
    except ValueError as error:
        raise BadAnswer(f"not one JSON object ({error}): {show(output)}") from None
    if not isinstance(value, dict):
        raise BadAnswer(f"not an object: {_short(value)}")
    return value


def _texts(value: dict[str, Any]) -> None:
    for name, member in value.items():
        if not isinstance(member, str):
            raise BadAnswer(f"{name} is {_short(member)}, not a text")


def show(output: bytes, limit: int = 120) -> str:
    """The beginning of some output, on one line, without control characters."""
    if not output:
        return "nothing"
    text = repr(output[:limit].decode("utf-8", "backslashreplace"))
    return text + (f" and {len(output) - limit} bytes more" if len(output) > limit else "")


def _short(value: Any) -> str:
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 90 else text[:87] + "..."


def difference(expected: Any, actual: Any, place: str = "") -> Optional[str]:
    """The first place at which two JSON values differ, with both values; None where they are equal."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in expected:
            if name not in actual:
                return f"{place}.{name}: missing"
        for name in actual:
            if name not in expected:
                return f"{place}.{name}: not expected"
        for name, value in expected.items():
            found = difference(value, actual[name], f"{place}.{name}")
            if found:
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (left, right) in enumerate(zip(expected, actual)):
            found = difference(left, right, f"{place}[{index}]")
            if found:
                return found
        if len(expected) != len(actual):
            return f"{place}: {len(expected)} elements expected, {len(actual)} came"
        return None
    if type(expected) is not type(actual) or expected != actual:
        return f"{place}: {_short(expected)} expected, {_short(actual)} came"
    return None
