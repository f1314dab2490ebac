# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Two adapters side by side on mutated files: every disagreement is a fault of one of them, or of the text."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, Optional, Sequence

from . import strict_json
from .adapter import Adapter, Batch, Fault, GaveUp, Reply
from .anatomy import Anatomy
from .answers import Answer, difference
from .errors import UsageError
from .manifest import Vector
from .mutate import Generator, Mutant
from .slots import Slots

MAX_PARENT = 24 << 10
_WINDOW = 32
_SAVED = 100
_AFTER_DECODING = ("zero-content", "content-digest", "padding", "pad-bits")
_SAVED_ALIKE = 3


def parents(vectors: Sequence[Vector]) -> list[Anatomy]:
    """The small accepted files, taken apart."""
    found = []
    for vector in vectors:
        if vector.outcome != "accept" or vector.size > MAX_PARENT or vector.file is None or vector.description is None:
            continue
        try:
            found.append(Anatomy(vector.name, vector.file.read_bytes(),
                                 strict_json.loads(vector.description.read_bytes())))
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise UsageError(f"{vector.name}: cannot be taken apart: {error!r}") from None
    if not found:
        raise UsageError(f"no accepted vectors of at most {MAX_PARENT} bytes to mutate")
    return found


def disagreement(left: Reply, right: Reply) -> Optional[str]:
    """What two answers differ in, in words that group alike; None where they agree."""
    if isinstance(left, Fault) or isinstance(right, Fault):
        return f"{_brief(left)} / {_brief(right)}"
    if left.accepted and right.accepted:
        found = difference(left.description, right.description)
        return f"descriptions differ at {found.split(':')[0]}" if found else None
    if (left.accepted, left.level, left.cls, left.code) == (right.accepted, right.level, right.cls, right.code):
        return None
    return f"{_brief(left)} / {_brief(right)}"


def allowed(mutant: Mutant, left: Reply, right: Reply) -> bool:
    """RDR-11: readers may differ on whether a frame that breaks RFC 8878 decodes. What then follows differs too."""
    if isinstance(left, Fault) or isinstance(right, Fault) or not mutant.touches_frame():
        return False
    if (left.code == "chunk-data") == (right.code == "chunk-data"):
        return False
    other = right if left.code == "chunk-data" else left
    return other.accepted or other.code in _AFTER_DECODING


def _brief(reply: Reply) -> str:
    return reply.kind if isinstance(reply, Fault) else str(reply)


@dataclass
class Outcome:
    """What a differential run came to."""

    files: int = 0
    seconds: float = 0.0
    codes: "Counter[str]" = field(default_factory=Counter)
    disagreements: "Counter[str]" = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    allowed: int = 0
    saved: int = 0
    gave_up: str = ""


class Differential:
    """Runs mutants through two adapters and keeps what they disagree on."""

    def __init__(self, adapter: Adapter, reference: Adapter, generator: Generator, seed: int, folder: Path) -> None:
        self._adapters = (adapter, reference)
        self._generator = generator
        self._seed = seed
        self._folder = folder
        self.outcome = Outcome()

    def run(self, count: int) -> Outcome:
        """Runs mutants 0 to count - 1."""
        began = told = time.monotonic()
        outcome = self.outcome
        sessions = [Batch(adapter) for adapter in self._adapters]
        waiting: deque[tuple[int, Mutant, str]] = deque()
        try:
            with Slots() as slots:
                numbers: Iterator[int] = iter(range(count))
                while True:
                    while len(waiting) < _WINDOW:
                        index = next(numbers, None)
                        if index is None:
                            break
                        mutant = self._generator.mutant(index)
                        path = slots.write(mutant.build())
                        for session in sessions:
                            session.push(path)
                        waiting.append((index, mutant, path))
                    if not waiting:
                        break
                    try:
                        replies = [session.pull() for session in sessions]
                    except GaveUp as reason:
                        outcome.gave_up = str(reason)
                        break
                    index, mutant, path = waiting.popleft()
                    slots.remove(path)
                    self._compare(index, mutant, replies[0], replies[1])
                    outcome.files += 1
                    outcome.seconds = time.monotonic() - began
                    if sys.stderr.isatty() and time.monotonic() - told > 2:
                        told = time.monotonic()
                        bad = sum(outcome.disagreements.values())
                        print(f"\r{outcome.files} of {count} files, {bad} disagreements", end="", file=sys.stderr,
                              flush=True)
        finally:
            for session in sessions:
                session.kill()
            if sys.stderr.isatty():
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        return outcome

    def _compare(self, index: int, mutant: Mutant, left: Reply, right: Reply) -> None:
        self.outcome.codes[_brief(right)] += 1
        words = disagreement(left, right)
        if words is None:
            return
        if allowed(mutant, left, right):
            self.outcome.allowed += 1
            return
        self.outcome.disagreements[words] += 1
        if self.outcome.disagreements[words] <= _SAVED_ALIKE and self.outcome.saved < _SAVED:
            self.outcome.saved += 1
            name = self._save(index, mutant, words, left, right)
            self.outcome.examples.setdefault(words, name)

    def _save(self, index: int, mutant: Mutant, words: str, left: Reply, right: Reply) -> str:
        """Writes the file, smaller where that is as good, and a note beside it."""
        small, replies = self._minimise(mutant, words, (left, right))
        self._folder.mkdir(parents=True, exist_ok=True)
        stem = f"{self._seed}-{index}"
        (self._folder / f"{stem}.ptd").write_bytes(small.build())
        note = {
            "seed": self._seed, "index": index, "parent": mutant.parent.name, "disagreement": words,
            "adapter": _long(replies[0]), "reference": _long(replies[1]),
            "edits": [edit.note() for edit in small.edits], "repairs": sorted(small.repairs),
            "edits_undone": len(mutant.edits) - len(small.edits),
        }
        if all(isinstance(reply, Answer) and reply.accepted for reply in replies):
            note["difference"] = difference(replies[1].description, replies[0].description)  # type: ignore[union-attr]
        (self._folder / f"{stem}.json").write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
        return f"{stem}.ptd"

    def _minimise(self, mutant: Mutant, words: str, replies: tuple[Reply, Reply]) -> tuple[Mutant, tuple[Reply, Reply]]:
        """Undoes single edits as long as the disagreement stays the same."""
        if any(isinstance(reply, Fault) and reply.kind == "timeout" for reply in replies):
            return mutant, replies
        with Slots() as slots:
            for edit in mutant.edits:
                if len(mutant.edits) == 1:
                    break
                fewer = Mutant(mutant.parent, tuple(e for e in mutant.edits if e is not edit), mutant.repairs)
                path = slots.write(fewer.build())
                left, right = (adapter.decode(path) for adapter in self._adapters)
                if disagreement(left, right) == words and not allowed(fewer, left, right):
                    mutant, replies = fewer, (left, right)
        return mutant, replies


def _long(reply: Reply) -> str:
    return f"{reply.kind}: {reply.detail}" if isinstance(reply, Fault) else str(reply)
