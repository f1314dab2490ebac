# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""An adapter: asked alone, a process a file, or in batch mode, one process for many files."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace
from typing import Optional, Union

from .answers import Answer, BadAnswer, parse, parse_refusal, show
from .child import Child, Timeout, TooMuch, exit_words

BARREN_AT_FIRST = 5  # processes in a row without an answer, where there has never been one
BARREN_HANGS = 8  # where they hang
BARREN = 500


@dataclass(frozen=True)
class Fault:
    """Why there is no answer: kind is crash, timeout or bad."""

    kind: str
    detail: str


Reply = Union[Answer, Fault]


class GaveUp(Exception):
    """Batch processes end again and again without a single answer."""


@dataclass(frozen=True)
class Adapter:
    """How to call an adapter. memory is a limit in bytes, or None."""

    command: tuple[str, ...]
    level: str = "verify"
    timeout: float = 30.0
    memory: Optional[int] = None

    def at(self, level: str) -> "Adapter":
        return replace(self, level=level)

    def with_options(self, *words: str) -> "Adapter":
        return replace(self, command=(*self.command, *words))

    def decode(self, path: Optional[str], data: bytes = b"") -> Reply:
        """The answer about a file: by its path, or, without one, by its bytes on standard input."""
        words = ["decode", "--level", self.level] + ([path] if path is not None else [])
        outcome = self._run(words, data if path is None else b"")
        if isinstance(outcome, Fault):
            return outcome
        code, output, tail = outcome
        if code not in (0, 1):
            return Fault("crash", _died(code, tail))
        try:
            answer = parse(output, self.level)
        except BadAnswer as error:
            return Fault("bad", f"exit code {code}, {error}" + _err(tail))
        if answer.accepted != (code == 0):
            return Fault("bad", f"{answer} with exit code {code}")
        return answer

    def encode(self, description: str, out: str) -> Union[Optional[Answer], Fault]:
        """None where the adapter wrote the file, its answer where it refused."""
        outcome = self._run(["encode", description, out], b"")
        if isinstance(outcome, Fault):
            return outcome
        code, output, tail = outcome
        if code == 0:
            return None
        if code != 1:
            return Fault("crash", _died(code, tail))
        try:
            return parse_refusal(output)
        except BadAnswer as error:
            return Fault("bad", f"exit code 1, {error}" + _err(tail))

    def lines(self, *words: str) -> list[str]:
        """The lines that the adapter writes when called so. Raises RuntimeError where it fails."""
        outcome = self._run(list(words), b"")
        if isinstance(outcome, Fault):
            raise RuntimeError(outcome.detail)
        code, output, tail = outcome
        if code != 0:
            raise RuntimeError(_died(code, tail))
        return output.decode("utf-8", "backslashreplace").split()

    def _run(self, words: list[str], data: bytes) -> Union[tuple[int, bytes, str], Fault]:
        child = Child([*self.command, *words], self.memory)
        try:
            deadline = time.monotonic() + self.timeout
            child.send(data)
            child.close_input()
            output = child.rest(deadline)
            return child.finish(deadline), output, child.tail()
        except Timeout:
            return Fault("timeout", f"no answer within {self.timeout:g} s" + _err(child.tail()))
        except TooMuch:
            return Fault("bad", "more output than an answer can have")
        finally:
            child.kill()


def _died(code: int, tail: str) -> str:
    return exit_words(code) + _err(tail)


def _err(tail: str) -> str:
    return f"; standard error: {tail}" if tail else ""


class Batch:
    """Batch mode. Paths are pushed, answers are pulled in the same order, some paths later. A process that dies, hangs
    or floods costs the file it stood at; a new one goes on with the next."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._child: Optional[Child] = None
        self._paths: deque[str] = deque()
        self._answered = 0  # by this process
        self._ever = False
        self._barren = 0  # processes in a row without an answer
        self._since = time.monotonic()  # when the first open path became the first

    def push(self, path: str) -> None:
        """Asks about a file."""
        if not self._paths:
            self._since = time.monotonic()
        self._paths.append(path)
        if self._child is not None:
            self._child.send(path.encode("utf-8", "surrogateescape") + b"\n")

    def pull(self) -> Reply:
        """The answer about the oldest path that has none. Raises GaveUp."""
        if self._child is None:
            self._start()
        assert self._child is not None
        try:
            line = self._child.line(self._since + self._adapter.timeout)
        except Timeout:
            return self._lose(Fault("timeout", f"no answer within {self._adapter.timeout:g} s"))
        except TooMuch:
            return self._lose(Fault("bad", "more output than an answer can have"))
        if line is None:
            return self._lose(None)
        self._paths.popleft()
        self._answered += 1
        self._ever = True
        self._barren = 0
        self._since = time.monotonic()
        try:
            return parse(line, self._adapter.level)
        except BadAnswer as error:
            return Fault("bad", str(error))

    def finish(self) -> Optional[Fault]:
        """Ends standard input. What was wrong with how the process ended, or None."""
        child, self._child = self._child, None
        if child is None:
            return None
        try:
            deadline = time.monotonic() + self._adapter.timeout
            child.close_input()
            rest = child.rest(deadline)
            code = child.finish(deadline)
            if rest:
                return Fault("bad", f"output that nobody asked for: {show(rest)}")
            if code != 0:
                return Fault("crash", "at the end of standard input: " + _died(code, child.tail()))
            return None
        except Timeout:
            return Fault("timeout", f"still there {self._adapter.timeout:g} s after the end of standard input")
        except TooMuch:
            return Fault("bad", "more output than an answer can have")
        finally:
            child.kill()

    def kill(self) -> None:
        """Ends the process, whatever it does."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    def _start(self) -> None:
        self._child = Child([*self._adapter.command, "batch", "--level", self._adapter.level], self._adapter.memory)
        self._answered = 0
        self._since = time.monotonic()
        text = "".join(path + "\n" for path in self._paths)
        self._child.send(text.encode("utf-8", "surrogateescape"))

    def _lose(self, fault: Optional[Fault]) -> Fault:
        """Ends the process; the first open path goes without an answer."""
        child, self._child = self._child, None
        assert child is not None
        if fault is None:
            try:
                code = child.finish(time.monotonic() + min(5.0, self._adapter.timeout))
                fault = Fault("crash", _died(code, child.tail()))
            except (Timeout, TooMuch):
                fault = Fault("crash", "closed its output" + _err(child.tail()))
        elif child.tail():
            fault = Fault(fault.kind, fault.detail + _err(child.tail()))
        child.kill()
        self._paths.popleft()
        self._barren = 0 if self._answered else self._barren + 1
        limit = BARREN_AT_FIRST if not self._ever else BARREN_HANGS if fault.kind == "timeout" else BARREN
        if self._barren >= limit:
            raise GaveUp(f"{self._barren} batch processes in a row ended without an answer; the last: {fault.detail}")
        return fault
