#!/usr/bin/env python3
# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Writes the inputs from which the fuzzers start: OUTPUT/TARGET/NAME. The same tree of files comes out every time."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seeding import TARGETS, seeds_of


def write(folder: Path, target: str) -> str:
    """Writes one target's seeds; the line to print about them."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds = seeds_of(target)
    for name, data in seeds.items():
        (folder / name).write_bytes(data)
    return f"{target:12} {len(seeds):5} seeds {sum(map(len, seeds.values())):9,} bytes"


def arguments(line: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="seeds.py", description=__doc__, epilog="targets: " + " ".join(TARGETS))
    parser.add_argument("output", type=Path, metavar="OUTPUT", help="the folder to write to")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="the targets to write; all, if none is named")
    chosen = parser.parse_args(line)
    unknown = [target for target in chosen.targets if target not in TARGETS]
    if unknown:
        parser.error(f"unknown target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    return chosen


def main(line: list[str]) -> int:
    chosen = arguments(line)
    for target in chosen.targets or TARGETS:
        print(write(chosen.output / target, target))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
