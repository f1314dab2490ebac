# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""One process of an adapter: bytes in, bytes out, deadlines, bounded memory, killed with everything it started."""

from __future__ import annotations

import errno
import os
import selectors
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import Any, Iterator, Optional, Sequence

from .errors import UsageError

MAX_ANSWER = 64 << 20
TAIL = 4096


_running: set[int] = set()
_starting = threading.Lock()
_closed = False
_interrupts = {"deferred": False, "noted": False}


def on_interrupt(number: int, frame: Any) -> None:
    """Handler of SIGINT and SIGTERM. A process that is just being started must be known before anything is given up."""
    if _interrupts["deferred"]:
        _interrupts["noted"] = True
    else:
        raise KeyboardInterrupt


@contextmanager
def _no_interrupt() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals come to the main thread alone
        return
    _interrupts["deferred"] = True
    try:
        yield
    finally:
        _interrupts["deferred"] = False
    if _interrupts["noted"]:
        _interrupts["noted"] = False
        raise KeyboardInterrupt


def kill_all() -> None:
    """Ends all running adapters, for good: none starts any more. Whoever waits for one sees its end."""
    global _closed
    with _starting:
        _closed = True
        for process in list(_running):
            _kill_group(process)


def running() -> bool:
    """Whether an adapter has not been waited for yet."""
    return bool(_running)


def _kill_group(process: int) -> None:
    try:
        os.killpg(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    # A thread that sees its adapter killed would start another: not after kill_all.
    with _no_interrupt(), _starting:
        if _closed:
            raise UsageError("interrupted")
        try:
            process = subprocess.Popen(list(command), bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise UsageError(f"cannot run {command[0]!r}: {error.strerror or error}") from None
        _running.add(process.pid)
        return process


class Timeout(Exception):
    """The deadline has passed."""


class TooMuch(Exception):
    """The adapter wrote more than an answer can hold."""


class Child:
    """A running adapter. Every wait ends at a deadline (time.monotonic)."""

    def __init__(self, command: Sequence[str], memory: Optional[int] = None) -> None:
        self._process = _start(command)
        if memory is not None:
            _limit(self._process.pid, memory)
        self._input = self._process.stdin
        self._out = bytearray()
        self._scanned = 0
        self._tail = bytearray()
        self._unsent = b""
        self._selector = selectors.DefaultSelector()
        self._writing = False
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin = self._process.stdin.fileno()
        self._streams = {self._process.stdout.fileno(): self._process.stdout,
                         self._process.stderr.fileno(): self._process.stderr}
        self._stdout = self._process.stdout.fileno()
        os.set_blocking(self._stdin, False)
        for descriptor in self._streams:
            self._selector.register(descriptor, selectors.EVENT_READ)

    def send(self, data: bytes) -> None:
        """Hands bytes to standard input, at once as far as they fit, the rest while waiting for something else."""
        self._unsent += data
        self._write()

    def close_input(self) -> None:
        """Ends standard input, once everything has been sent."""
        self._input = None
        self._write()

    def line(self, deadline: float) -> Optional[bytes]:
        """The next line of standard output, without its end. None where output has ended before one."""
        while True:
            end = self._out.find(b"\n", self._scanned)
            if end >= 0:
                line = bytes(self._out[:end])
                del self._out[:end + 1]
                self._scanned = 0
                return line
            self._scanned = len(self._out)
            if self._stdout not in self._streams:
                return None
            self._step(deadline)

    def rest(self, deadline: float) -> bytes:
        """All of standard output up to its end."""
        while self._stdout in self._streams:
            self._step(deadline)
        return bytes(self._out)

    def finish(self, deadline: float) -> int:
        """Waits for the end of all output and of the process; its exit code, negative for a signal."""
        while self._streams:
            self._step(deadline)
            if len(self._out) > MAX_ANSWER:
                raise TooMuch
        try:
            return self._process.wait(max(0.001, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Timeout from None

    def kill(self) -> Optional[int]:
        """Ends the process and what it started. Its exit code, if it had ended by itself."""
        code = self._process.poll()
        _kill_group(self._process.pid)
        self._process.wait()
        _running.discard(self._process.pid)
        for stream in list(self._streams.values()):
            stream.close()
        self._streams.clear()
        self._selector.close()
        if self._process.stdin:
            try:
                self._process.stdin.close()
            except OSError:
                pass
        return code

    def tail(self) -> str:
        """The end of standard error, on one line."""
        text = bytes(self._tail).decode("utf-8", "backslashreplace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        shown = " | ".join(lines[-3:])
        return "".join(c if c.isprintable() else "?" for c in shown)[-400:]

    def _step(self, deadline: float) -> None:
        """Waits until something can be moved, and moves it."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise Timeout
        for key, _ in self._selector.select(min(left, 1.0)):
            if key.fd == self._stdin:
                self._write()
            elif key.fd in self._streams:
                self._read(key.fd)

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, 1 << 16)
        if not data:
            self._selector.unregister(descriptor)
            self._streams.pop(descriptor).close()
        elif descriptor == self._stdout:
            self._out += data
            if len(self._out) > MAX_ANSWER:
                raise TooMuch
        else:
            self._tail = (self._tail + data)[-TAIL:]

    def _write(self) -> None:
        stdin = self._process.stdin
        if stdin is None or stdin.closed:
            return
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin, self._unsent[:1 << 20]):]
        except BlockingIOError:
            pass
        except OSError as error:  # it reads no more; whether that is a fault shows in its answer
            if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                raise
            self._unsent = b""
        if bool(self._unsent) != self._writing:
            self._writing = bool(self._unsent)
            if self._writing:
                self._selector.register(self._stdin, selectors.EVENT_WRITE)
            else:
                self._selector.unregister(self._stdin)
        if self._input is None and not self._unsent:
            stdin.close()


def _limit(process: int, memory: int) -> None:
    """Bounds a process's address space, where the system can."""
    try:
        import resource
        resource.prlimit(process, resource.RLIMIT_AS, (memory, memory))
    except (ImportError, AttributeError, OSError, ValueError):
        pass


def exit_words(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
