# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The suite as one archive that needs nothing but Python."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

from .manifest import Manifest

_LEFT_OUT = {"__pycache__", "build", "venv", ".venv", "ptd-differential"}


def export(manifest: Manifest, suite: Path, out: Path) -> int:
    """Writes the archive: the folder of the suite, SPEC.md and the licence. Equal input gives equal bytes. Returns the
    number of files."""
    top = f"ptd-conformance-{manifest.format}-r{manifest.revision}"
    files: list[tuple[str, Path]] = []
    for root, folders, names in os.walk(suite):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
        for name in names:
            path = Path(root, name)
            if not name.startswith(".") and path.suffix != ".pyc" and path.is_file() \
                    and path.resolve() != out.resolve():
                files.append((f"{top}/conformance/{path.relative_to(suite).as_posix()}", path))
    for name in ("SPEC.md", "LICENSE"):
        if (suite.parent / name).is_file():
            files.append((f"{top}/{name}", suite.parent / name))
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, path in sorted(files):
                data = path.read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                entry.mode = 0o755 if os.access(path, os.X_OK) else 0o644
                archive.addfile(entry, io.BytesIO(data))
    out.write_bytes(buffer.getvalue())
    return len(files)
