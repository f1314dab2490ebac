# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Shares CPU time between targets, slice by slice."""

from __future__ import annotations

import math
import shlex
import shutil
import time
from pathlib import Path
from typing import Callable, Mapping, Optional

from . import engine, interrupt, stats
from .child import POLL, Child, Ended
from .errors import BROKEN, FOUND, GOOD, INTERRUPTED, Trouble
from .places import Places, runnable, shown

LONGEST = 120
# Each slice reads the whole corpus again; on a busy machine ever smaller rests would do little else.
_SHORTEST = 5
# For the corpus to be read and a report to be written, on a machine that has other things to do.
_PATIENCE = 1800


class Shares:
    """Who is next, by CPU time: on a shared machine wall time says little about work done."""

    def __init__(self, targets: list[str], budget: float) -> None:
        self.budget = budget
        self.spent = dict.fromkeys(targets, 0.0)
        self._busy: set[str] = set()

    def take(self) -> Optional[str]:
        """The target that had least, of those that nobody runs."""
        free = [name for name, cpu in self.spent.items() if name not in self._busy and cpu < self.budget]
        name = min(free, key=self.spent.__getitem__, default=None)
        if name is not None:
            self._busy.add(name)
        return name

    def seconds(self, name: str) -> int:
        """A slice's wall time, which is the most CPU time that one thread can use in it."""
        rest = max(self.budget - self.spent[name], min(_SHORTEST, self.budget))
        return max(1, min(LONGEST, math.ceil(rest)))

    def put_back(self, name: str, cpu: float) -> None:
        self.spent[name] += cpu
        self._busy.discard(name)

    def drop(self, name: str) -> None:
        """It has had what it gets."""
        self._busy.add(name)


class Campaign:
    """Runs slices until every target has had its time, or has failed."""

    def __init__(self, places: Places, table: Mapping[str, Mapping[str, int]], targets: list[str], budget: float,
                 jobs: int, say: Callable[[str], None]) -> None:
        self._places, self._table, self._jobs, self._say = places, table, jobs, say
        self._shares = Shares(targets, budget)
        self._running: dict[str, Child] = {}
        self.finds: list[str] = []
        self.broken: list[str] = []

    def run(self) -> int:
        """The exit code: a find matters more than a fuzzer that did not work."""
        try:
            while not interrupt.asked() and self._fill():
                self._settle()
                time.sleep(POLL)
        finally:
            self._stop()
        return INTERRUPTED if interrupt.asked() else FOUND if self.finds else BROKEN if self.broken else GOOD

    def _fill(self) -> bool:
        while len(self._running) < self._jobs and (name := self._shares.take()) is not None:
            self._start(name)
        return bool(self._running)

    def _start(self, name: str) -> None:
        seconds = self._shares.seconds(name)
        for folder in (self._places.corpus(name), self._places.finds(name)):
            folder.mkdir(parents=True, exist_ok=True)
        command = engine.slice_command(self._places, name, self._table[name], seconds)
        try:
            self._running[name] = Child(command, self._places.log(name), engine.environment(), seconds + _PATIENCE)
        except Trouble as error:
            self._break(name, str(error))

    def _settle(self) -> None:
        for name, child in list(self._running.items()):
            if (ended := child.poll()) is not None:
                del self._running[name]
                self._count(name, ended)

    def _stop(self) -> None:
        """What the stopped slices did counts too."""
        for child in self._running.values():
            child.ask()
        for name, child in self._running.items():
            self._count(name, child.stop(), stopped=True)
        self._running.clear()

    def _count(self, name: str, ended: Ended, stopped: bool = False) -> None:
        reading = engine.read_log(ended.log)
        found = ended.code != 0 and bool(reading.artifacts)
        entry = stats.add_slice(self._places, name, ended, reading, found)
        self._shares.put_back(name, ended.cpu)
        for path in reading.slow:
            self._say(f"{name}: slow input: {shown(Path(path))}")
        if found:
            self._report(name, Path(reading.artifacts[-1]), ended.log)
        elif not stopped and (ended.code != 0 or not reading.executions):
            self._break(name, ended.how() if ended.code else "ended without running anything", ended.log)
        else:
            self._say(self._progress(name, ended, entry))

    def _progress(self, name: str, ended: Ended, entry: Mapping[str, int]) -> str:
        return (f"{name}: {ended.cpu:.1f} s of CPU time, {self._shares.spent[name]:.0f} of "
                f"{self._shares.budget:.0f} s, cov {entry.get('cov', '-')}, ft {entry.get('ft', '-')}, "
                f"{entry['corpus_files']} files")

    def _report(self, name: str, artifact: Path, log: str) -> None:
        # The next slice's log takes this one's place.
        kept = self._places.log(f"{name}-{artifact.name}")
        shutil.copyfile(self._places.log(name), kept)
        binary = runnable(self._places.binary(name))
        replay = shlex.join(engine.replay_command(binary, self._table[name], Path(shown(artifact))))
        self._say("\n".join([f"FOUND: {name}: {shown(artifact)}", *(f"  {line}" for line in engine.reason(log)),
                             f"  log: {shown(kept)}", f"  replay: {replay}"]))
        self.finds.append(name)
        self._shares.drop(name)

    def _break(self, name: str, how: str, log: str = "") -> None:
        self._say("\n".join([f"BROKEN: {name}: {how} and left no input to replay",
                             *(f"  {line}" for line in engine.reason(log)),
                             f"  log: {shown(self._places.log(name))}"]))
        self.broken.append(name)
        self._shares.drop(name)
