# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The command line."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any, Optional, Sequence

from . import known as known_failures
from . import manifest as manifests
from . import mutants
from .adapter import Adapter
from .cases import count, expand, select
from .child import kill_all, on_interrupt
from .differential import Differential, parents
from .errors import UsageError
from .export import export
from .mutate import Generator
from .report import Colour, Report, clean, print_table
from .runner import check_protocol, run, run_write

SUITE = Path(__file__).resolve().parent.parent
GOOD, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
_MUTANT_MEMORY = 4096

EXAMPLES = """examples:
  conformance/run --adapter 'python3 conformance/python/adapter.py'
  conformance/run --adapter build/adapter --filter 'invalid/malformed/*' --verbose
  conformance/run --adapter build/adapter --skip 'write/*' --level open
  conformance/run --mutants --adapter 'python3 conformance/python/adapter.py' --jobs 2
  conformance/run --differential 100000 --adapter build/adapter --reference 'python3 conformance/python/adapter.py'
  conformance/run --export ptd-conformance.tar.gz
"""


def _number(least: float, kind: Any) -> Any:
    def parse(text: str) -> Any:
        value = kind(text)
        if not least <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least:g}")
        return value

    parse.__name__ = "number"
    return parse


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(
        prog="conformance/run", description="Runs the PTD conformance suite on an adapter (PROTOCOL.md).",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = result.add_argument
    add("--adapter", metavar="CMD", help="the adapter, one word or several: 'python3 adapter.py'")
    add("--reference", metavar="CMD", help="a second adapter: it reads what the adapter writes, and is the other side "
                                           "of --differential; without it the adapter reads what it writes")
    add("--vectors", metavar="DIR", type=Path, default=SUITE / "vectors" / "1.0",
        help="default: vectors/1.0 of the suite")
    add("--filter", metavar="GLOB", action="append", default=[], help="only vectors of such names; may be repeated")
    add("--skip", metavar="GLOB", action="append", default=[], help="no vectors of such names; may be repeated")
    add("--rule", metavar="ID", action="append", default=[],
        help="only vectors about a rule of SPEC.md, as HDR-1; may be repeated")
    add("--without", metavar="FLAG", action="append", default=[], choices=manifests.FLAGS,
        help=f"no vectors with a flag; may be repeated; one of {', '.join(manifests.FLAGS)}")
    add("--level", choices=manifests.LEVELS, default="verify", help="how far files are checked; default: verify")
    add("--no-batch", action="store_true", help="one process a file; slow, but needs only decode")
    add("--jobs", metavar="N", type=_number(1, int), default=1, help="processes at a time; default: 1")
    add("--timeout", metavar="S", type=_number(0.01, float), default=30.0, help="seconds for a file; default: 30")
    add("--memory", metavar="MIB", type=_number(1, int), help="limit of an adapter's address space, on Linux; "
                                                              f"default: none, {_MUTANT_MEMORY} with --mutants")
    add("--known-failures", metavar="FILE", type=Path, help="lines 'NAME  # reason'; one that passes is an error")
    add("--junit", metavar="FILE", type=Path, help="write a report as JUnit XML")
    add("--json", metavar="FILE", type=Path, help="write a report as JSON")
    add("--verbose", action="store_true", help="show all failures, known ones too")
    modes = result.add_mutually_exclusive_group()
    modes.add_argument("--mutants", action="store_true",
                       help="leave out each check of ADAPTER --list-checks, one after the other, by "
                            "ADAPTER --skip NAME, and see whether a vector fails")
    modes.add_argument("--differential", metavar="N", type=_number(1, int),
                       help="compare adapter and reference on N mutated files")
    modes.add_argument("--export", metavar="FILE", type=Path, help="write the suite as FILE, a .tar.gz, and exit")
    modes.add_argument("--list", action="store_true", help="list the vectors and exit")
    add("--check", metavar="GLOB", action="append", default=[],
        help="with --mutants: only such checks; may be repeated")
    add("--seed", metavar="S", type=_number(0, int), default=1, help="of --differential; default: 1")
    add("--findings", metavar="DIR", type=Path, default=Path("ptd-differential"),
        help="where --differential saves what is disagreed on; default: ./ptd-differential")
    return result


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs; the exit code."""
    signal.signal(signal.SIGTERM, on_interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, on_interrupt)
    try:
        code = _main(parser().parse_args(arguments))
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(f"conformance/run: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        kill_all()
        print("\nconformance/run: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _main(options: argparse.Namespace) -> int:
    manifest = manifests.load(options.vectors)
    if options.export:
        files = export(manifest, SUITE, options.export)
        print(f"{options.export}: {files} files, {options.export.stat().st_size} bytes")
        return GOOD
    vectors = select(manifest.vectors, options.filter, options.skip, options.rule, options.without)
    if not vectors:
        raise UsageError("no vector is selected")
    if options.list:
        for vector in vectors:
            print(vector.name)
        return GOOD
    if not options.adapter:
        raise UsageError("--adapter is missing")
    memory = options.memory or (_MUTANT_MEMORY if options.mutants else None)
    adapter = _adapter(options.adapter, options, memory)
    if options.mutants:
        return _mutants(vectors, adapter, options)
    reference = _adapter(options.reference, options, memory) if options.reference else None
    if options.differential:
        if reference is None:
            raise UsageError("--differential needs --reference")
        return _differential(vectors, adapter, reference, options)
    return _run(manifest, vectors, adapter, reference or adapter, options)


def _adapter(command: str, options: argparse.Namespace, memory: Optional[int]) -> Adapter:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"{command!r}: {error}") from None
    if not words:
        raise UsageError("an empty command")
    return Adapter(words, options.level, options.timeout, memory << 20 if memory else None)


def _run(manifest: manifests.Manifest, vectors: list[manifests.Vector], adapter: Adapter, reference: Adapter,
         options: argparse.Namespace) -> int:
    known = known_failures.load(options.known_failures, manifest.vectors) if options.known_failures else {}
    report = Report(known)
    began = time.monotonic()
    interrupted = False
    try:
        if not options.no_batch:
            check_protocol([case for case in expand((v for v in vectors if v.outcome != "recipe"), options.level)],
                           adapter, report.add)
        run(expand(vectors, options.level), adapter, report.add, batch=not options.no_batch, jobs=options.jobs)
        run_write([vector for vector in vectors if vector.outcome == "write"], adapter, reference, report.add)
    except KeyboardInterrupt:
        interrupted = True
        kill_all()
    report.print(options.verbose)
    seconds = time.monotonic() - began
    others = len(manifest.vectors) - len(vectors)
    words = "interrupted" if interrupted else "all is well" if report.good else "there are failures"
    print(f"\nvectors {manifest.format} revision {manifest.revision}, level {options.level}, {len(vectors)} vectors"
          + (f" ({others} not selected)" if others else "") + f", {seconds:.1f} s: {words}")
    head = {"adapter": options.adapter, "format": manifest.format, "revision": manifest.revision,
            "level": options.level, "wall_seconds": round(seconds, 3), "not_selected": others}
    _write_reports(report, options, head)
    return INTERRUPTED if interrupted else GOOD if report.good else FAILED


def _write_reports(report: Report, options: argparse.Namespace, head: dict[str, Any]) -> None:
    try:
        if options.json:
            report.write_json(options.json, head)
        if options.junit:
            report.write_junit(options.junit)
    except OSError as error:
        raise UsageError(str(error)) from None


def _mutants(vectors: list[manifests.Vector], adapter: Adapter, options: argparse.Namespace) -> int:
    import fnmatch

    names = mutants.checks(adapter)
    if options.check:
        names = [name for name in names if any(fnmatch.fnmatchcase(name, glob) for glob in options.check)]
        if not names:
            raise UsageError("no check is selected")
    began = time.monotonic()
    failures = mutants.baseline(vectors, adapter, options.jobs)
    if failures:
        print("The adapter has failures of its own, so a kill would mean nothing:")
        for result in failures[:10]:
            print(f"{result.outcome.upper()} {result.name}: {clean(result.detail)}")
        return FAILED
    found: dict[str, mutants.Mutant] = {}
    progress = sys.stderr.isatty()

    def done(mutant: mutants.Mutant) -> None:
        found[mutant.check] = mutant
        if progress:
            print(f"\r{len(found)} of {len(names)} checks", end="", file=sys.stderr, flush=True)

    mutants.analyse(vectors, adapter, names, options.jobs, done)
    if progress:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    rows = []
    for name in names:
        mutant = found[name]
        killer = mutant.killer
        rows.append([name, killer.name if killer else "-", killer.outcome if killer else "survives", str(mutant.cases),
                     f"{mutant.seconds:.2f}"])
    print_table(["check", "killed by", "how", "cases", "seconds"], rows, left=3)
    survivors = [name for name in names if found[name].killer is None]
    print(f"\n{len(names)} checks, {len(names) - len(survivors)} killed, {len(survivors)} survive, "
          f"{time.monotonic() - began:.1f} s")
    colour = Colour(sys.stdout)
    for name in survivors:
        print(f"{colour.red('SURVIVOR')} {name}: no vector needs this check")
    return FAILED if survivors else GOOD


def _differential(vectors: list[manifests.Vector], adapter: Adapter, reference: Adapter,
                  options: argparse.Namespace) -> int:
    generator = Generator(parents(vectors), options.seed)
    differential = Differential(adapter, reference, generator, options.seed, options.findings)
    interrupted = False
    try:
        outcome = differential.run(options.differential)
    except KeyboardInterrupt:
        interrupted = True
        outcome = differential.outcome
    total = max(1, outcome.files)
    rows = [[words, str(n), f"{100 * n / total:.2f} %"] for words, n in outcome.codes.most_common()]
    print_table(["the reference's answer", "files", "share"], rows)
    bad = sum(outcome.disagreements.values())
    print(f"\nseed {options.seed}, {outcome.files} files, {outcome.seconds:.1f} s, "
          f"{1000 * outcome.seconds / total:.2f} ms a file: {bad} disagreements, "
          f"{outcome.allowed} more that RDR-11 allows")
    colour = Colour(sys.stdout)
    for words, n in outcome.disagreements.most_common():
        example = outcome.examples.get(words)
        print(f"{colour.red('DISAGREEMENT')} {n} x adapter / reference: {clean(words)}"
              + (f" ({options.findings / example})" if example else ""))
    if outcome.gave_up:
        print(f"{colour.red('GAVE UP')} {clean(outcome.gave_up)}")
    return INTERRUPTED if interrupted else FAILED if bad or outcome.gave_up else GOOD
