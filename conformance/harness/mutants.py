# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Mutation analysis: does some vector notice when a reader leaves one check out?"""

from __future__ import annotations

import queue
import re
import threading
import time
from dataclasses import dataclass
from typing import Callable, Optional

from .adapter import Adapter
from .cases import expand
from .errors import UsageError
from .manifest import Vector
from .runner import PASS, Result, Stop, end_workers, run

_WINDOW = 8


@dataclass(frozen=True)
class Mutant:
    """What became of the adapter without one check. killer is None for a survivor."""

    check: str
    killer: Optional[Result]
    cases: int
    seconds: float


def checks(adapter: Adapter) -> list[str]:
    """The names of the checks that the adapter can leave out."""
    try:
        names = adapter.lines("--list-checks")
    except RuntimeError as error:
        raise UsageError(f"--list-checks: {error}") from None
    if not names or len(set(names)) != len(names):
        raise UsageError("--list-checks: no names, or one of them twice")
    return names


def order(vectors: list[Vector], check: str) -> list[Vector]:
    """The vectors, those first that are made for the check's rule, and those last that stand for many cases."""
    match = re.match(r"[A-Z]{3}-[0-9]+", check)
    rule = match.group() if match else check

    def key(vector: Vector) -> tuple[bool, bool, bool, bool]:
        return ("large" in vector.flags, rule not in vector.rules, vector.outcome == "recipe",
                not any(r[:3] == rule[:3] for r in vector.rules))

    return sorted(vectors, key=key)


def baseline(vectors: list[Vector], adapter: Adapter, jobs: int) -> list[Result]:
    """The failures of the whole adapter. There may be none, or a kill would mean nothing."""
    failures: list[Result] = []

    def sink(result: Result) -> None:
        if result.outcome != PASS:
            failures.append(result)

    run(expand(vectors, adapter.level), adapter, sink, jobs=jobs)
    return failures


def try_one(vectors: list[Vector], adapter: Adapter, check: str, stop: Optional[Stop] = None) -> Mutant:
    """Runs the vectors with one check left out until a case fails."""
    stop = stop or Stop()
    killer: list[Result] = []
    seen = 0
    began = time.monotonic()

    def sink(result: Result) -> None:
        nonlocal seen
        seen += 1
        if result.outcome != PASS:
            killer.append(result)
            stop.set = True

    run(expand(order(vectors, check), adapter.level), adapter.with_options("--skip", check), sink, stop=stop,
        confirm=False, window=_WINDOW)
    return Mutant(check, killer[0] if killer else None, seen, time.monotonic() - began)


def analyse(vectors: list[Vector], adapter: Adapter, names: list[str], jobs: int,
            done: Callable[[Mutant], None]) -> None:
    """Tries all checks, some at a time."""
    todo: "queue.SimpleQueue[str]" = queue.SimpleQueue()
    for name in names:
        todo.put(name)
    lock = threading.Lock()
    stops = [Stop() for _ in range(jobs)]
    errors: list[BaseException] = []
    ended = Stop()

    def work(index: int) -> None:
        try:
            while not ended.set:
                name = todo.get_nowait()
                stops[index] = Stop()
                mutant = try_one(vectors, adapter, name, stops[index])
                with lock:
                    if not ended.set:
                        done(mutant)
        except queue.Empty:
            pass
        except BaseException as error:  # raised again below
            errors.append(error)
            ended.set = True

    workers = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(jobs)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            while worker.is_alive():
                worker.join(0.2)
    except BaseException:
        ended.set = True
        for stop in stops:
            stop.set = True
        end_workers()
        raise
    if errors:
        raise errors[0]
