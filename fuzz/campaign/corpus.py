# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Keeps a corpus small: only what adds coverage."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Callable, Mapping

from . import engine, stats
from .child import Child
from .errors import FOUND, GOOD, Trouble
from .places import Places, shown


def _beside(corpus: Path, suffix: str) -> Path:
    return corpus.with_name(f".{corpus.name}.{suffix}")


def recover(corpus: Path) -> None:
    """After a machine stopped within a swap or a merge."""
    old = _beside(corpus, "old")
    if old.is_dir() and not corpus.exists():
        os.rename(old, corpus)
    for leftover in (old, _beside(corpus, "new")):
        shutil.rmtree(leftover, ignore_errors=True)


def swap(corpus: Path, fresh: Path) -> None:
    """No file system exchanges two folders everywhere, so the old one stays complete beside until the new one is in
    place; recover() knows what to do between the two renames."""
    old = _beside(corpus, "old")
    os.rename(corpus, old)
    os.rename(fresh, corpus)
    shutil.rmtree(old)


def minimize(places: Places, target: str, table: Mapping[str, int], say: Callable[[str], None]) -> int:
    """Merges into a new folder, which takes the old one's place only if all went well."""
    corpus = places.corpus(target)
    recover(corpus)
    before = stats.size_of(corpus)
    if not before[0]:
        say(f"{target}: no corpus yet")
        return GOOD
    fresh = _beside(corpus, "new")
    try:
        artifacts = _merge(places, target, table, fresh)
        swap(corpus, fresh)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    stats.measure_corpus(places, target)
    say(f"{target}: {_size(before)} -> {_size(stats.size_of(corpus))}")
    for path in artifacts:
        say(f"FOUND: {target}: {shown(Path(path))} crashes and is no longer in the corpus")
    return FOUND if artifacts else GOOD


def _merge(places: Places, target: str, table: Mapping[str, int], fresh: Path) -> list[str]:
    for folder in (fresh, places.finds(target)):
        folder.mkdir(parents=True, exist_ok=True)
    log = places.log(f"{target}-merge")
    # libFuzzer leaves its notes there when it is stopped.
    with tempfile.TemporaryDirectory(prefix="ptd-fuzz-") as notes:
        environment = {**engine.environment(), "TMPDIR": notes}
        ended = Child(engine.merge_command(places, target, table, fresh), log, environment).wait()
    if ended.code != 0:
        raise Trouble(f"{target}: the merge {ended.how()}, the corpus is as it was: {shown(log)}")
    if not stats.size_of(fresh)[0]:
        raise Trouble(f"{target}: the merge kept nothing, the corpus is as it was: {shown(log)}")
    return engine.read_log(ended.log).artifacts


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} files of {size[1] / 1024:.1f} KiB"
