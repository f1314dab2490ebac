# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""What the repository already has: conformance vectors and golden files."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Callable, Iterable, Iterator, TypeVar

KIB = 1024
MIB = 1024 * KIB
ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "conformance" / "vectors" / "1.0"
GOLDEN = ROOT / "codec" / "tests" / "golden"

# For ptd_reader and generate; behind everything else, since those folders are no packages of ours.
sys.path += [str(ROOT / "conformance" / "python"), str(ROOT / "conformance")]

Seeds = Iterator[tuple[str, bytes]]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Vector:
    """A file of the conformance suite."""

    name: str
    outcome: str
    path: Path
    size: int

    @property
    def seed(self) -> str:
        """Its name as a file name."""
        return self.name.replace("/", ".")

    def first(self, count: int) -> bytes:
        """Its first bytes. Some vectors are stored compressed, for they are huge."""
        with gzip.open(self.path) if self.path.suffix == ".gzip" else open(self.path, "rb") as file:
            return file.read(count)

    def whole(self) -> bytes:
        return self.first(self.size)


@cache
def vectors(*outcomes: str) -> list[Vector]:
    """The vectors that are files, of these outcomes, in the order of their names."""
    listed = json.loads((VECTORS / "manifest.json").read_text("utf-8"))["vectors"]
    return [Vector(entry["name"], entry["outcome"], VECTORS / entry["file"], entry["size"])
            for entry in listed if entry.get("outcome") in outcomes]


def foreign(*beginnings: str) -> Seeds:
    """Files of other formats whose names begin so."""
    for vector in vectors("foreign"):
        if vector.name.removeprefix("foreign/").startswith(beginnings):
            yield vector.seed, vector.whole()


def golden(folder: str, *endings: str) -> Seeds:
    """Files that other projects' tools wrote, by their endings."""
    for path in sorted((GOLDEN / folder).rglob("*")):
        if path.name.endswith(endings):
            yield ".".join(("golden", *path.relative_to(GOLDEN / folder).parts)), path.read_bytes()


def sample(items: Iterable[Item], count: int, name: Callable[[Item], str]) -> list[Item]:
    """A choice that looks random and hardly changes when items come or go: by the hash of their names."""
    return sorted(items, key=lambda item: hashlib.sha256(name(item).encode()).digest())[:count]
