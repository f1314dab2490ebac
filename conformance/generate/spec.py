# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""What SPEC.md says about rules and codes, read from its tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Code:
    """A row of the table of section 17."""

    name: str
    error_class: str
    level: str
    rules: tuple[str, ...]


def _expand(cell: str) -> tuple[str, ...]:
    """ "ENC-2 to ENC-13, VIE-1" as a list."""
    rules: list[str] = []
    for part in cell.split(","):
        ends = re.findall(r"([A-Z]{3})-(\d+)", part)
        if len(ends) == 2 and " to " in part:
            rules += [f"{ends[0][0]}-{n}" for n in range(int(ends[0][1]), int(ends[1][1]) + 1)]
        else:
            rules += [f"{letters}-{number}" for letters, number in ends]
    return tuple(rules)


class Spec:
    """Rule ids in the order of the document, and the normative codes by name."""

    def __init__(self, path: Path) -> None:
        document = path.read_text(encoding="utf-8")
        self.rules = re.findall(r"^\| \[([A-Z]{3}-\d+)\]", document, re.MULTILINE)
        row = r"^\| ([a-z-]+) \| (malformed|invalid|unsupported|corrupt) \| (open|verify|read, verify) \| (.*) \|$"
        self.codes = {
            name: Code(name, error_class, "open" if level == "open" else "verify", _expand(rules))
            for name, error_class, level, rules in re.findall(row, document, re.MULTILINE)
        }
