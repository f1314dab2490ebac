# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Seeds of ExecuTorch's data files and programs: what its package wrote."""

from __future__ import annotations

from .repository import Seeds, foreign, golden


def seeds() -> Seeds:
    yield from foreign("flat-tensor", "executorch-program", "flatbuffers")
    yield from golden("executorch", ".ptd", ".pte")
