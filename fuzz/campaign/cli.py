# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The command line."""

from __future__ import annotations

import argparse
import io
import os
import sys
from pathlib import Path
from typing import Any, Callable, Optional, Sequence

from . import corpus, interrupt, shrink, stats
from .errors import BROKEN, GOOD, Trouble, usage
from .grow import Campaign
from .places import Places, choose, read_targets, reserved, shown

FUZZ = Path(__file__).resolve().parent.parent
_WORK = FUZZ.parent / "build" / "fuzz-work"
_BIN = FUZZ.parent / "build" / "fuzz" / "bin"

EXAMPLES = """examples:
  ./dev fuzz --minutes 10
  ./dev fuzz header message --minutes 60 --jobs 1
  ./dev fuzz table
  ./dev fuzz minimize header build/fuzz-work/finds/header/crash-0123 -o small
exit codes: 0 good, 1 something was found, 2 wrong usage, 3 a fuzzer did not work, 130 interrupted
"""


def say(text: str) -> None:
    """At once: what a long run says is read while it runs."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Nobody reads any more, but what running fuzzers do still counts.
        sys.stdout = io.StringIO()


def _number(kind: Any, least: float) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        value = kind(text)
        if not least <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least:g}")
        return value

    parse.__name__ = "number"
    return parse


def _folders() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(add_help=False)
    result.add_argument("--bin", metavar="DIR", type=Path, default=_BIN, help="the fuzzers; default: build/fuzz/bin")
    result.add_argument("--work", metavar="DIR", type=Path, default=_WORK,
                        help="seeds, corpora, finds, logs and counts; default: build/fuzz-work")
    result.add_argument("--corpus", metavar="DIR", type=Path, help="the corpora; default: corpus in --work")
    return result


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(prog="./dev fuzz", description="Runs the fuzz targets and keeps the books.",
                                     epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = result.add_subparsers(metavar="MODE", required=True)
    folders = _folders()

    def mode(name: str, run: Callable[..., int], text: str, named: bool = True) -> argparse.ArgumentParser:
        made = modes.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", parents=[folders])
        made.set_defaults(run=run)
        if named:
            made.add_argument("targets", metavar="TARGET", nargs="*", help="default: all")
        return made

    _grow_options(mode("grow", do_grow, "fuzz targets for some CPU time each, into their corpora"))
    mode("table", do_table, "print what was done so far as Markdown")
    mode("minimize-corpus", do_minimize_corpus, "keep of corpora only what adds coverage")
    _shrink_options(mode("minimize", do_minimize, "make a crashing input smaller", named=False))
    mode("list", do_list, "list targets and what they start from")
    return result


def _grow_options(add_to: argparse.ArgumentParser) -> None:
    add = add_to.add_argument
    add("--minutes", metavar="N", type=_number(float, 0.001), default=5.0, help="CPU time for each target; default: 5")
    add("--jobs", metavar="J", type=_number(int, 1), default=len(os.sched_getaffinity(0)),
        help="fuzzers at a time; default: one a core")
    add("--fresh", action="store_true", help="start the counts of these targets anew; corpora stay")


def _shrink_options(add_to: argparse.ArgumentParser) -> None:
    add = add_to.add_argument
    add("target", metavar="TARGET")
    add("file", metavar="FILE", type=Path)
    add("-o", "--out", metavar="OUT", type=Path, help="default: FILE.min")
    add("--seconds", metavar="S", type=_number(int, 1), default=60,
        help="stop when so long nothing smaller is found; default: 60")


def do_grow(places: Places, table: dict[str, dict[str, int]], args: argparse.Namespace) -> int:
    targets = choose(table, args.targets)
    places.need_binaries(targets)
    with reserved(places, targets):
        _prepare(places, table, targets, args.fresh)
        campaign = Campaign(places, table, targets, args.minutes * 60, args.jobs, say)
        code = campaign.run()
    say(stats.table(stats.load(places), targets))
    for text, names in (("finds", campaign.finds), ("broken fuzzers", campaign.broken)):
        if names:
            print(f"dev fuzz: {text}: {', '.join(names)}", file=sys.stderr)
    return code


def _prepare(places: Places, table: dict[str, dict[str, int]], targets: list[str], fresh: bool) -> None:
    if fresh:
        stats.forget(places, targets)
    for name in targets:
        corpus.recover(places.corpus(name))
        files = list(places.seeds(name).rglob("*"))
        if not files:
            say(f"{name}: no seeds in {shown(places.seeds(name))}")
        long = sum(path.is_file() and path.stat().st_size > table[name].get("max_len", 1 << 20) for path in files)
        if long:
            say(f"{name}: libFuzzer cuts {long} seeds off that are longer than max_len")


def do_table(places: Places, table: dict[str, dict[str, int]], args: argparse.Namespace) -> int:
    say(stats.table(stats.load(places), choose(table, args.targets)))
    return GOOD


def do_minimize_corpus(places: Places, table: dict[str, dict[str, int]], args: argparse.Namespace) -> int:
    targets = choose(table, args.targets)
    places.need_binaries(targets)
    with reserved(places, targets):
        return max(corpus.minimize(places, name, table[name], say) for name in targets)


def do_minimize(places: Places, table: dict[str, dict[str, int]], args: argparse.Namespace) -> int:
    (target,) = choose(table, [args.target])
    places.need_binaries([target])
    if not args.file.is_file():
        raise usage(f"{args.file} is not a file")
    out = args.out or args.file.with_name(args.file.name + ".min")
    return shrink.minimize(places.binary(target), table[target], args.seconds, args.file, out, say)


def do_list(places: Places, table: dict[str, dict[str, int]], args: argparse.Namespace) -> int:
    for name in choose(table, args.targets):
        built = "built" if places.binary(name).is_file() else "not built"
        counts = [f"{stats.size_of(folder)[0]} {what}" for folder, what in (
            (places.seeds(name), "seeds"), (places.regressions(name), "regressions"), (places.corpus(name), "corpus"))]
        words = ["dictionary"] if places.dictionary(name).is_file() else []
        limits = [f"{key} {value}" for key, value in table[name].items()]
        say(f"{name:<13} {', '.join([built, *limits, *counts, *words])}")
    return GOOD


def _places(args: argparse.Namespace, fuzz: Path) -> Places:
    work = args.work.resolve()
    return Places(fuzz, args.bin.resolve(), work, (args.corpus or work / "corpus").resolve())


def main(argv: Optional[Sequence[str]] = None, fuzz: Path = FUZZ) -> int:
    """Runs one mode."""
    args = parser().parse_args(argv)
    try:
        with interrupt.listening():
            return args.run(_places(args, fuzz), read_targets(fuzz), args)
    except Trouble as error:
        print(f"dev fuzz: {error}", file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"dev fuzz: {error}", file=sys.stderr)
        return BROKEN
