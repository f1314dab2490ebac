# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The seeds of each fuzz target. A seed is a name and bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from . import chunks, cuda, decisions, detect, executorch, gguf, ptd_files, safetensors
from .repository import KIB, Seeds


@dataclass(frozen=True)
class Target:
    """Who makes a target's seeds, and how large one may be: small inputs are what fuzzers are quick with."""

    make: Callable[[], Seeds]
    limit: int = 64 * KIB


TARGETS = {
    "header": Target(ptd_files.headers),
    "message": Target(ptd_files.messages),
    "manifest": Target(decisions.manifest),
    "roundtrip": Target(decisions.roundtrip),
    "file": Target(ptd_files.files),
    "differential": Target(ptd_files.files_to_compare),
    "chunk": Target(chunks.seeds, 64 * KIB + chunks.PREFIX_BYTES),
    "gpu_frame": Target(chunks.frames_of_seeds, 64 * KIB + chunks.PREFIX_BYTES),
    "safetensors": Target(safetensors.seeds),
    "executorch": Target(executorch.seeds, 256 * KIB),
    "cuda": Target(cuda.seeds),
    "gguf": Target(gguf.seeds, 256 * KIB),
    "detect": Target(detect.seeds, detect.BYTES),
}


def seeds_of(target: str) -> dict[str, bytes]:
    """A target's seeds by name; of several with the same bytes the first."""
    seeds: dict[str, bytes] = {}
    seen: set[bytes] = set()
    for name, data in TARGETS[target].make():
        if len(data) > TARGETS[target].limit or data in seen:
            continue
        if name in seeds:
            raise ValueError(f"two seeds of {target} have the name {name}")
        seen.add(data)
        seeds[name] = data
    return seeds
