# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Runs cases through an adapter."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Callable, Iterable, Iterator, Optional

from .adapter import Adapter, Batch, Fault, GaveUp, Reply
from .cases import Case
from .child import kill_all, running
from .manifest import Vector
from .slots import Slots

WINDOW = 32
WINDOW_BYTES = 32 << 20

PASS, FAIL, BAD, CRASH, TIMEOUT = "pass", "fail", "bad output", "crash", "timeout"
_OUTCOMES = {"crash": CRASH, "timeout": TIMEOUT, "bad": BAD}


@dataclass(frozen=True)
class Result:
    """How one case went. detail says what came and what was expected."""

    vector: Vector
    name: str
    outcome: str
    detail: str
    seconds: float


Sink = Callable[[Result], None]


class Stop:
    """A flag that ends a run early, and the processes to end with it."""

    def __init__(self) -> None:
        self.set = False


def judge(case: Case, reply: Reply, seconds: float) -> Result:
    """The result of a case."""
    if isinstance(reply, Fault):
        return Result(case.vector, case.name, _OUTCOMES[reply.kind], reply.detail, seconds)
    fault = case.expected.fault(reply)
    return Result(case.vector, case.name, FAIL if fault else PASS, fault or "", seconds)


def run(cases: Iterable[Case], adapter: Adapter, sink: Sink, batch: bool = True, jobs: int = 1,
        stop: Optional[Stop] = None, confirm: bool = True, window: int = WINDOW) -> None:
    """Runs all cases, in several workers, and gives each result to the sink, one at a time. With confirm, what has no
    answer in batch mode is asked again alone. Ends early once stop is set."""
    stop = stop or Stop()
    lock = threading.Lock()
    shared = iter(cases)

    def locked() -> Iterator[Case]:
        while not stop.set:
            with lock:
                case = next(shared, None)
            if case is None:
                return
            yield case

    def locked_sink(result: Result) -> None:
        with lock:
            if not stop.set:
                sink(result)

    def work() -> None:
        with Slots() as slots:
            if batch:
                _batch(locked(), adapter, locked_sink, slots, stop, confirm, window)
            else:
                _alone(locked(), adapter, locked_sink)

    if jobs <= 1:
        work()
        return
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # raised again below
            errors.append(error)
            stop.set = True

    workers = [threading.Thread(target=guarded, daemon=True) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            while worker.is_alive():
                worker.join(0.2)
    except BaseException:
        stop.set = True
        end_workers()
        raise
    if errors:
        raise errors[0]


def end_workers() -> None:
    """Ends workers that have been told to stop, and their adapters, for good."""
    kill_all()
    # Python before 3.13 takes a thread for ended whose join was interrupted, so that is not what to wait for.
    deadline = time.monotonic() + 5
    while running() and time.monotonic() < deadline:
        time.sleep(0.02)


def _alone(cases: Iterator[Case], adapter: Adapter, sink: Sink) -> None:
    """One process a case; made files go through standard input."""
    for case in cases:
        began = time.monotonic()
        reply = adapter.decode(None, case.data()) if case.path is None else adapter.decode(str(case.path))
        sink(judge(case, reply, time.monotonic() - began))


def _batch(cases: Iterator[Case], adapter: Adapter, sink: Sink, slots: Slots, stop: Stop, confirm: bool,
           window: int) -> None:
    """One process for many cases, which are written a few ahead of the answers."""
    session = Batch(adapter)
    open_cases: deque[tuple[Case, str, int]] = deque()
    size = 0
    last: Optional[Case] = None
    more = True
    began = time.monotonic()
    try:
        while not stop.set:
            while more and len(open_cases) < window and (size < WINDOW_BYTES or not open_cases):
                case = next(cases, None)
                if case is None:
                    more = False
                    break
                data = b"" if case.path is not None else case.data()
                path = os.path.abspath(case.path) if case.path is not None else slots.write(data)
                if not open_cases:
                    began = time.monotonic()
                open_cases.append((case, path, len(data)))
                size += len(data)
                session.push(path)
            if not open_cases:
                break
            case, path, length = open_cases[0]
            try:
                reply = session.pull()
            except GaveUp as reason:
                _give_up(open_cases, cases, sink, str(reason))
                return
            if isinstance(reply, Fault) and reply.kind != "bad" and confirm:
                reply = _again(case, path, adapter, reply)
            sink(judge(case, reply, time.monotonic() - began))
            began = time.monotonic()
            open_cases.popleft()
            size -= length
            last = case
            if case.path is None:
                slots.remove(path)
        if last is not None and not stop.set:
            fault = session.finish()
            if fault is not None:
                sink(Result(protocol_vector("end of input"), "protocol/end of input", _OUTCOMES[fault.kind],
                            f"batch mode: {fault.detail}", 0.0))
    finally:
        session.kill()


def _again(case: Case, path: str, adapter: Adapter, lost: Fault) -> Reply:
    """Asks alone about a file without an answer in batch mode. It stays a fault, but it is known better."""
    alone = adapter.decode(path)
    if isinstance(alone, Fault):
        return alone
    fault = case.expected.fault(alone)
    return Fault(lost.kind, f"in batch mode: {lost.detail}; alone: {fault if fault else 'the right answer'}")


def _give_up(open_cases: Iterable[tuple[Case, str, int]], cases: Iterator[Case], sink: Sink, reason: str) -> None:
    for case in [entry[0] for entry in open_cases]:
        sink(Result(case.vector, case.name, CRASH, f"not run: {reason}", 0.0))
    for case in cases:
        sink(Result(case.vector, case.name, CRASH, f"not run: {reason}", 0.0))


def protocol_vector(name: str) -> Vector:
    """A stand-in for cases that are no vector: what an adapter is asked beside them."""
    return Vector(f"protocol/{name}", "protocol", (), (), "")


def check_protocol(cases: list[Case], adapter: Adapter, sink: Sink) -> None:
    """Asks about a file alone, by path and by standard input: batch mode must not be the only one that works."""
    for wanted in (True, False):
        fitting = [case for case in cases if case.path is not None and bool(case.expected.code) == wanted]
        if not fitting:
            continue
        case = min(fitting, key=lambda c: c.vector.size)
        for way in ("path", "standard input"):
            began = time.monotonic()
            reply = adapter.decode(str(case.path)) if way == "path" else adapter.decode(None, case.data())
            result = judge(case, reply, time.monotonic() - began)
            vector = protocol_vector(f"decode by {way}")
            sink(Result(vector, f"{vector.name}, {case.name}", result.outcome, result.detail, result.seconds))


def run_write(vectors: Iterable[Vector], adapter: Adapter, reference: Adapter, sink: Sink) -> None:
    """Has the adapter encode each description, and the reference decode what it wrote."""
    with Slots() as slots:
        for vector in vectors:
            began = time.monotonic()
            out = slots.name()
            outcome, detail = _write(vector, adapter, reference, out)
            sink(Result(vector, vector.name, outcome, detail, time.monotonic() - began))
            slots.remove(out)


def _write(vector: Vector, adapter: Adapter, reference: Adapter, out: str) -> tuple[str, str]:
    answer = adapter.encode(str(vector.input), out)
    if isinstance(answer, Fault):
        return _OUTCOMES[answer.kind], answer.detail
    expected = f"refuse, {vector.cls}, {vector.code}" if vector.code else f"model id {vector.model_id}"
    if answer is not None:
        came = f"refused, {answer.cls}, {answer.code}"
        if vector.code is None or (answer.cls, answer.code) != (vector.cls, vector.code):
            return FAIL, f"came: {came}; expected: {expected}"
        return (FAIL, f"{came}, but left a file") if os.path.exists(out) else (PASS, "")
    if not os.path.isfile(out):
        return FAIL, "exit code 0, but no file"
    if vector.code is not None:
        return FAIL, f"wrote a file; expected: {expected}"
    read = reference.at("verify").decode(out)
    if isinstance(read, Fault):
        return FAIL, f"the reference fails at what was written: {read.kind}: {read.detail}"
    if not read.accepted:
        return FAIL, f"the reference refuses what was written: {read}"
    leaf = read.description.get("model_id")
    came_id = leaf.get("value") if isinstance(leaf, dict) else None
    return (PASS, "") if came_id == vector.model_id else (FAIL, f"came: model id {came_id}; expected: {expected}")

