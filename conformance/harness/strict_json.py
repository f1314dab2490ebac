# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""JSON as the suite takes it: UTF-8, one value, no member twice, no NaN."""

from __future__ import annotations

import json
from typing import Any


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"member {next(n for n in names if names.count(n) > 1)!r} twice")
    return result


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_constant)


def loads(data: bytes) -> Any:
    """The value of a JSON text. Raises ValueError where it is none."""
    try:
        return _DECODER.decode(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deep") from None
