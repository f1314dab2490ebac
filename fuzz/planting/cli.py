# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The command line."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Optional, Sequence

from campaign import interrupt
from campaign.errors import BROKEN, FOUND, GOOD, Trouble
from campaign.places import locked, read_targets, shown

from .faults import Fault, choose, read_all
from .hunt import Hunt, Outcome, fails
from .workshop import Workshop

FUZZ = Path(__file__).resolve().parent.parent
_ROOT = FUZZ.parent
_WORK = _ROOT / "build" / "planted"

_EPILOG = "exit codes: 0 all were found (or apply), 1 one was not, 2 wrong usage, 3 something did not work"
_HEAD = ("| fault | kind | target | found by | CPU s | executions | what was said |",
         "|---|---|---|---|---:|---:|---|")


def _minutes(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a time")
    return number


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(
        prog="./dev fuzz planted", epilog=_EPILOG,
        description="Removes one check of the codec at a time and measures how long its fuzz target takes to notice.")
    add = result.add_argument
    add("faults", nargs="*", metavar="NAME", help="the faults to plant; default: all")
    add("--list", action="store_true", help="say what there is")
    add("--check", action="store_true", help="only see whether the patches apply to the sources")
    add("--minutes", metavar="N", type=_minutes, default=5.0, help="CPU time for each fault; default: 5")
    return result


def _list(faults: list[Fault]) -> int:
    for fault in faults:
        print(f"{fault.name:20} {fault.target:13} {fault.kind:13} {fault.text}")
    return GOOD


def _check(faults: list[Fault]) -> int:
    refusals = {fault.name: fault.apply(_ROOT, "--check") for fault in faults}
    for name, refusal in refusals.items():
        if refusal is not None:
            print(f"{name}: {refusal}", file=sys.stderr)
    print(f"{sum(refusal is None for refusal in refusals.values())} of {len(refusals)} patches apply")
    return FOUND if any(refusal is not None for refusal in refusals.values()) else GOOD


def _write_seeds(target: str, folder: Path) -> Path:
    subprocess.run([sys.executable, str(FUZZ / "seeds.py"), str(folder), target], check=True, stdout=subprocess.DEVNULL)
    return folder / target


def _plant(workshop: Workshop, fault: Fault, table: dict[str, dict[str, int]], seconds: float) -> Outcome:
    options = table[fault.target]
    log = _WORK / "logs" / f"{fault.name}.log"
    with workshop.planted(fault) as binary:
        hunt = Hunt(binary, options, _WORK / "seeds" / fault.target, FUZZ / "dictionaries" / f"{fault.target}.dict",
                    workshop.folder("corpora", fault.name), workshop.folder("finds", fault.name), log)
        outcome = hunt.run(seconds)
    if outcome.find and fails(workshop.sound(fault.target), options, outcome.find, log.with_suffix(".sound.log")):
        raise Trouble(f"{shown(outcome.find)} ends the fuzzer without '{fault.name}', too: that is a find of its own")
    return outcome


def _row(fault: Fault, outcome: Outcome) -> str:
    words = outcome.words.replace("|", "\\|") or "nothing"
    return (f"| {fault.name} | {fault.kind} | {fault.target} | {outcome.by or '**not found**'} | {outcome.cpu:.1f} "
            f"| {outcome.executions:,} | {words} |")


def _hunt(faults: list[Fault], minutes: float) -> int:
    table = read_targets(FUZZ)
    workshop = Workshop(_ROOT, _WORK)
    print("building the fuzzers without a fault", file=sys.stderr, flush=True)
    workshop.prepare(fault.target for fault in faults)
    seeds = workshop.folder("seeds")
    for target in sorted({fault.target for fault in faults}):
        _write_seeds(target, seeds)
    outcomes = []
    for fault in faults:
        outcomes.append(_plant(workshop, fault, table, minutes * 60))
        print(_row(fault, outcomes[-1]), file=sys.stderr, flush=True)
    print("\n".join((*_HEAD, *map(_row, faults, outcomes))))
    return GOOD if all(outcome.by for outcome in outcomes) else FOUND


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Runs one mode."""
    args = parser().parse_args(argv)
    try:
        faults = choose(read_all(FUZZ / "planted"), args.faults)
        if args.list or args.check:
            return _list(faults) if args.list else _check(faults)
        with interrupt.listening(), locked(_WORK / "lock"):
            return _hunt(faults, args.minutes)
    except Trouble as error:
        print(f"dev fuzz planted: {error}", file=sys.stderr)
        return error.code
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"dev fuzz planted: {error}", file=sys.stderr)
        return BROKEN
