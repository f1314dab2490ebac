# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Makes a crashing input smaller."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Callable, Mapping, Optional

from . import engine
from .child import Child, Ended
from .errors import GOOD, INTERRUPTED, USAGE, Trouble
from .places import shown

# libFuzzer stops where a smaller input crashes elsewhere, if the sanitizer tells it how places are compared.
# More frames would reach into libFuzzer, where a replay and a search differ.
_SAME_PLACE = {"ASAN_OPTIONS": "dedup_token_length=2"}
# A search that runs into another crash ends at once; the next one is random anew.
_SEARCHES = 20


class Shrinker:
    """Works on copies in a folder of its own: libFuzzer hands names to a shell without quoting them."""

    def __init__(self, binary: Path, table: Mapping[str, int], seconds: int, folder: Path) -> None:
        self._binary, self._table, self._seconds, self._folder = binary, table, seconds, folder

    def _run(self, command: list[str]) -> Ended:
        return Child(command, self._folder / "log", engine.environment(**_SAME_PLACE)).wait()

    def crash(self, file: Path) -> Optional[str]:
        """How an input ends the fuzzer; None if it does not."""
        ended = self._run(engine.replay_command(self._binary, self._table, file))
        if ended.code == 0:
            return None
        if "Running: " not in ended.log:
            raise Trouble(f"{shown(self._binary)} {ended.how()} before it ran the input: {engine.headline(ended.log)}")
        return engine.headline(ended.log)

    def search(self, best: Path) -> bool:
        """Replaces an input by the smallest found; false if libFuzzer looked long enough for a still smaller one."""
        out = self._folder / "smaller"
        out.unlink(missing_ok=True)
        try:
            ended = self._run(engine.shrink_command(self._binary, self._table, self._seconds, best, out))
        finally:
            if out.is_file() and out.stat().st_size < best.stat().st_size:
                os.replace(out, best)
        return engine.GAVE_UP not in ended.log


def minimize(binary: Path, table: Mapping[str, int], seconds: int, file: Path, out: Path,
             say: Callable[[str], None]) -> int:
    """Goes on until nothing smaller is found. An interrupt keeps what there is."""
    with tempfile.TemporaryDirectory(prefix="ptd-fuzz-") as name:
        shrinker, best = Shrinker(binary, table, seconds, Path(name)), Path(name) / "input"
        shutil.copyfile(file, best)
        before = shrinker.crash(best)
        if before is None:
            raise Trouble(f"{shown(file)} does not crash {shown(binary)}: there is nothing to minimize", USAGE)
        code = _shrink(shrinker, best)
        after = shrinker.crash(best) if code == GOOD else "interrupted"
        shutil.copyfile(best, out)
    say(f"{shown(file)}: {file.stat().st_size} bytes, {before}\n{shown(out)}: {out.stat().st_size} bytes, "
        f"{after or 'but it does not crash every time'}")
    return code


def _shrink(shrinker: Shrinker, best: Path) -> int:
    try:
        for _ in range(_SEARCHES):
            if not shrinker.search(best):
                break
        return GOOD
    except Trouble as error:
        if error.code != INTERRUPTED:
            raise
        return INTERRUPTED
