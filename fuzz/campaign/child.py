# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""One running fuzzer, and what it cost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Optional, Sequence

from . import interrupt
from .errors import INTERRUPTED, Trouble

POLL = 0.05
_GRACE = 10.0
_LOG_END = 1 << 22


@dataclass(frozen=True)
class Ended:
    """How a child ended. The code is negative for a signal, as everywhere in Python."""

    code: int
    cpu: float
    rss_kib: int
    log: str
    overdue: bool = False

    def how(self) -> str:
        if self.overdue:
            return "was killed because it did not end in time"
        if self.code >= 0:
            return f"ended with status {self.code}"
        return f"was killed by signal {-self.code} ({signal.strsignal(-self.code)})"


def _tail(path: Path) -> str:
    """The end of a log: a talkative target may have written gigabytes."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LOG_END))
        return file.read().decode(errors="replace")


class Child:
    """Its own session: a Ctrl-C of the terminal is for us, and its children go with it."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str],
                 patience: Optional[float] = None) -> None:
        self.log = log
        self._until = None if patience is None else time.monotonic() + patience
        self._overdue = False
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                    env=dict(environment), start_new_session=True)
            except OSError as error:
                raise Trouble(f"{command[0]} cannot start: {error.strerror}") from error

    def poll(self) -> Optional[Ended]:
        """None while it runs."""
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if pid:
            return self._end(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
        if self._until is not None and time.monotonic() > self._until and not self._overdue:
            self._overdue = True
            self._signal(signal.SIGKILL)
        return None

    def _end(self, code: int, cpu: float, rss_kib: int) -> Ended:
        # Popen would look for a child that wait4 has already taken.
        self._process.returncode = code
        self._signal(signal.SIGKILL)
        return Ended(code, cpu, rss_kib, _tail(self.log), self._overdue)

    def wait(self) -> Ended:
        """Until it ends; stops it when we are interrupted."""
        while (ended := self.poll()) is None:
            if interrupt.asked():
                self.stop()
                raise Trouble("interrupted", INTERRUPTED)
            time.sleep(POLL)
        return ended

    def ask(self) -> None:
        """libFuzzer ends and prints its statistics when asked; who does not is killed."""
        self._signal(signal.SIGTERM)
        self._until = time.monotonic() + _GRACE

    def stop(self) -> Ended:
        """Asks and waits."""
        self.ask()
        while (ended := self.poll()) is None:
            time.sleep(POLL)
        return ended

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass
