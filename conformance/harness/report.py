# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""What came out of a run: a table for people, JSON and JUnit for programs."""

from __future__ import annotations

import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Sequence

from .runner import BAD, CRASH, FAIL, PASS, TIMEOUT, Result

KNOWN = "known"
SHOWN = 25
_ORDER = ("valid", "invalid/malformed", "invalid/invalid", "invalid/unsupported", "invalid/corrupt", "invalid",
          "foreign", "recipe", "write", "protocol")


@dataclass
class Tally:
    """Numbers of cases by outcome, and the seconds that they took."""

    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys((PASS, FAIL, BAD, CRASH, TIMEOUT, KNOWN), 0))
    seconds: float = 0.0

    def add(self, outcome: str, seconds: float) -> None:
        self.outcomes[outcome] += 1
        self.seconds += seconds

    @property
    def cases(self) -> int:
        return sum(self.outcomes.values())

    def row(self) -> list[str]:
        n = self.outcomes
        return [str(v) for v in (self.cases, n[PASS], n[FAIL] + n[BAD], n[KNOWN], n[CRASH], n[TIMEOUT])] \
            + [f"{self.seconds:.2f}"]


class Report:
    """Collects results."""

    def __init__(self, known: dict[str, str]) -> None:
        self._known = known
        self._met: dict[str, bool] = {}  # known failure: has it failed?
        self.total = Tally()
        self.groups: dict[str, Tally] = {}
        self.vectors: dict[str, Tally] = {}
        self.failures: list[Result] = []
        self.excused: list[Result] = []

    def add(self, result: Result) -> None:
        """Takes a result in."""
        name = next((n for n in (result.name, result.vector.name) if n in self._known), None)
        outcome = result.outcome
        if name is not None:
            self._met[name] = self._met.get(name, False) or outcome != PASS
        if outcome != PASS:
            (self.failures if name is None else self.excused).append(result)
            outcome = outcome if name is None else KNOWN
        group = result.vector.group
        for tally in (self.total, self.groups.setdefault(group, Tally()),
                      self.vectors.setdefault(result.vector.name, Tally())):
            tally.add(outcome, result.seconds)

    @property
    def stale(self) -> list[str]:
        """Known failures that have passed."""
        return sorted(name for name, failed in self._met.items() if not failed)

    @property
    def good(self) -> bool:
        return not self.failures and not self.stale and self.total.cases > 0

    def print(self, verbose: bool) -> None:
        """The table, then one line for each failure."""
        colour = Colour(sys.stdout)
        order = {name: index for index, name in enumerate(_ORDER)}
        names = sorted(self.groups, key=lambda name: (order.get(name, len(order)), name))
        heads = ["group", "cases", "passed", "failed", "known", "crashed", "timed out", "seconds"]
        rows = [[name, *self.groups[name].row()] for name in names] + [["total", *self.total.row()]]
        print_table(heads, rows, colour, alarm=(3, 5, 6))
        failures = sorted(self.failures, key=lambda result: (result.name.split(":")[0], _number(result.name)))
        shown = failures if verbose else failures[:SHOWN]
        if failures:
            print()
        for result in shown:
            print(f"{colour.red(result.outcome.upper())} {result.name}: {clean(result.detail)}")
        if len(failures) > len(shown):
            print(f"... and {len(failures) - len(shown)} more failures (--verbose shows all)")
        if verbose and self.excused:
            print()
            for result in self.excused:
                reason = self._known.get(result.name, self._known.get(result.vector.name, ""))
                print(f"{colour.yellow('KNOWN')} {result.name}: {clean(result.detail)} ({clean(reason)})")
        for name in self.stale:
            print(f"{colour.red('STALE')} {name}: listed as a known failure, but it passes; remove the line")

    def write_json(self, path: Path, head: dict[str, Any]) -> None:
        """The report as JSON."""
        detail: dict[str, list[dict[str, str]]] = {}
        for result in self.failures + self.excused:
            detail.setdefault(result.vector.name, []).append(
                {"case": result.name, "outcome": result.outcome, "detail": result.detail})
        data = {
            **head,
            "good": self.good,
            "total": _json(self.total),
            "groups": {name: _json(tally) for name, tally in sorted(self.groups.items())},
            "vectors": [{"name": name, **_json(tally), "failures": detail.get(name, [])}
                        for name, tally in sorted(self.vectors.items())],
            "stale": self.stale,
        }
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    def write_junit(self, path: Path) -> None:
        """The report as JUnit XML: a test case for each vector."""
        bad: dict[str, list[Result]] = {}
        for result in self.failures:
            bad.setdefault(result.vector.name, []).append(result)
        excused = {result.vector.name for result in self.excused}
        suites = ElementTree.Element("testsuites")
        groups: dict[str, list[str]] = {}
        for name in sorted(self.vectors):
            parts = name.split("/")
            groups.setdefault("/".join(parts[:-1]), []).append(name)
        for group, names in groups.items():
            suite = ElementTree.SubElement(suites, "testsuite", name=group, tests=str(len(names)),
                                           failures=str(sum(name in bad or name in self.stale for name in names)))
            for name in names:
                case = ElementTree.SubElement(suite, "testcase", classname=group.replace("/", "."), name=name,
                                              time=f"{self.vectors[name].seconds:.3f}")
                if name in bad:
                    text = "\n".join(f"{r.outcome}: {r.name}: {r.detail}" for r in bad[name][:SHOWN])
                    node = ElementTree.SubElement(case, "failure", message=_xml(bad[name][0].detail))
                    node.text = _xml(text)
                elif name in self.stale:
                    ElementTree.SubElement(case, "failure", message="listed as a known failure, but it passes")
                elif name in excused:
                    ElementTree.SubElement(case, "skipped", message=_xml(self._known.get(name, "known failure")))
        ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def _json(tally: Tally) -> dict[str, Any]:
    n = tally.outcomes
    return {"cases": tally.cases, "passed": n[PASS], "failed": n[FAIL] + n[BAD], "known": n[KNOWN],
            "crashed": n[CRASH], "timed_out": n[TIMEOUT], "seconds": round(tally.seconds, 4)}


def _number(name: str) -> int:
    tail = name.rpartition(":")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else 0


def clean(text: str) -> str:
    """Text without control characters: what an adapter says must not move a terminal's cursor."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _xml(text: str) -> str:
    return re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd]", "?", text)


class Colour:
    """Colours, on a terminal that wants them."""

    def __init__(self, stream: Any) -> None:
        self._on = stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    def red(self, text: str) -> str:
        return f"\x1b[31m{text}\x1b[0m" if self._on else text

    def yellow(self, text: str) -> str:
        return f"\x1b[33m{text}\x1b[0m" if self._on else text


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], colour: Optional[Colour] = None,
                alarm: Sequence[int] = (), left: int = 1) -> None:
    """A table; the first columns to the left, the others to the right. Numbers over 0 in alarm columns are red."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, *rows]:
        cells = []
        for i, cell in enumerate(row):
            text = cell.ljust(widths[i]) if i < left else cell.rjust(widths[i])
            cells.append(colour.red(text) if colour and row is not heads and i in alarm and cell != "0" else text)
        print("  ".join(cells).rstrip())
