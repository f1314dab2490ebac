#!/usr/bin/env python3
# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""What of the codec the fuzzers' corpora and the tests execute. See --help."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
PROFILES = BUILD / "profiles"
ROOMS = ("wire", "model", "segment", "foreign")


def tool(name: str) -> str:
    """llvm-cov must be of the version of the clang that compiled."""
    version = subprocess.run(["clang++", "-dumpversion"], check=True, capture_output=True, text=True).stdout
    for candidate in (f"{name}-{version.split('.')[0]}", name):
        if shutil.which(candidate):
            return candidate
    sys.exit(f"coverage: there is no {name}; ./dev coverage installs it")


def run(command: list[object], profile: Path) -> None:
    """Runs something that was built to count; its counts go to `profile`."""
    env = {**os.environ, "LLVM_PROFILE_FILE": str(profile)}
    subprocess.run([str(word) for word in command], check=True, env=env, stdout=subprocess.DEVNULL)


def merge(profiles: list[Path], out: Path) -> Path:
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", "-o", out, *profiles], check=True)
    return out


def targets() -> list[str]:
    return list(json.loads((ROOT / "fuzz" / "targets.json").read_text()))


def inputs(target: str, work: Path) -> list[Path]:
    """Seeds, what the fuzzer has grown here, and what it once found."""
    folders = (work / "seeds" / target, work / "corpus" / target, ROOT / "fuzz" / "finds" / target)
    return [folder for folder in folders if folder.is_dir()]


def replay(target: str, work: Path) -> Path:
    raw = PROFILES / f"{target}.profraw"
    run([BUILD / "bin" / "ptd_replay", target, *inputs(target, work)], raw)
    return merge([raw], PROFILES / f"{target}.profdata")


def run_tests() -> Path:
    """One file a program, which its runs add to: there are a thousand of them."""
    folder = PROFILES / "tests"
    run(["ctest", "--preset", "coverage", "--parallel", os.cpu_count(), "-E", "^(consumer|fuzz)\\."],
        folder / "%m.profraw")
    return merge(sorted(folder.glob("*.profraw")), PROFILES / "tests.profdata")


@dataclass
class Count:
    """Of lines or branches."""

    covered: int = 0
    total: int = 0

    def add(self, summary: dict[str, int]) -> None:
        self.covered += summary["covered"]
        self.total += summary["count"]

    def __str__(self) -> str:
        return f"{100 * self.covered / self.total:.1f}%" if self.total else "-"


def llvm_cov(mode: str, profile: Path, programs: list[str], *options: str) -> str:
    first, *others = (BUILD / "bin" / program for program in programs)
    command = [tool("llvm-cov"), mode, first, *(word for other in others for word in ("-object", other)),
               f"-instr-profile={profile}", *options, *(ROOT / "codec" / room for room in ROOMS)]
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def summary(profile: Path, programs: list[str]) -> dict[str, tuple[Count, Count]]:
    """Lines and branches of each room."""
    rooms = {room: (Count(), Count()) for room in ROOMS}
    for file in json.loads(llvm_cov("export", profile, programs, "-summary-only"))["data"][0]["files"]:
        lines, branches = rooms[Path(file["filename"]).parent.name]
        lines.add(file["summary"]["lines"])
        branches.add(file["summary"]["branches"])
    return rooms


def uncovered(profile: Path, programs: list[str]) -> list[str]:
    """Places that were never executed, as file:line and the line's text."""
    found, lines, name = [], [], ""
    for entry in llvm_cov("export", profile, programs, "-format=lcov").splitlines():
        if entry.startswith("SF:"):
            path = Path(entry[3:])
            name, lines = str(path.relative_to(ROOT)), path.read_text().splitlines()
        elif entry.startswith("DA:") and entry.endswith(",0"):
            number = int(entry[3:].split(",")[0])
            found.append(f"{name}:{number}: {lines[number - 1].strip()}")
    return found


def print_table(rows: list[tuple[str, dict[str, tuple[Count, Count]]]]) -> None:
    print("\nLines (branches):\n")
    print("| from | " + " | ".join(f"{room}/" for room in ROOMS) + " |")
    print("| --- |" + " ---: |" * len(ROOMS))
    for name, rooms in rows:
        print(f"| {name} | " + " | ".join(f"{rooms[room][0]} ({rooms[room][1]})" for room in ROOMS) + " |")


def write_html(profile: Path, programs: list[str]) -> None:
    folder = BUILD / "html"
    shutil.rmtree(folder, ignore_errors=True)
    llvm_cov("show", profile, programs, "-format=html", f"-output-dir={folder}", "-show-branches=count")
    print(f"\nline by line: {os.path.relpath(folder)}/index.html")


def write_text(profile: Path, programs: list[str]) -> None:
    report = BUILD / "report.txt"
    report.write_text(llvm_cov("report", profile, programs))
    print(f"file by file: {os.path.relpath(report)}")


def print_uncovered(profile: Path, programs: list[str]) -> None:
    places = [place for place in uncovered(profile, programs) if "/foreign/" not in place]
    print(f"\nLines of wire/, model/ and segment/ that no corpus reaches ({len(places)}):\n")
    print("\n".join(places))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev coverage", description=__doc__)
    parser.add_argument("--corpora-only", action="store_true", help="leave the tests out")
    parser.add_argument("--targets", action="store_true", help="a row for each target, too")
    parser.add_argument("--work", metavar="DIR", type=Path, default=ROOT / "build" / "fuzz-work",
                        help="where the seeds and the grown corpora are; default: build/fuzz-work")
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    shutil.rmtree(PROFILES, ignore_errors=True)
    PROFILES.mkdir(parents=True)
    each = {target: replay(target, args.work) for target in targets()}
    programs = ["ptd_replay"]
    corpora = profile = merge(list(each.values()), PROFILES / "corpora.profdata")
    rows = [(target, summary(one, programs)) for target, one in each.items()] if args.targets else []
    rows.append(("corpora", summary(corpora, programs)))
    if not args.corpora_only:
        tests = run_tests()
        every = ["ptd_replay", "ptd_tests", "ptd", "ptd_adapter"]
        profile = merge([corpora, tests], PROFILES / "all.profdata")
        rows += [("tests", summary(tests, every)), ("corpora and tests", summary(profile, every))]
        programs = every
    print_uncovered(corpora, ["ptd_replay"])
    print_table(rows)
    write_text(profile, programs)
    write_html(profile, programs)


if __name__ == "__main__":
    main()
