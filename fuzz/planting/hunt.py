# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Looks for a planted fault: in the seeds, then by fuzzing from them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, Optional

from campaign import engine
from campaign.child import Child, Ended
from campaign.errors import Trouble

SEEDS, FUZZING = "seeds", "fuzzing"
_LONGEST_WORDS = 110
_NOISE = (
    (re.compile(r"^==\d+== ?ERROR: "), ""),
    (re.compile(r"^.*/source/"), ""),
    (re.compile(r"^.*Assertion "), "assertion "),
    (re.compile(r" on (unknown )?address 0x.*$"), ""),
)


def said(log: str) -> str:
    """The first line of a report, without what differs from run to run."""
    line = next((line for line in engine.reason(log) if line.strip()), "nothing")
    for noise, instead in _NOISE:
        line = noise.sub(instead, line)
    return line if len(line) <= _LONGEST_WORDS else line[:_LONGEST_WORDS - 3] + "..."


@dataclass
class Outcome:
    """What a hunt cost, and what it led to."""

    by: Optional[str] = None
    cpu: float = 0.0
    executions: int = 0
    words: str = ""
    find: Optional[Path] = None


@dataclass
class Hunt:
    """One fuzzer and what it starts from. Times are of the CPU, since a machine has more to do than this."""

    binary: Path
    table: Mapping[str, int]
    seeds: Path
    dictionary: Path
    corpus: Path
    finds: Path
    log: Path
    outcome: Outcome = field(default_factory=Outcome)

    def run(self, seconds: float) -> Outcome:
        """What the seeds show needs no fuzzing; the time for them counts in any case."""
        if not self._try(SEEDS, "-runs=0", str(self.seeds)):
            self._fuzz(seconds)
        return self.outcome

    def _fuzz(self, seconds: float) -> None:
        """libFuzzer ends by the clock, so it is started until the time of the CPU is used up."""
        for number in range(1, 1000):
            left = round(seconds - self.outcome.cpu)
            if left < 1 or self._try(FUZZING, f"-max_total_time={left}", f"-seed={number}",
                                     f"-dict={self.dictionary}", str(self.corpus), str(self.seeds)):
                return

    def _try(self, by: str, *arguments: str) -> bool:
        ended = Child([str(self.binary), *engine.options(self.table), "-print_final_stats=1",
                       f"-artifact_prefix={self.finds}/", *arguments], self.log, _quick()).wait()
        reading = engine.read_log(ended.log)
        self.outcome.cpu += ended.cpu
        self.outcome.executions += reading.executions
        if ended.code == 0:
            return False
        if not reading.artifacts:
            raise Trouble(f"{self.binary.name} {ended.how()} without a find: {engine.headline(ended.log)}")
        self.outcome.by, self.outcome.words = by, said(ended.log)
        self.outcome.find = Path(reading.artifacts[-1])
        return True


def _quick() -> dict[str, str]:
    """Names of functions would cost seconds that are not the fuzzer's."""
    return engine.environment(ASAN_OPTIONS="symbolize=0")


def fails(binary: Path, table: Mapping[str, int], file: Path, log: Path) -> bool:
    """Whether an input ends a fuzzer."""
    ended: Ended = Child(engine.replay_command(binary, table, file), log, _quick()).wait()
    return ended.code != 0
