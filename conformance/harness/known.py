# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Known failures: a file that says which failures an implementation has for now, and why."""

from __future__ import annotations

from pathlib import Path

from .errors import UsageError
from .manifest import Vector


def load(path: Path, vectors: list[Vector]) -> dict[str, str]:
    """Name and reason of each line 'NAME  # reason'. Names are those of vectors, or of cases: RECIPE:NUMBER."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    by_name = {vector.name: vector for vector in vectors}
    known: dict[str, str] = {}
    faults = []
    for number, line in enumerate(text.splitlines(), 1):
        name, _, reason = (part.strip() for part in line.partition("#"))
        if not name:
            continue  # empty, or a comment
        if not _exists(name, by_name):
            faults.append(f"{path}:{number}: no vector has the name {name!r}")
        elif not reason:
            faults.append(f"{path}:{number}: {name} without a reason; write: {name}  # reason")
        elif name in known:
            faults.append(f"{path}:{number}: {name} twice")
        known[name] = reason
    if faults:
        raise UsageError("\n".join(faults))
    return known


def _exists(name: str, by_name: dict[str, Vector]) -> bool:
    if name in by_name:
        return True
    recipe, colon, number = name.rpartition(":")
    vector = by_name.get(recipe)
    return bool(colon) and vector is not None and number.isascii() and number.isdigit() \
        and any(part.begin <= int(number) < part.end for part in vector.ranges)
