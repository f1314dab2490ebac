# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""What was done so far, over all calls."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterable

from .child import Ended
from .engine import Reading
from .errors import Trouble
from .places import Places, locked, shown

_HEADINGS = ("target", "CPU minutes", "executions", "exec/s", "corpus files", "corpus KiB", "cov", "ft", "finds")


def size_of(folder: Path) -> tuple[int, int]:
    """Files and bytes."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    return len(sizes), sum(sizes)


def load(places: Places) -> dict[str, dict[str, Any]]:
    try:
        return json.loads(places.stats.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise Trouble(f"{shown(places.stats)} is damaged, remove it to count anew: {error}") from error


def _save(places: Places, stats: dict[str, dict[str, Any]]) -> None:
    """A reader, or a machine that stops, sees the old file or the new one."""
    places.work.mkdir(parents=True, exist_ok=True)
    fresh = places.stats.with_suffix(".new")
    fresh.write_text(json.dumps(stats, indent=2) + "\n")
    os.replace(fresh, places.stats)


def _change(places: Places, target: str, change: Any) -> dict[str, Any]:
    """Other runs count other targets in the same file."""
    with locked(places.lock("stats.json"), wait=True):
        stats = load(places)
        change(stats.setdefault(target, {}))
        _save(places, stats)
        return stats[target]


def add_slice(places: Places, target: str, ended: Ended, reading: Reading, find: bool) -> dict[str, Any]:
    """Counts add up; coverage is what the last slice that got so far has seen."""
    def change(entry: dict[str, Any]) -> None:
        entry["cpu_seconds"] = round(entry.get("cpu_seconds", 0) + ended.cpu, 3)
        entry["executions"] = entry.get("executions", 0) + reading.executions
        entry["executions_per_cpu_second"] = round(entry["executions"] / max(entry["cpu_seconds"], 0.001), 1)
        entry["corpus_files"], entry["corpus_bytes"] = size_of(places.corpus(target))
        if reading.cover is not None:
            entry["cov"], entry["ft"] = reading.cover, reading.features
        entry["peak_rss_mib"] = max(entry.get("peak_rss_mib", 0), -(-ended.rss_kib // 1024))
        entry["last_slice"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
        entry["finds"] = entry.get("finds", 0) + find

    return _change(places, target, change)


def measure_corpus(places: Places, target: str) -> None:
    """After it changed outside a slice."""
    def change(entry: dict[str, Any]) -> None:
        entry["corpus_files"], entry["corpus_bytes"] = size_of(places.corpus(target))

    _change(places, target, change)


def forget(places: Places, targets: Iterable[str]) -> None:
    """Starts the counts anew; a corpus stays."""
    for name in targets:
        _change(places, name, dict.clear)


def _row(name: str, entry: dict[str, Any]) -> list[str]:
    def whole(key: str) -> str:
        return f"{entry[key]:,.0f}" if key in entry else "-"

    kib = f"{entry['corpus_bytes'] / 1024:,.1f}" if "corpus_bytes" in entry else "-"
    return [name, f"{entry.get('cpu_seconds', 0) / 60:.1f}", whole("executions"), whole("executions_per_cpu_second"),
            whole("corpus_files"), kib, whole("cov"), whole("ft"), whole("finds")]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(stats: dict[str, dict[str, Any]], targets: Iterable[str]) -> str:
    """Markdown that also reads well unrendered."""
    rows = [list(_HEADINGS), *(_row(name, stats.get(name, {})) for name in targets)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    padded = [[row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
              for row in rows]
    ruler = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(map(_line, [padded[0], ruler, *padded[1:]]))
