# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults of what methods bind, and of content under one name."""

from __future__ import annotations

import struct

from ..draft import Draft
from ..image import Image
from ..model import EXTERNAL, MUTABLE, Model
from ..suite import Suite
from .models import Change, model


def two_owners() -> Image:
    """Methods a and b, each with a tensor; library l with a constant, which b binds."""
    draft = Draft()
    a, b = draft.method("a"), draft.method("b")
    library, other = draft.library("l"), draft.library("m")
    x = draft.simple("x", "uint8", [1], b"\1", method=a)
    y = draft.simple("y", "uint8", [1], b"\2", method=b)
    c = draft.simple("c", "uint8", [1], b"\3", library=library)
    draft.simple("d", "uint8", [1], b"\4", library=other)
    draft.methods[a].tensors = [x]
    draft.methods[b].tensors, draft.methods[b].libraries = [y, c], [library]
    return draft.finish()


def bound(suite: Suite) -> None:
    names = [t.name for t in two_owners().model.tensors]
    x, y, c, d = (names.index(n) for n in "xycd")

    def binds(method: int, tensors: list[int], libraries: list[int]) -> Change:
        def change(m: Model) -> None:
            m.methods[method].tensors, m.methods[method].libraries = sorted(tensors), libraries

        return change

    note = "A method binds tensors of the model, of itself, and of libraries that it binds."
    model(suite, "binds-tensor-of-other-method", "binding", "BND-1", binds(0, [x, y], []), note, two_owners())
    model(suite, "binds-constant-without-library", "binding", "BND-1", binds(1, [y, c], []), note, two_owners())
    model(suite, "binds-constant-of-other-library", "binding", "BND-1", binds(1, [y, d], [0]), note, two_owners())


def twins(**fields: int) -> Image:
    """Tensor w of the model and of method m, in storages of equal content."""
    draft = Draft()
    data = struct.pack("<4f", 1, 2, 3, 4)
    method = draft.method("m")
    draft.tensor("w", draft.storage(data), "float32", [4])
    own = draft.tensor("w", draft.storage(data), "float32", [2, 2], method=method)
    draft.simple("x", "uint8", [4], b"\1\2\3\4")
    draft.methods[method].tensors = [own]
    image = draft.finish()
    for name, value in fields.items():
        setattr(image.model.storages[-1], name, value)
    return image


def conflicts(suite: Suite) -> None:
    both = twins()
    names = [(t.owner_kind, t.name) for t in both.model.tensors]
    both.model.methods[0].tensors = [names.index((1, "w")), names.index((3, "w"))]
    suite.reject("binds-twin-and-original", "binding", "BND-2", both, "Which of the two does the name mean?")
    note = (
        "One name has one content: a difference is an error when the file is written, not a choice when it is loaded."
    )
    other = next(s.content for s in twins().model.storages[1:2])
    cases: dict[str, dict[str, int]] = {
        "size": {"size": 20},
        "access": {"access": MUTABLE},
        "content": {"content": other},
        "no-content": {"content": 0},
        "origin": {"content": 0, "origin": EXTERNAL},
    }
    for name, change in cases.items():
        suite.reject(f"twin-with-other-{name}", "content-conflict", "BND-3", twins(**change), note)
    unbound = twins(size=20)
    unbound.model.methods[0].tensors = []
    suite.reject(
        "twin-unbound-with-other-size",
        "content-conflict",
        "BND-3",
        unbound,
        "BND-3 holds whether or not either is bound.",
    )
    draft = Draft()
    method = draft.method("m")
    draft.tensor("w", draft.storage(b"", 16), "uint8", [16])
    draft.tensor("w", draft.storage(b"", 16, origin=EXTERNAL), "uint8", [16], method=method)
    suite.reject(
        "twin-origin-only",
        "content-conflict",
        "BND-3",
        draft.finish(),
        "Zeros, and bytes that somebody supplies, are not the same, though neither has a content.",
        flags="external zeros",
    )


def add(suite: Suite) -> None:
    bound(suite)
    conflicts(suite)
