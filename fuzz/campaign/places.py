# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Where everything is, and the table of targets."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator

from .errors import Trouble, usage


def shown(path: Path) -> str:
    """A path as a person in this folder would type it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def runnable(path: Path) -> str:
    """The same for a command: a shell looks for a name without a slash elsewhere."""
    text = shown(path)
    return text if "/" in text else f"./{text}"


@dataclass(frozen=True)
class Places:
    """The folders of a campaign, absolute: libFuzzer and we may differ about the current one."""

    fuzz: Path
    bin: Path
    work: Path
    corpora: Path

    def binary(self, target: str) -> Path:
        return self.bin / f"fuzz_{target}"

    def corpus(self, target: str) -> Path:
        return self.corpora / target

    def seeds(self, target: str) -> Path:
        return self.work / "seeds" / target

    def regressions(self, target: str) -> Path:
        return self.fuzz / "finds" / target

    def dictionary(self, target: str) -> Path:
        return self.fuzz / "dictionaries" / f"{target}.dict"

    def finds(self, target: str) -> Path:
        return self.work / "finds" / target

    def log(self, target: str) -> Path:
        return self.work / "logs" / f"{target}.log"

    @property
    def stats(self) -> Path:
        return self.work / "stats.json"

    def lock(self, name: str) -> Path:
        return self.work / "locks" / name

    def need_binaries(self, targets: Iterable[str]) -> None:
        """All at once, before hours are spent on the ones that are there."""
        missing = [shown(self.binary(name)) for name in targets if not os.access(self.binary(name), os.X_OK)]
        if missing:
            raise Trouble(f"not built: {', '.join(missing)}; ./dev fuzz builds them")


def read_targets(fuzz: Path) -> dict[str, dict[str, int]]:
    """Each target's libFuzzer options, in the order of the table."""
    path = fuzz / "targets.json"
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Trouble(f"{shown(path)}: {error}") from error


def choose(table: dict[str, dict[str, int]], names: list[str]) -> list[str]:
    """The targets that are meant: all where none is named."""
    for name in names:
        if name not in table:
            raise usage(f"no target '{name}'; there are {', '.join(table)}")
    return [name for name in table if name in names or not names]


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[None]:
    """The kernel lets go of it when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise Trouble(f"another run is at work on '{path.name}'; wait for it or name other targets") from None
        yield


@contextmanager
def reserved(places: Places, targets: Iterable[str]) -> Iterator[None]:
    """One run at a time has a target: a corpus swapped under a fuzzer would lose what it finds."""
    with ExitStack() as stack:
        for name in targets:
            stack.enter_context(locked(places.lock(name)))
        yield
