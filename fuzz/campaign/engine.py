# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""libFuzzer: its command lines, and what its logs say."""

from __future__ import annotations

import os
import re
import shutil
from itertools import islice, takewhile
from pathlib import Path
from typing import Mapping, NamedTuple, Optional

from .places import Places

# The timeout is wall time and finds what never ends; each target limits its CPU time itself.
DEFAULTS = {"timeout": 120, "rss_limit_mb": 2048}
GAVE_UP = "CRASH_MIN: failed to minimize beyond"
_FRAMES = 8
_BEFORE = 5

_UNITS = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.M)
_PULSE = re.compile(r"^#(\d+)\s", re.M)
_COVER = re.compile(r"^#\d+\s.*?\bcov: (\d+) ft: (\d+)", re.M)
_WRITTEN = re.compile(r"Test unit written to (.+)$", re.M)
_REASON = re.compile(r"ERROR: |runtime error: ")
_SUMMARY = re.compile(r"^SUMMARY: ", re.M)
_FRAME = re.compile(r"^\s+#\d+ ")
_BUILD = re.compile(r" \(BuildId: \w+\)")
_MACHINERY = re.compile(r" in (__sanitizer|__asan::|fuzzer::)")
_LOOP = re.compile(r" in fuzzer::(Fuzzer::ExecuteCallback|FuzzerDriver)\b")
_CHATTER = re.compile(r"^(#\d+\s|INFO: |\s*NEW_(FUNC|PC)|=+$|stat::|\S+: Running \d+ inputs|Running: |\s*$)")


class Reading(NamedTuple):
    """What a log tells; None is what it does not."""

    executions: int
    cover: Optional[int]
    features: Optional[int]
    artifacts: list[str]
    slow: list[str]


def options(table: Mapping[str, int], *without: str) -> list[str]:
    """A target's own options over the ones of all."""
    return [f"-{key}={value}" for key, value in {**DEFAULTS, **table}.items() if key not in without]


def inputs(places: Places, target: str) -> list[Path]:
    """The corpus, which must be first because new inputs go there, and what else there is to start from."""
    others = (places.seeds(target), places.regressions(target))
    return [places.corpus(target), *(folder for folder in others if folder.is_dir())]


def slice_command(places: Places, target: str, table: Mapping[str, int], seconds: int) -> list[str]:
    """Fuzzes for some seconds of wall time."""
    dictionary = places.dictionary(target)
    return [
        str(places.binary(target)), f"-max_total_time={seconds}", *options(table), "-print_final_stats=1",
        f"-artifact_prefix={places.finds(target)}/", *([f"-dict={dictionary}"] if dictionary.is_file() else []),
        *map(str, inputs(places, target)),
    ]


def merge_command(places: Places, target: str, table: Mapping[str, int], into: Path) -> list[str]:
    """Copies to a folder what adds coverage."""
    return [str(places.binary(target)), "-merge=1", *options(table), f"-artifact_prefix={places.finds(target)}/",
            str(into), str(places.corpus(target))]


def replay_command(binary: Path | str, table: Mapping[str, int], file: Path) -> list[str]:
    """Runs one input, under the limits that it was found with: libFuzzer's own timeout is 20 minutes."""
    return [str(binary), *options(table, "max_len"), str(file)]


def shrink_command(binary: Path, table: Mapping[str, int], seconds: int, file: Path, out: Path) -> list[str]:
    """Looks for smaller inputs that crash as well."""
    return [str(binary), "-minimize_crash=1", f"-max_total_time={seconds}", *options(table, "max_len"),
            f"-exact_artifact_path={out}", str(file)]


def environment(**more: str) -> dict[str, str]:
    """What was set outside wins over what we would like."""
    wanted = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1", **more}
    symbolizer = shutil.which("llvm-symbolizer") or shutil.which("llvm-symbolizer-14")
    if symbolizer:
        wanted["ASAN_SYMBOLIZER_PATH"] = symbolizer
    return {**wanted, **os.environ}


def _last(pattern: re.Pattern[str], text: str) -> Optional[re.Match[str]]:
    found = None
    for found in pattern.finditer(text):
        pass
    return found


def read_log(text: str) -> Reading:
    """A fuzzer that was killed prints no statistics, but its last progress line has a count too."""
    units = _last(_UNITS, text) or _last(_PULSE, text)
    cover = _last(_COVER, text)
    written = _WRITTEN.findall(text)
    slow = [path for path in written if Path(path).name.startswith("slow-unit-")]
    return Reading(
        int(units[1]) if units else 0, int(cover[1]) if cover else None, int(cover[2]) if cover else None,
        [path for path in written if path not in slow], slow)


def _said_before(lines: list[str], at: int) -> list[str]:
    """What the target itself printed last: an abort's reason is there and nowhere else."""
    before = lines[max(0, at - _BEFORE):at]
    # A timeout's input is printed before its report, and may look like anything.
    dumped = max((index + 1 for index, line in enumerate(before) if line.startswith("Base64: ")), default=0)
    return [line for line in before[dumped:] if not _CHATTER.match(line)]


def _frames(report: list[str]) -> list[str]:
    """Where it happened; from libFuzzer's loop on, every stack is the same."""
    frames = (_BUILD.sub("", line) for line in report if _FRAME.match(line))
    own = takewhile(lambda line: not _LOOP.search(line), frames)
    return list(islice((line for line in own if not _MACHINERY.search(line)), _FRAMES))


def reason(text: str) -> list[str]:
    """The lines of a log that say why a run ended; its last ones where there is no report."""
    lines = text.splitlines()
    at = next((index for index, line in enumerate(lines) if _REASON.search(line)), None)
    if at is None:
        return lines[-_BEFORE:]
    report = lines[at:]
    return [*_said_before(lines, at), report[0], *_frames(report),
            *(line for line in report if _SUMMARY.match(line))]


def headline(text: str) -> str:
    """A crash in a line."""
    return next((line for line in reversed(reason(text)) if line.strip()), "no reason given")
