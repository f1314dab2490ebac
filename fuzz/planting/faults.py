# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The planted faults: patches with a sentence and a few fields before the first hunk."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from campaign.errors import Trouble, usage

_FIELD = re.compile(r"^([A-Z][a-z]+): (.+)$", re.M)
_FILE = re.compile(r"^(?:---|\+\+\+) (\S+)", re.M)


@dataclass(frozen=True)
class Fault:
    """One check that is gone."""

    name: str
    patch: Path
    text: str
    target: str
    kind: str
    files: tuple[str, ...]

    def apply(self, tree: Path, *options: str) -> Optional[str]:
        """Nothing if it went well, else what git says."""
        # Inside of a repository git would skip, silently, what is not below the current folder.
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
        done = subprocess.run(["git", "apply", *options, str(self.patch)], cwd=tree, env=environment,
                              capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else done.stderr.strip()


def read(patch: Path) -> Fault:
    """A patch with what stands before it."""
    text = patch.read_text("utf-8")
    head = text.partition("\ndiff --git ")[0]
    fields = dict(_FIELD.findall(head))
    paragraphs = head.split("\n\n")
    if not {"Target", "Kind"} <= fields.keys() or len(paragraphs) < 3:
        raise Trouble(f"{patch.name} needs a sentence, a line 'Target: NAME' and a line 'Kind: WORD' before the patch")
    files = {name.split("/", 1)[1] for name in _FILE.findall(text) if name != "/dev/null"}
    return Fault(patch.stem, patch.resolve(), paragraphs[1].replace("\n", " "), fields["Target"], fields["Kind"],
                 tuple(sorted(files)))


def read_all(folder: Path) -> list[Fault]:
    return [read(patch) for patch in sorted(folder.glob("*.patch"))]


def choose(faults: list[Fault], names: list[str]) -> list[Fault]:
    """Those that are meant: all where none is named."""
    known = [fault.name for fault in faults]
    for name in names:
        if name not in known:
            raise usage(f"no fault '{name}'; there are {', '.join(known)}")
    return [fault for fault in faults if fault.name in names or not names]
