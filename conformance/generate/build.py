# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""The whole suite."""

from __future__ import annotations

from .spec import Spec
from .suite import Suite
from .vectors import (
    bindings,
    containers,
    encoding,
    evolution,
    foreign,
    frames,
    large,
    layout,
    models,
    order,
    payload,
    recipes,
    tensors,
    valid,
    writers,
)


def build_suite(spec: Spec) -> Suite:
    """All vectors, in the order in which the modules make them."""
    suite = Suite(spec)
    for module in (
        valid,
        containers,
        encoding,
        models,
        tensors,
        bindings,
        layout,
        payload,
        frames,
        evolution,
        order,
        large,
        foreign,
        recipes,
        writers,
    ):
        module.add(suite)
    return suite
