# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Seeds of the detection of file kinds: beginnings of files of every kind."""

from __future__ import annotations

from . import cuda, executorch, gguf, ptd_files, safetensors
from .repository import Seeds, foreign, sample

BYTES = 4096  # as many as detection looks at
OF_EACH = 24
KINDS = {"file": ptd_files.files, "safetensors": safetensors.seeds, "executorch": executorch.seeds,
         "cuda": cuda.seeds, "gguf": gguf.seeds}


def seeds() -> Seeds:
    for name, data in foreign(""):
        yield name, data[:BYTES]
    for kind, make in KINDS.items():
        for name, data in sample(make(), OF_EACH, lambda seed: seed[0]):
            if not name.startswith("foreign."):  # they all stand there already
                yield f"{kind}.{name}", data[:BYTES]
