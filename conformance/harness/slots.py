# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A temporary folder that holds a bounded number of files."""

from __future__ import annotations

import os
import shutil
import tempfile
from types import TracebackType
from typing import Optional, Type


class Slots:
    """Files that are made, used once and removed. Each has a name of its own, so no file changes under a reader."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="ptd-conformance-")
        self._made = 0

    def __enter__(self) -> "Slots":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def name(self, ending: str = ".ptd") -> str:
        """A path that no file has."""
        self._made += 1
        return f"{self.folder}/{self._made}{ending}"

    def write(self, data: bytes) -> str:
        """A new file with these bytes."""
        path = self.name()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left):]
        finally:
            os.close(descriptor)
        return path

    @staticmethod
    def remove(path: str) -> None:
        """Removes a file, if it is there."""
        try:
            os.unlink(path)
        except OSError:
            pass
