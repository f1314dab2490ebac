# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A copy of the sources and one build of it: a fault costs the compilation of its file, not of everything."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator

from campaign.child import Child
from campaign.errors import Trouble

from .faults import Fault

_LINES = 15


def _tracked(root: Path) -> set[str]:
    """What a commit of everything would hold."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            capture_output=True, check=True).stdout
    return {name for name in os.fsdecode(listed).split("\0") if name and (root / name).is_file()}


def _update(source: Path, copy: Path) -> None:
    """Leaves what is the same alone, for its time decides what is built again."""
    data = source.read_bytes()
    if not copy.is_file() or copy.read_bytes() != data:
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(data)
    shutil.copymode(source, copy)


class Workshop:
    """Everything below one folder."""

    def __init__(self, root: Path, work: Path) -> None:
        self._root, self._work = root, work
        self._source, self._build, self._sound = work / "source", work / "build", work / "sound"

    def prepare(self, targets: Iterable[str]) -> None:
        """Builds the fuzzers of the sources as they are, and keeps them."""
        self._mirror()
        self._run("configure", ["cmake", "--preset", "fuzz", "-S", str(self._source), "-B", str(self._build)])
        names = sorted(set(targets))
        self._compile("sound", names)
        self._sound.mkdir(exist_ok=True)
        for target in names:
            shutil.copy2(self._built(target), self.sound(target))

    def sound(self, target: str) -> Path:
        """The fuzzer without a fault."""
        return self._sound / f"fuzz_{target}"

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[Path]:
        """The fuzzer with that fault."""
        refused = fault.apply(self._source)
        if refused:
            raise Trouble(f"{fault.name} does not apply: {refused}")
        try:
            self._compile(fault.name, [fault.target])
            yield self._built(fault.target)
        finally:
            for name in fault.files:
                _update(self._root / name, self._source / name)

    def folder(self, *names: str) -> Path:
        """An empty folder."""
        path = self._work.joinpath(*names)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def _mirror(self) -> None:
        wanted = _tracked(self._root)
        for path in [path for path in self._source.rglob("*") if path.is_file()]:
            if str(path.relative_to(self._source)) not in wanted:
                path.unlink()
        for name in wanted:
            _update(self._root / name, self._source / name)

    def _built(self, target: str) -> Path:
        return self._build / "bin" / f"fuzz_{target}"

    def _compile(self, what: str, targets: list[str]) -> None:
        self._run(f"build-{what}", ["cmake", "--build", str(self._build), "--target",
                                    *(f"fuzz_{target}" for target in targets)])

    def _run(self, what: str, command: list[str]) -> None:
        ended = Child(command, self._work / "logs" / f"{what}.log", os.environ).wait()
        if ended.code != 0:
            last = "\n".join(ended.log.splitlines()[-_LINES:])
            raise Trouble(f"{' '.join(command[:2])} for '{what}' {ended.how()}:\n{last}")
