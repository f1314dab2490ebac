# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Cases: the single files that the vectors stand for, and what each of them has to give."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterable, Iterator, Optional

from . import strict_json
from .answers import Answer, difference
from .manifest import Vector, is_packed, read_file


@dataclass(frozen=True)
class Expectation:
    """What an adapter has to answer. Without a code: accept."""

    level: str = ""
    cls: str = ""
    code: str = ""
    kind: Optional[str] = None
    description: Optional[Path] = None

    def __str__(self) -> str:
        return f"reject, {self.level}, {self.cls}, {self.code}" if self.code else "accept"

    def fault(self, answer: Answer) -> Optional[str]:
        """What is wrong with an answer, or None."""
        if answer.accepted:
            if self.code:
                return f"accepted; expected: {self}"
            if answer.description is not None and self.description is not None:
                found = difference(load_description(self.description), answer.description)
                if found:
                    return f"wrong description at {found}"
            return None
        if not self.code:
            return f"refused: {answer}; expected: accept"
        if (answer.level, answer.cls, answer.code) != (self.level, self.cls, self.code):
            return f"came: {answer}; expected: {self}"
        if self.kind is not None and answer.foreign is not None and answer.foreign != self.kind:
            return f"called {answer.foreign!r}; expected: {self.kind!r}"
        return None


@dataclass(frozen=True)
class Case:
    """One file for decode. number is the n of a recipe's file, None for a vector that is a file."""

    vector: Vector
    expected: Expectation
    number: Optional[int] = None

    @property
    def name(self) -> str:
        return self.vector.name if self.number is None else f"{self.vector.name}:{self.number}"

    @property
    def path(self) -> Optional[Path]:
        """The file, where it is not made."""
        return None if self.vector.file is not None and is_packed(self.vector.file) else self.vector.file

    def data(self) -> bytes:
        """The bytes of the file."""
        if self.number is None:
            assert self.vector.file is not None
            return read_file(self.vector.file)
        parent = self.vector.parent
        assert parent is not None and parent.file is not None
        return derive(_parent(parent.file), self.vector.operation or "", self.number)


def derive(parent: bytes, operation: str, number: int) -> bytes:
    """The file that a recipe makes for a number (MANIFEST.md)."""
    if operation == "cut":
        return parent[:number]
    if operation == "append":
        return parent + bytes(number)
    data = bytearray(parent)
    data[number // 8] ^= 1 << number % 8
    return bytes(data)


@lru_cache(maxsize=4)
def _parent(path: Path) -> bytes:
    return path.read_bytes()


@lru_cache(maxsize=64)
def load_description(path: Path) -> Any:
    """The expected description in a file."""
    return strict_json.loads(path.read_bytes())


def expand(vectors: Iterable[Vector], level: str) -> Iterator[Case]:
    """The cases of vectors for decode, in order. What verify would find is accepted at level open."""
    for vector in vectors:
        if vector.outcome == "write":
            continue
        if vector.outcome == "recipe":
            for part in vector.ranges:
                expected = _refusal(part.level, part.cls, part.code, level)
                for number in range(part.begin, part.end):
                    yield Case(vector, expected, number)
        elif vector.outcome == "accept":
            yield Case(vector, Expectation(description=vector.description))
        else:
            yield Case(vector, _refusal(vector.level, vector.cls or "", vector.code or "", level, vector.kind))


def _refusal(found: str, cls: str, code: str, level: str, kind: Optional[str] = None) -> Expectation:
    if found == "verify" and level == "open":
        return Expectation()
    return Expectation(found, cls, code, kind)


def count(vector: Vector) -> int:
    """The number of cases of a vector."""
    return sum(part.end - part.begin for part in vector.ranges) if vector.outcome == "recipe" else 1


def select(vectors: Iterable[Vector], filters: list[str], skips: list[str], rules: list[str],
           without: list[str]) -> list[Vector]:
    """The vectors that fit one of the filters and have one of the rules (all, where there is none), fit no skip and
    have none of the flags."""

    def fits(name: str, globs: list[str]) -> bool:
        return any(fnmatch.fnmatchcase(name, glob) for glob in globs)

    return [vector for vector in vectors
            if (not filters or fits(vector.name, filters)) and not fits(vector.name, skips)
            and (not rules or set(vector.rules) & set(rules)) and not set(vector.flags) & set(without)]
