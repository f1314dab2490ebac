# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Seeds of targets that read their input as a row of decisions: any bytes do."""

from __future__ import annotations

import random

from .repository import Seeds

COUNT = 64
SHORTEST = 16


def manifest() -> Seeds:
    return _decisions("manifest", 2048)


def roundtrip() -> Seeds:
    return _decisions("roundtrip", 1024)


def _decisions(target: str, longest: int) -> Seeds:
    """Of evenly spread bytes few become small numbers, which are the ones that refer to something: so every second
    string has small bytes only."""
    source = random.Random(f"ptd decisions {target}")
    for index in range(COUNT):
        size = SHORTEST + (longest - SHORTEST) * index // (COUNT - 1)
        values = 256 if index % 2 == 0 else 8
        # Of all that random offers, random() alone is the same in every version of Python.
        yield f"decisions-{index:02}", bytes(int(source.random() * values) for _ in range(size))
