# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Faults of versions in messages, contents, storages, names, metadata, libraries, methods and blobs."""

from __future__ import annotations

import copy
from collections.abc import Callable

from .. import parents
from ..draft import Draft
from ..image import Image, assign
from ..model import EXTERNAL, FALLBACK, MUTABLE, Content, Library, Method, Model, Pair, Storage, Variant, content_digest
from ..suite import Suite

Change = Callable[[Model], object]
MAX_BYTES = 1 << 60
MAX_64 = (1 << 64) - 1

BAD_UTF8 = {
    "lone-continuation": b"\x80",
    "cut-sequence": b"a\xe2\x82",
    "surrogate": b"\xed\xa0\x80",
    "surrogate-pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "overlong-2": b"\xc0\xaf",
    "overlong-2-c1": b"\xc1\xbf",
    "overlong-3": b"\xe0\x80\xaf",
    "overlong-3-at-edge": b"\xe0\x9f\xbf",
    "overlong-4": b"\xf0\x80\x80\xaf",
    "overlong-4-at-edge": b"\xf0\x8f\xbf\xbf",
    "overlong-nul": b"\xc0\x80",
    "above-10ffff": b"\xf4\x90\x80\x80",
    "five-bytes": b"\xf8\x88\x80\x80\x80",
    "byte-ff": b"\xff",
    "latin-1": b"caf\xe9",
}


def model(
    suite: Suite,
    name: str,
    code: str,
    rules: str,
    change: Change,
    note: str,
    image: Image | None = None,
    flags: str = "",
) -> None:
    """One change of a model."""
    suite.reject(name, code, rules, image or parents.owners(), note, lambda i: change(i.model), flags)


def lean(suite: Suite, name: str, code: str, rules: str, change: Change, note: str) -> None:
    """One change of the lean parent."""
    model(suite, name, code, rules, change, note, parents.lean())


def versions(suite: Suite) -> None:
    def change(**fields: int) -> Callable[[Image], object]:
        def edit(image: Image) -> None:
            for name, value in fields.items():
                setattr(image.model if name in ("major", "minor", "required") else image, name, value)

        return edit

    worked = parents.worked()
    suite.reject(
        "model-major-2", "version-mismatch", "VER-1", worked, "The model repeats the version.", change(major=2)
    )
    suite.reject(
        "model-minor-1",
        "version-mismatch",
        "VER-1",
        worked,
        "The model is of a later minor than the header.",
        change(minor=1),
    )
    suite.reject(
        "model-required-bit",
        "version-mismatch",
        "VER-1 EVO-6",
        worked,
        "A bit that only the model has.",
        change(required=1),
        "features",
    )
    suite.reject(
        "model-required-bit-32",
        "version-mismatch",
        "VER-1 EVO-6",
        worked,
        "Bits 32 to 63 are not repeated in the model.",
        change(required=1 << 32),
        "features",
    )
    suite.reject(
        "layout-major-2", "version-mismatch", "LAY-1", worked, "The layout repeats the version.", change(layout_major=2)
    )
    suite.reject(
        "layout-minor-1", "version-mismatch", "LAY-1", worked, "The layout is of a later minor.", change(layout_minor=1)
    )

    def header_minor(image: Image) -> None:
        image.minor = 1

    suite.reject(
        "header-minor-1-only",
        "version-mismatch",
        "VER-1",
        worked,
        "The header says minor 1, both messages say 0: the model is looked at first.",
        header_minor,
    )


def contents(suite: Suite) -> None:
    def first(**fields: object) -> Change:
        return lambda m: assign(m.contents[0], **fields)

    empty = parents.worked()
    empty.contents, empty.model.contents = [b""], [Content(0, content_digest(b""))]
    empty.segments[0].chunks = []
    suite.reject("content-size-0", "size", "CON-1", empty, "An empty content does not occur; there are 0 chunks of it.")
    model(suite, "content-size-over-2-60", "size", "CON-1 RDR-4", first(size=MAX_BYTES + 1), "One above maxBytes.")
    model(suite, "content-size-max", "size", "CON-1 RDR-4", first(size=MAX_64), "Sums with it wrap.")

    def twice(i: Image) -> None:
        i.model.contents.insert(1, i.model.contents[0])
        i.contents.insert(1, i.contents[0])
        for user in i.model.storages + i.model.blobs:
            user.content += 1 if user.content > 1 else 0
        i.model.storages[1].content = 2 if i.model.storages[0].content == 1 else 1
        for segment in i.segments:
            segment.content += 1 if segment.content > 0 else 0
        i.segments.append(copy.deepcopy(next(s for s in i.segments if s.content == 0)))
        i.segments[-1].content = 1

    two = Draft()
    two.simple("a", "uint8", [4], b"\1\2\3\4")
    two.tensor("b", two.storage(b"\1\2\3\4", access=MUTABLE), "uint8", [4])
    suite.reject(
        "contents-of-one-digest", "duplicate", "CON-2 WRT-3", two.finish(), "Equal contents are stored once.", twice
    )

    def ordered(key: Callable[[bytes], object]) -> Image:
        """Contents in another order, and everything that refers to them."""
        draft = Draft()
        for k in range(4):
            draft.simple(chr(97 + k), "uint8", [3], parents.noise(3, k + 1))
        image = draft.finish(alignment_log2=6)
        order = sorted(range(4), key=lambda k: key(image.model.contents[k].digest))  # type: ignore[arg-type,return-value]
        assert order != sorted(order)
        image.model.contents = [image.model.contents[k] for k in order]
        image.contents = [image.contents[k] for k in order]
        for storage in image.model.storages:
            storage.content = order.index(storage.content - 1) + 1
        for segment in image.segments:
            segment.content = order.index(segment.content)
        return image

    suite.reject(
        "contents-out-of-order",
        "order",
        "CON-2",
        ordered(lambda d: d[::-1]),
        "Digests ascend, so that duplicates cannot hide.",
    )
    suite.reject(
        "contents-ordered-as-integers",
        "order",
        "CON-2",
        ordered(lambda d: int.from_bytes(d[:8], "little")),
        "Ascending as little-endian 64-bit numbers, but not as bytes.",
    )
    suite.reject(
        "contents-ordered-as-signed",
        "order",
        "CON-2",
        ordered(lambda d: [b - 256 if b > 127 else b for b in d]),
        "Bytes are unsigned: 80 comes after 7F.",
    )

    def last_byte(m: Model) -> None:
        m.contents[0].digest, m.contents[1].digest = bytes(31) + b"\2", bytes(31) + b"\1"

    model(suite, "contents-differ-in-last-byte", "order", "CON-2", last_byte, "All 32 bytes count.")
    model(
        suite,
        "content-unused",
        "unreferenced",
        "CON-3",
        lambda m: m.contents.append(Content(1, b"\xff" * 32)),
        "Nothing may hide in a content that nobody uses.",
    )

    def unused(m: Model) -> None:
        m.blobs[0].content = 0

    model(suite, "content-of-blob-unused", "unreferenced", "CON-3", unused, "The blob that used it is declared zero.")


def storages(suite: Suite) -> None:
    def storage(index: int, **fields: int) -> Change:
        return lambda m: assign(m.storages[index], **fields)

    zeros = next(i for i, s in enumerate(parents.owners().model.storages) if not s.content and s.size == 64)
    external = next(i for i, s in enumerate(parents.owners().model.storages) if s.origin == EXTERNAL)
    model(suite, "storage-size-over-2-60", "size", "STO-1", storage(zeros, size=MAX_BYTES + 1), "One above maxBytes.")
    model(suite, "storage-size-max", "size", "STO-1 RDR-4", storage(zeros, size=MAX_64), "In bits it wraps.")
    model(
        suite,
        "blob-size-over-2-60",
        "size",
        "STO-1",
        lambda m: setattr(m.blobs[-1], "size", MAX_BYTES + 1),
        "STO-1 holds for blobs.",
    )
    count = len(parents.owners().model.contents)
    model(
        suite,
        "storage-content-behind-end",
        "reference",
        "STO-2",
        storage(0, content=count + 1),
        "1 + index: the number of contents is the last one.",
    )
    model(
        suite,
        "storage-content-max",
        "reference",
        "STO-2",
        storage(0, content=(1 << 32) - 1),
        "1 + index must not wrap.",
    )
    model(
        suite,
        "blob-content-behind-end",
        "reference",
        "STO-2",
        lambda m: setattr(m.blobs[0], "content", count + 1),
        "STO-2 holds for blobs.",
    )
    model(
        suite,
        "storage-smaller-than-content",
        "size",
        "STO-3",
        storage(0, size=2),
        "The content is larger than the storage.",
    )
    model(
        suite,
        "blob-smaller-than-content",
        "size",
        "STO-3",
        lambda m: setattr(m.blobs[0], "size", 23),
        "STO-3 holds for blobs.",
    )
    for field in ("access", "origin", "placement"):
        for value in (0, 3 if field != "placement" else 4, 255):
            model(
                suite,
                f"storage-{field}-{value}",
                "unlisted-number",
                "STO-4 EVO-3",
                storage(zeros, **{field: value}),
                "A number outside the table is refused, not guessed at; 0 is never in a table.",
            )
    model(
        suite,
        "external-with-content",
        "external",
        "STO-5",
        storage(external, content=1),
        "Two sources for the same bytes.",
        flags="external",
    )

    def second_first(m: Model) -> None:
        m.storages[0], m.storages[1] = m.storages[1], m.storages[0]
        for t in m.tensors:
            t.storage = {0: 1, 1: 0}.get(t.storage, t.storage)

    model(
        suite,
        "storages-not-in-order-of-use",
        "order",
        "STO-6",
        second_first,
        "Storages stand in order of first reference.",
    )
    model(
        suite,
        "storage-unused",
        "unreferenced",
        "STO-6",
        lambda m: m.storages.append(Storage(1)),
        "A storage that no tensor uses.",
    )

    def skipped(m: Model) -> None:
        last = max(m.tensors, key=lambda t: t.storage)
        m.storages.append(Storage(m.storages[last.storage].size))
        m.storages[-1], m.storages[-2] = m.storages[-2], m.storages[-1]
        last.storage += 1

    model(
        suite,
        "storage-skipped",
        "order",
        "STO-6",
        skipped,
        "The storage of a tensor is two more than the greatest before it.",
    )
    draft = Draft()
    image = draft.finish()
    image.model.storages = [Storage(1)]
    suite.reject("storage-without-tensors", "unreferenced", "STO-6", image, "A storage in a model without tensors.")


def counts(suite: Suite) -> None:
    def library_of(n: int) -> Image:
        image = parents.empty()
        image.model.libraries = [Library("a", [Variant(sm=i) for i in range(1, n + 1)])]
        return image

    suite.reject("variants-257", "limit", "LIM-1", library_of(257), "256 variants of one library at most.")
    image = parents.empty()
    image.model.methods = [Method(b"") for _ in range(4096)] + [Method("z")]
    suite.reject("methods-4097", "limit", "LIM-1", image, "The number of methods is checked before any of them is.")
    image = parents.empty()
    image.model.libraries = [Library(b"") for _ in range(4096)] + [Library("z")]
    suite.reject("libraries-4097", "limit", "LIM-1", image, "The number of libraries is checked before any of them is.")


def names(suite: Suite) -> None:
    places: dict[str, Callable[[Model, bytes], None]] = {
        "library": lambda m, n: setattr(m.libraries[-1], "name", n),
        "target": lambda m, n: setattr(m.libraries[1].variants[1], "target", n),
        "method": lambda m, n: setattr(m.methods[-1], "name", n),
        "tensor": lambda m, n: setattr(m.tensors[-1], "name", n),
        "scheme": lambda m, n: setattr(next(t for t in m.tensors if t.scheme), "scheme", n),
        "blob": lambda m, n: setattr(m.blobs[-1], "name", n),
        "media-type": lambda m, n: setattr(m.blobs[0], "media_type", n),
        "file-key": lambda m, n: setattr(m.metadata[-1], "key", n),
        "library-key": lambda m, n: setattr(m.libraries[0].metadata[-1], "key", n),
        "method-key": lambda m, n: setattr(m.methods[-1].metadata[-1], "key", n),
        "tensor-key": lambda m, n: setattr(next(t for t in m.tensors if t.metadata).metadata[-1], "key", n),
        "blob-key": lambda m, n: setattr(m.blobs[0].metadata[-1], "key", n),
    }
    for place, set_name in places.items():
        model(
            suite,
            f"name-of-{place}-not-utf-8",
            "name",
            "NAM-1",
            lambda m: set_name(m, b"z\xff"),
            "Every name is UTF-8.",
            parents.lean(),
        )
        model(
            suite,
            f"name-of-{place}-1025-bytes",
            "name",
            "NAM-1",
            lambda m: set_name(m, b"z" * 1025),
            "1,024 bytes at most, not counting the NUL.",
            parents.lean(),
        )
        if place not in ("target", "scheme", "media-type"):
            model(
                suite,
                f"name-of-{place}-null",
                "name",
                "NAM-1",
                lambda m: set_name(m, b""),
                "This name may not be null.",
                parents.lean(),
            )
    for kind, value in BAD_UTF8.items():
        model(
            suite,
            f"name-{kind}",
            "name",
            "NAM-1 RDR-14",
            lambda m: setattr(m.tensors[-1], "name", b"z" + value),
            "No surrogates, overlong forms or numbers above U+10FFFF; libraries differ in what they let pass.",
            parents.lean(),
        )

    def names_of(first: str, second: str, what: str) -> Change:
        def change(m: Model) -> None:
            del getattr(m, what)[2:]
            getattr(m, what)[0].name, getattr(m, what)[1].name = first, second

        return change

    for what in ("libraries", "methods"):
        model(
            suite,
            f"{what}-of-one-name",
            "duplicate",
            "NAM-2",
            names_of("a", "a", what),
            "Two of one name.",
            parents.lean(),
        )
        model(
            suite, f"{what}-out-of-order", "order", "NAM-2", names_of("b", "a", what), "Names ascend.", parents.lean()
        )
    draft = Draft()
    draft.blob("a", b"\1")
    draft.blob("b", b"\2")
    blobs = draft.finish()
    model(suite, "blobs-of-one-name", "duplicate", "NAM-2", names_of("a", "a", "blobs"), "Two of one name.", blobs)
    model(suite, "blobs-out-of-order", "order", "NAM-2", names_of("b", "a", "blobs"), "Names ascend.", blobs)
    model(
        suite,
        "blobs-prefix-after",
        "order",
        "NAM-2",
        names_of("ab", "a", "blobs"),
        "A name that begins another comes first.",
        blobs,
    )
    model(
        suite,
        "blobs-ordered-as-utf-16",
        "order",
        "NAM-2 RDR-14",
        names_of("\U0001f600", "\uff5e", "blobs"),
        "UTF-16 has U+1F600 before U+FF5E; bytes do not.",
        blobs,
    )
    model(
        suite,
        "blobs-ordered-without-case",
        "order",
        "NAM-2 RDR-14",
        names_of("a", "B", "blobs"),
        "No locale: B comes before a.",
        blobs,
    )
    model(
        suite,
        "blobs-ordered-as-signed",
        "order",
        "NAM-2",
        names_of("\u00e9", "z", "blobs"),
        "Bytes are unsigned.",
        blobs,
    )


def metadata(suite: Suite) -> None:
    lists: dict[str, Callable[[Model], list[Pair]]] = {
        "file": lambda m: m.metadata,
        "library": lambda m: m.libraries[0].metadata,
        "method": lambda m: m.methods[1].metadata,
        "tensor": lambda m: m.tensors[1].metadata,
        "blob": lambda m: m.blobs[0].metadata,
    }

    def become(get: Callable[[Model], list[Pair]], *new: Pair) -> Change:
        return lambda m: get(m).__setitem__(slice(None), list(new))

    for place, get in lists.items():
        lean(
            suite,
            f"pair-kind-0-of-{place}",
            "unlisted-number",
            "MET-1",
            become(get, Pair("k", b"v", 0)),
            "0 is in no table.",
        )
        lean(
            suite,
            f"pair-kind-4-of-{place}",
            "unlisted-number",
            "MET-1 EVO-3",
            become(get, Pair("k", b"v", 4)),
            "4 is in no table of 1.0.",
        )
        lean(
            suite,
            f"pair-text-not-utf-8-of-{place}",
            "metadata",
            "MET-3",
            become(get, Pair("k", b"\xff")),
            "Text is UTF-8.",
        )
        lean(
            suite,
            f"pairs-of-one-key-of-{place}",
            "duplicate",
            "MET-4",
            become(get, Pair("k", b"1"), Pair("k", b"2")),
            "One key has one value.",
        )
        lean(
            suite,
            f"pairs-out-of-order-of-{place}",
            "order",
            "MET-4",
            become(get, Pair("l", b"1"), Pair("k", b"2")),
            "Keys ascend.",
        )
    get = lists["file"]
    lean(
        suite,
        "pair-json-not-utf-8",
        "metadata",
        "MET-3",
        become(get, Pair("k", b'"\xed\xa0\x80"', 3)),
        "JSON is UTF-8 too.",
    )
    lean(
        suite,
        "pair-text-cut-sequence",
        "metadata",
        "MET-3",
        become(get, Pair("k", b"a\xf0\x9f\x98")),
        "A sequence ends inside the value.",
    )
    lean(
        suite, "pair-json-utf-16", "metadata", "MET-3", become(get, Pair("k", b"\xff\xfe{\0}\0", 3)), "JSON in UTF-16."
    )
    lean(
        suite,
        "pairs-equal-but-kind",
        "duplicate",
        "MET-4",
        become(get, Pair("k", b"1", 1), Pair("k", b"1", 3)),
        "The kind is no part of the key.",
    )


def libraries(suite: Suite) -> None:
    def variants(*new: Variant) -> Change:
        return lambda m: setattr(m.libraries[1], "variants", list(new))

    note = "What a variant is for must be unambiguous."
    lean(
        suite,
        "variant-blob-behind-end",
        "reference",
        "LIB-1",
        variants(Variant(3, sm=90)),
        "1 + index: 2 is the last blob.",
    )
    lean(
        suite,
        "variant-blob-max",
        "reference",
        "LIB-1",
        variants(Variant((1 << 32) - 1, sm=90)),
        "1 + index must not wrap.",
    )
    for kind in (0, 3, 255):
        lean(
            suite,
            f"variant-kind-{kind}",
            "unlisted-number",
            "LIB-2",
            variants(Variant(0, kind, sm=90)),
            "Not in the table.",
        )
    cases = {
        "ptx-above-sm": [Variant(sm=80, ptx=90)],
        "ptx-without-sm": [Variant(ptx=80)],
        "sm-and-target": [Variant(sm=90, target="gfx942")],
        "ptx-and-target": [Variant(sm=90, ptx=90, target="gfx942")],
        "untargeted-not-alone": [Variant(), Variant(sm=90)],
        "fallback-without-ptx": [Variant(0, FALLBACK, sm=90)],
        "fallback-with-target": [Variant(0, FALLBACK, target="gfx942")],
        "fallback-untargeted": [Variant(0, FALLBACK)],
    }
    for name, values in cases.items():
        lean(suite, f"variant-{name}", "variant", "LIB-3", variants(*values), note)
    lean(
        suite,
        "variants-two-fallbacks",
        "variant",
        "LIB-5",
        variants(Variant(0, FALLBACK, 80, 80), Variant(0, FALLBACK, 90, 80)),
        "One fallback at most.",
    )
    lean(
        suite,
        "variants-equal",
        "duplicate",
        "LIB-4",
        variants(Variant(1, sm=90), Variant(0, sm=90)),
        "The blob is no part of a variant's key.",
    )
    lean(suite, "variants-by-sm", "order", "LIB-4", variants(Variant(sm=90), Variant(sm=80)), "sm ascends.")
    lean(
        suite,
        "variants-by-ptx",
        "order",
        "LIB-4",
        variants(Variant(sm=90, ptx=90), Variant(sm=90, ptx=80)),
        "Then ptx.",
    )
    lean(
        suite,
        "variants-by-target",
        "order",
        "LIB-4",
        variants(Variant(target="b"), Variant(target="a")),
        "Then the target, as bytes.",
    )
    lean(
        suite,
        "variants-by-kind",
        "order",
        "LIB-4",
        variants(Variant(0, FALLBACK, 80, 80), Variant(sm=90)),
        "Regular ones come first.",
    )
    lean(
        suite,
        "variants-target-before-none",
        "order",
        "LIB-4",
        variants(Variant(sm=80), Variant(target="a")),
        "sm 0 comes before sm 80, so a target comes before CUDA.",
    )


def methods(suite: Suite) -> None:
    def indices(field: str, *values: int) -> Change:
        return lambda m: setattr(m.methods[0], field, list(values))

    rich = parents.lean().model
    counts_of = {"tensors": len(rich.tensors), "libraries": len(rich.libraries), "blobs": len(rich.blobs)}
    for field, count in counts_of.items():
        lean(suite, f"method-{field}-behind-end", "reference", "MTH-1", indices(field, count), "Indices count from 0.")
        lean(
            suite,
            f"method-{field}-index-max",
            "reference",
            "MTH-1",
            indices(field, (1 << 32) - 1),
            "All bits set is no 'none' here.",
        )
        lean(suite, f"method-{field}-twice", "duplicate", "MTH-2", indices(field, 0, 0), "Bound twice.")
        lean(suite, f"method-{field}-out-of-order", "order", "MTH-2", indices(field, 1, 0), "Indices ascend.")


def add(suite: Suite) -> None:
    for part in (versions, contents, storages, counts, names, metadata, libraries, methods):
        part(suite)
