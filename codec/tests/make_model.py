# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Writes prefill.safetensors and decode.safetensors into a folder: one small transformer exported twice.

The two methods share all weights but the adapter, as exports of one model do. Weights are bfloat16 drawn from
N(0, 0.02), which compresses as trained weights do. The same bytes come out every time.
"""

import pathlib
import sys

import ml_dtypes
import numpy
from safetensors.numpy import save_file

VOCABULARY, WIDTH, HIDDEN, LAYERS, CONTEXT = 8192, 512, 1536, 4, 512
METHODS = ("prefill", "decode")


def weight(random: numpy.random.Generator, *sizes: int) -> numpy.ndarray:
    return (random.standard_normal(sizes, dtype=numpy.float32) * 0.02).astype(ml_dtypes.bfloat16)


def layer(random: numpy.random.Generator, prefix: str) -> dict[str, numpy.ndarray]:
    tensors = {f"{prefix}.attention.{part}.weight": weight(random, WIDTH, WIDTH) for part in ("q", "k", "v", "o")}
    tensors[f"{prefix}.mlp.up.weight"] = weight(random, HIDDEN, WIDTH)
    tensors[f"{prefix}.mlp.gate.weight"] = weight(random, HIDDEN, WIDTH)
    tensors[f"{prefix}.mlp.down.weight"] = weight(random, WIDTH, HIDDEN)
    tensors[f"{prefix}.norm.weight"] = numpy.ones(WIDTH, numpy.float32)
    return tensors


def shared_tensors(random: numpy.random.Generator) -> dict[str, numpy.ndarray]:
    embedding = weight(random, VOCABULARY, WIDTH)
    tensors = {"embedding.weight": embedding, "output.weight": embedding.copy()}
    for number in range(LAYERS):
        tensors |= layer(random, f"layers.{number}")
    return tensors


def method_tensors(random: numpy.random.Generator, method: str) -> dict[str, numpy.ndarray]:
    own = {f"adapter.{method}.weight": weight(random, WIDTH, WIDTH)}
    if method == "decode":
        own["cache"] = numpy.zeros((2, LAYERS, CONTEXT, WIDTH), ml_dtypes.bfloat16)
    return own


def main(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(20260101)
    shared = shared_tensors(random)
    for method in METHODS:
        save_file(shared | method_tensors(random, method), folder / f"{method}.safetensors")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
