# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Files of later minor versions and with optional features, and files with two faults."""

from __future__ import annotations

from collections.abc import Callable

from .. import parents
from ..image import Image
from ..suite import Suite
from ..words import Message, Plain, Struct, Structs, text
from .encoding import nested


def of_minor(minor: int, image: Image | None = None) -> Image:
    """A file that says that it is of a later minor."""
    image = (image or parents.worked()).copy()
    image.minor = image.model.minor = image.layout_minor = minor
    return image


def eighth(target: object) -> Callable[[Struct], object]:
    """An eighth pointer of the model, which 1.0 does not know."""

    def change(s: Struct) -> None:
        s.pointers = (s.pointers + [None] * 8)[:7] + [target]  # type: ignore[list-item]

    return change


def accepted(suite: Suite) -> None:
    def accept(name: str, image: Image, note: str, rules: str = "EVO-2 EVO-3 RDR-10") -> None:
        suite.accept(f"later-{name}", image, rules, note, "later-minor")

    accept("minor-1", of_minor(1), "A later minor opens: feature bits say what can be read, not versions.", "EVO-2")
    accept("minor-65535", of_minor(65535), "The greatest minor.", "EVO-2")
    image = of_minor(7)
    image.model_tree = eighth(text(b"a later text"))
    accept("model-pointer", image, "A pointer that 1.0 does not know is walked and ignored.")

    def not_a_text(s: Struct) -> None:
        eighth(Plain(2, 3, [0x41_00_41]))(s)

    image = of_minor(7)
    image.model_tree = not_a_text
    accept(
        "bytes-without-nul",
        image,
        "ENC-11 holds for known texts only: a later list of bytes may be Data.",
        "EVO-2 ENC-11",
    )
    image = of_minor(7)
    image.model_tree = eighth(nested(4))
    accept("nested-4-deep", image, "Four deep is allowed.", "EVO-2 ENC-13")
    for code, words in ((3, [0x0003_0002_0001]), (4, [5]), (5, [6, 7])):
        image = of_minor(7)
        count = {3: 3, 4: 1, 5: 2}[code]
        image.model_tree = eighth(Plain(code, count, words))
        accept(f"list-of-code-{code}", image, "Lists of every code but 0, 1 and 6 may come.", "EVO-2 ENC-8")
    image = of_minor(7)
    image.model_tree = eighth(Structs([Struct([0, 1], [None, text(b"x")]), Struct([2, 0], [text(b"y"), None])]))
    accept("list-of-structs", image, "Their tags and elements are walked like known ones.", "EVO-2 ENC-7")

    def wide_tensor(s: Struct) -> None:
        for tensor in s.pointers[4].elements:  # type: ignore[union-attr]
            tensor.data += [0x1122334455667788]
            tensor.pointers += [text(b"later"), Plain(5, 1, [9])]

    image = of_minor(7)
    image.model_tree = wide_tensor
    accept("tensor-fields", image, "Elements are longer than 1.0's: step by the tag's sizes, not by the struct's own.")

    def wide_segment(s: Struct) -> None:
        for segment in s.pointers[0].elements:  # type: ignore[union-attr]
            segment.data += [77]
            segment.pointers += [text(b"later")]

    image = of_minor(7, parents.two_segments())
    image.layout_tree = wide_segment
    accept("segment-fields", image, "In the layout too.")

    def free_bits(m: Message) -> None:
        m.words[m.target["storages.0"] + 1] |= 1 << 56
        m.words[1] |= 1 << 63

    image = of_minor(7)
    image.model_words = free_bits
    accept("bits-in-unused-places", image, "A later field may lie in bits of known words that no field covered.")

    def long_root(s: Struct) -> None:
        s.data += [5]

    image = of_minor(7, parents.empty())
    image.model_tree = long_root
    accept("data-word", image, "A third data word of the model; the word before it is zero.")

    def pair_field(s: Struct) -> None:
        for pair in s.pointers[6].elements:  # type: ignore[union-attr]
            pair.data += [1 << 40]

    image = of_minor(2, parents.lean())
    image.model_tree = pair_field
    accept("pair-fields", image, "Pairs of a later minor.")
    for bit in (0, 31, 32, 63):
        image = parents.worked()
        image.optional = 1 << bit
        suite.accept(
            f"optional-bit-{bit}",
            image,
            "RDR-6 HDR-7 DIG-3",
            "An optional bit that nobody knows is ignored, and is not part of the model id.",
            "features",
        )
    image = parents.worked()
    image.optional = (1 << 64) - 1
    suite.accept("optional-bits-all", image, "RDR-6", "All optional bits.", "features")


def refused(suite: Suite) -> None:
    def reject(name: str, rule: str, image: Image, note: str) -> None:
        suite.reject(f"later-{name}", "encoding", f"{rule} EVO-2", image, note, flags="later-minor")

    def with_words(target: object, change: Callable[[Message], object]) -> Image:
        image = of_minor(7)
        image.model_tree = eighth(target)
        image.model_words = change
        return image

    seven = "7"
    for kind, name in ((0, "struct"), (2, "far"), (3, "capability")):
        reject(
            f"unknown-{name}-pointer",
            "ENC-3",
            with_words(
                text(b"x"), lambda m: m.words.__setitem__(m.pointer[seven], m.words[m.pointer[seven]] & ~3 | kind)
            ),
            "No later minor has such pointers either.",
        )
    reject(
        "unknown-padding-set",
        "ENC-10",
        with_words(text(b"x"), lambda m: m.words.__setitem__(-1, m.words[-1] | 1 << 63)),
        "The bits behind an unknown list's end are zero.",
    )
    reject(
        "unknown-out-of-order",
        "ENC-4",
        with_words(text(b"x"), lambda m: m.point(seven, offset=0)),
        "Unknown objects lie in preorder too.",
    )
    reject(
        "unknown-empty-list",
        "ENC-9",
        with_words(Plain(2, 0, []), lambda m: None),
        "Unknown lists are not empty either.",
    )
    for code, count, words in ((0, 1000, []), (1, 3, [5]), (6, 1, [0])):
        reject(
            f"unknown-list-of-code-{code}",
            "ENC-8",
            with_words(Plain(code, count, words), lambda m: None),
            "Void, bits and lists of lists never come.",
        )
    reject(
        "unknown-elements-of-no-words",
        "ENC-7",
        with_words(Structs([Struct([1], [])]), lambda m: m.words.__setitem__(-2, (1 << 29) - 1 << 2)),
        "Half a billion elements of no size.",
    )
    reject(
        "unknown-untrimmed",
        "ENC-6",
        with_words(Structs([Struct([1, 0], [])], data=2), lambda m: None),
        "Unknown structs are trimmed too.",
    )
    reject(
        "unknown-trailing-word",
        "ENC-5",
        with_words(text(b"x"), lambda m: m.words.append(0)),
        "Nothing behind the last object.",
    )
    image = of_minor(7)
    image.model_words = lambda m: m.words.__setitem__(m.target["methods.0.name"], 0x006E_0072)
    reject("known-text-with-nul", "ENC-11", image, "Texts that the reader knows are checked.")
    image = of_minor(7)
    image.model.tensors[0].dtype = 39
    suite.reject(
        "later-dtype-without-bit",
        "unlisted-number",
        "TEN-2 EVO-2 EVO-3",
        image,
        "A new number needs a required bit; without it the number is unlisted.",
        flags="later-minor",
    )
    image = of_minor(7)
    image.model.tensors[0].dtype = 39
    image.required = image.model.required = 1
    suite.reject(
        "later-dtype-with-bit",
        "required-feature",
        "HDR-7 EVO-3",
        image,
        "The bit says that the reader is too old, before anything else is looked at.",
        flags="later-minor features",
    )


def add(suite: Suite) -> None:
    accepted(suite)
    refused(suite)
