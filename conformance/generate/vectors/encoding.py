# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Messages that a Cap'n Proto library reads but that have not the one form of section 5."""

from __future__ import annotations

from collections.abc import Callable

from .. import parents
from ..draft import Draft
from ..image import Image
from ..model import Pair
from ..suite import Suite
from ..words import Message, Plain, Struct, Structs, list_word, struct_word, text, words_of

Change = Callable[[Message], object]
MASK = (1 << 64) - 1


def words(
    suite: Suite,
    name: str,
    rule: str,
    change: Change,
    note: str,
    image: Image | None = None,
    layout: bool = False,
    flags: str = "",
) -> None:
    """One change of the words of the model message, or of the layout."""
    image = (image or parents.worked()).copy()
    if layout:
        image.layout_words = change
    else:
        image.model_words = change
    suite.reject(f"enc-{name}", "encoding", rule, image, note, flags=flags)


def tree(
    suite: Suite,
    name: str,
    rule: str,
    change: Callable[[Struct], object],
    note: str,
    image: Image | None = None,
    flags: str = "",
) -> None:
    """One change of the objects before they are laid out."""
    image = (image or parents.worked()).copy()
    image.model_tree = change
    suite.reject(f"enc-{name}", "encoding", rule, image, note, flags=flags)


def put(at: str, word: int) -> Change:
    """Writes a pointer as a whole."""
    return lambda m: m.words.__setitem__(m.pointer[at], word)


def reroot(word: int, at: int) -> Change:
    """Another root pointer, and a word of zeros in front of word `at`."""

    def change(m: Message) -> None:
        m.insert(at, 0)
        m.words[0] = word

    return change


def roots(suite: Suite) -> None:
    def first(word: int) -> Change:
        return lambda m: m.words.__setitem__(0, word)

    words(suite, "root-null", "ENC-2", first(0), "A null root is not an empty model.")
    words(suite, "root-list", "ENC-2", first(list_word(0, 5, 6)), "The root is a struct.")
    words(suite, "root-far", "ENC-2", first(2), "A far pointer as the root.")
    words(suite, "root-capability", "ENC-2", first(3), "A capability as the root.")
    words(
        suite,
        "root-offset-1",
        "ENC-2",
        reroot(struct_word(1, 1, 5), 1),
        "The root starts at word 1, without a gap.",
    )
    words(
        suite,
        "root-offset-minus-1",
        "ENC-2",
        first(struct_word((1 << 30) - 1, 1, 5)),
        "The root does not contain its own pointer.",
    )
    words(
        suite,
        "root-no-words",
        "ENC-2",
        lambda m: m.words.__setitem__(slice(None), [struct_word(0, 0, 0)]),
        "A root without words would be a model without a version.",
    )
    words(
        suite,
        "root-empty-at-minus-1",
        "ENC-2",
        lambda m: m.words.__setitem__(slice(None), [struct_word((1 << 30) - 1, 0, 0)]),
        "Cap'n Proto's own form of an empty struct.",
    )
    words(
        suite,
        "root-behind-end",
        "ENC-4",
        lambda m: m.words.__setitem__(slice(None), [struct_word(0, 1, 0)]),
        "The root's words are not there.",
        parents.empty(),
    )
    words(
        suite,
        "root-pointers-behind-end",
        "ENC-4",
        first(struct_word(0, 1, 0xFFFF)),
        "65,535 pointers in a short message.",
    )
    for_segment_table = lambda m: m.words.insert(0, len(m.words) << 32)
    words(
        suite,
        "segment-table",
        "ENC-12 ENC-2 ENC-1",
        for_segment_table,
        "A stream's segment table in front of the message.",
    )

    def pack(data: bytes) -> bytes:
        out = b""
        for i in range(0, len(data), 8):
            part = data[i : i + 8]
            out += bytes([sum(1 << k for k in range(8) if part[k])]) + bytes(b for b in part if b)
            if part == bytes(8):
                out += b"\0"
        return out + bytes(-len(out) % 8)

    image = parents.worked()
    image.model_bytes = pack
    suite.reject("enc-packed", "encoding", "ENC-2 ENC-1", image, "Cap'n Proto's packed form, filled up to whole words.")
    words(
        suite,
        "two-segments",
        "ENC-2 ENC-1",
        lambda m: m.words.__setitem__(slice(0, 0), [1 | len(m.words) << 32, 0]),
        "A segment table with two segments.",
    )
    words(
        suite, "layout-root-null", "ENC-2", lambda m: m.words.__setitem__(0, 0), "The layout's root too.", layout=True
    )
    words(suite, "layout-segment-table", "ENC-12 ENC-2 ENC-1", for_segment_table, "In the layout.", layout=True)


def pointers(suite: Suite) -> None:
    for place in ("contents", "methods", "methods.0.name", "methods.0.tensors", "tensors.0.sizes"):
        label = place.replace(".", "-")
        for kind, name in ((0, "struct"), (2, "far"), (3, "capability")):
            words(
                suite,
                f"{name}-pointer-{label}",
                "ENC-3",
                lambda m: m.words.__setitem__(m.pointer[place], m.words[m.pointer[place]] & ~3 | kind),
                "Only null and list pointers occur behind the root.",
            )
    words(
        suite,
        "capability-of-its-form",
        "ENC-3",
        put("tensors.0.strides", 3 | 7 << 32),
        "A capability pointer as libraries write it.",
    )
    words(suite, "double-far", "ENC-3", put("tensors.0.strides", 2 | 1 << 2 | 9 << 3), "A double-far pointer.")
    words(suite, "layout-far-pointer", "ENC-3", put("segments", 2), "In the layout.", layout=True)
    for place in ("contents", "methods.0.name", "tensors.0.strides"):
        label = place.replace(".", "-")
        for step, name in ((1, "next-word"), (-1, "word-before")):
            words(
                suite,
                f"{label}-points-to-{name}",
                "ENC-4",
                lambda m: m.words.__setitem__(m.pointer[place], m.words[m.pointer[place]] + (step << 2) & MASK),
                "The target is at the cursor, nowhere else.",
            )
    words(
        suite,
        "offset-most",
        "ENC-4",
        lambda m: m.point("tensors.0.sizes", offset=(1 << 29) - 1),
        "The greatest offset.",
    )
    words(suite, "offset-least", "ENC-4", lambda m: m.point("tensors.0.sizes", offset=-(1 << 29)), "The least offset.")
    words(
        suite,
        "points-to-itself",
        "ENC-4",
        lambda m: m.point("methods.0.name", offset=-1),
        "An object that contains itself.",
    )
    words(suite, "points-to-root", "ENC-4", lambda m: m.point("methods", offset=-m.pointer["methods"]), "A cycle.")

    def shared(m: Message) -> None:
        m.point("tensors.0.strides", offset=m.target["tensors.0.sizes"] - m.pointer["tensors.0.strides"] - 1)
        m.remove(m.target["tensors.0.strides"], 2)

    words(
        suite,
        "shared-target",
        "ENC-4",
        shared,
        "sizes and strides lead to one list: legal to libraries, two objects here.",
        square(),
    )

    def swapped(m: Message) -> None:
        a, b = m.target["methods.0.name"], m.target["methods.0.tensors"]
        m.words[a], m.words[b] = m.words[b], m.words[a]
        m.point("methods.0.name", offset=b - m.pointer["methods.0.name"] - 1)
        m.point("methods.0.tensors", offset=a - m.pointer["methods.0.tensors"] - 1)

    words(suite, "objects-swapped", "ENC-4", swapped, "Two objects in the other order, with right offsets.")
    words(
        suite,
        "gap-before-contents",
        "ENC-4",
        lambda m: m.insert(m.target["contents"], 0),
        "A word of zeros that nobody owns.",
    )
    words(
        suite,
        "gap-with-hidden-bytes",
        "ENC-4",
        lambda m: m.insert(m.target["methods.0.tensors"], 0x4141414141414141),
        "A word with hidden bytes between two objects.",
    )
    words(suite, "overlapping-lists", "ENC-4", overlap, "The second list begins inside the first.", square())
    words(
        suite,
        "text-behind-end",
        "ENC-4",
        lambda m: m.point("tensors.0.strides", count=1000),
        "A list behind the end of the message.",
    )
    words(
        suite,
        "count-most",
        "ENC-4 RDR-4",
        lambda m: m.point("tensors.0.strides", count=(1 << 29) - 1),
        "2^29 - 1 elements of 8 bytes in a short message.",
    )
    words(
        suite,
        "structs-behind-end",
        "ENC-4",
        lambda m: m.point("tensors", count=(1 << 29) - 1),
        "A list of structs behind the end.",
    )
    words(suite, "last-word-missing", "ENC-4", lambda m: m.words.pop(), "The last list ends behind the message.")
    words(suite, "trailing-word", "ENC-5", lambda m: m.words.append(0), "A word of zeros behind the last object.")
    words(
        suite, "trailing-hidden-word", "ENC-5", lambda m: m.words.append(0x1234), "Hidden bytes behind the last object."
    )
    words(suite, "layout-trailing-word", "ENC-5", lambda m: m.words.append(0), "In the layout.", layout=True)
    words(
        suite,
        "null-list-words-left",
        "ENC-5",
        orphan,
        "A pointer is null, and what it led to is still there.",
        square(),
    )


def square() -> Image:
    """A tensor whose sizes and strides are equal."""
    draft = Draft()
    draft.simple("w", "uint8", [2, 2], b"\1\2\3\4", strides=[2, 2])
    image = draft.finish()
    image.model.storages[0].size = 5
    return image


def overlap(m: Message) -> None:
    m.point("tensors.0.strides", offset=m.target["tensors.0.sizes"] + 1 - m.pointer["tensors.0.strides"] - 1)
    m.words.pop()


def orphan(m: Message) -> None:
    m.words[m.pointer["tensors.0.name"]] = 0
    for path in ("tensors.0.sizes", "tensors.0.strides"):
        m.point(path, offset=m.target[path] - m.pointer[path] - 1)
    name = m.words.pop(m.target["tensors.0.name"])
    m.point("tensors.0.sizes", offset=m.target["tensors.0.sizes"] - m.pointer["tensors.0.sizes"] - 2)
    m.point("tensors.0.strides", offset=m.target["tensors.0.strides"] - m.pointer["tensors.0.strides"] - 2)
    m.words.append(name)


def untrimmed(suite: Suite) -> None:
    def widen(path: str, count: int, data: int, pointers: int, more_data: int, more_pointers: int) -> Change:
        """Gives the elements of a list of structs more words of zeros."""

        def change(m: Message) -> None:
            tag = m.target[path]
            for i in reversed(range(count)):
                at = tag + 1 + i * (data + pointers)
                if more_pointers:
                    m.insert(at + data + pointers, *[0] * more_pointers)
                if more_data:
                    m.insert(at + data, *[0] * more_data)
            m.words[tag] = struct_word(count, data + more_data, pointers + more_pointers)
            m.point(path, count=count * (data + pointers + more_data + more_pointers))

        return change

    words(
        suite,
        "storage-data-word-too-many",
        "ENC-12",
        widen("storages", 1, 2, 0, 1, 0),
        "A third data word of a Storage is not defined by 1.0.",
    )
    words(
        suite,
        "tensor-data-untrimmed",
        "ENC-6",
        widen("tensors", 1, 1, 3, 1, 0),
        "The last data word of all elements is zero.",
    )
    words(
        suite,
        "tensor-pointers-untrimmed",
        "ENC-6",
        widen("tensors", 1, 1, 3, 0, 1),
        "The last pointer of all elements is null.",
    )
    words(
        suite,
        "method-data-section-of-zeros",
        "ENC-12",
        widen("methods", 1, 0, 2, 1, 0),
        "A Method has no data words in 1.0.",
    )
    words(
        suite,
        "root-data-untrimmed",
        "ENC-6",
        reroot(struct_word(0, 2, 5), 2),
        "requiredFeatures is 0, so its word is absent.",
    )
    words(
        suite,
        "root-pointers-untrimmed",
        "ENC-6",
        reroot(struct_word(0, 1, 6), 7),
        "blobs is null, so its word is absent.",
    )
    words(
        suite,
        "smallest-with-null-pointer",
        "ENC-6",
        reroot(struct_word(0, 1, 1), 2),
        "An empty model has no pointer words.",
        parents.empty(),
    )
    words(
        suite,
        "version-word-zero",
        "ENC-6",
        lambda m: m.words.__setitem__(1, 0),
        "major is never 0, so the first word is never zero.",
        parents.empty(),
    )
    words(
        suite,
        "layout-segments-untrimmed",
        "ENC-6",
        reroot(struct_word(0, 1, 1), 2),
        "In the layout.",
        parents.empty(),
        layout=True,
    )


def tags(suite: Suite) -> None:
    def tag(path: str, word: int) -> Change:
        return lambda m: m.words.__setitem__(m.target[path], word)

    words(suite, "tag-list-kind", "ENC-7", tag("storages", struct_word(1, 2, 0) | 1), "The tag is a struct word.")
    words(suite, "tag-far-kind", "ENC-7", tag("storages", struct_word(1, 2, 0) | 2), "The tag is a struct word.")
    words(
        suite,
        "tag-no-elements",
        "ENC-7",
        tag("storages", struct_word(0, 2, 0)),
        "No elements, but words: what is in them is hidden.",
    )
    words(
        suite,
        "tag-too-few-elements",
        "ENC-7",
        tag("methods", struct_word(1, 0, 1)),
        "Elements times words is not the count.",
    )
    words(
        suite,
        "tag-too-many-elements",
        "ENC-7",
        tag("storages", struct_word(2, 2, 0)),
        "More elements than the words hold.",
    )
    words(
        suite,
        "tag-count-top-bit",
        "ENC-7",
        tag("storages", struct_word(1 << 29 | 1, 2, 0)),
        "The count has 30 bits; above 2^29 - 1 it would be negative to some.",
    )
    words(
        suite,
        "tag-product-wraps-29-bits",
        "ENC-7",
        tag("tensors", struct_word((1 << 27) + 1, 1, 3)),
        "Elements times words is 4 modulo 2^29, which is the count.",
    )
    words(
        suite,
        "tag-count-most",
        "ENC-7",
        tag("storages", struct_word((1 << 30) - 1, 2, 0)),
        "A product that overflows 32 bits.",
    )

    def void(m: Message) -> None:
        m.words[m.target["storages"]] = struct_word((1 << 29) - 1, 0, 0)
        m.point("storages", count=0)
        m.remove(m.target["storages"] + 1, 2)

    words(
        suite, "millions-of-empty-structs", "ENC-9 ENC-7 RDR-4", void, "536,870,911 elements of no words in one word."
    )

    def void_with_count(m: Message) -> None:
        m.words[m.target["storages"]] = struct_word((1 << 29) - 1, 0, 0)

    words(suite, "elements-of-no-words", "ENC-7", void_with_count, "Elements have at least one word.")
    words(
        suite,
        "tag-words-sum-wraps",
        "ENC-7",
        tag("storages", struct_word(1, 0xFFFF, 0xFFFF)),
        "An element of 131,070 words.",
    )


def codes(suite: Suite) -> None:
    def code(path: str, new: int, count: int | None = None) -> Change:
        def change(m: Message) -> None:
            m.point(path, code=new, **({} if count is None else {"count": count}))

        return change

    words(
        suite,
        "sizes-as-uint32",
        "ENC-8",
        code("tensors.0.sizes", 4, 4),
        "A list of 64-bit numbers written as one of 32 bits.",
    )
    words(suite, "sizes-as-bytes", "ENC-8", code("tensors.0.sizes", 2, 16), "Written as bytes.")

    def sizes_as_void(s: Struct) -> None:
        s.pointers[4].elements[0].pointers[1] = Plain(0, 2, [])  # type: ignore[union-attr]

    def storages_as_void(s: Struct) -> None:
        s.pointers[1] = Plain(0, 1000, [])

    tree(suite, "sizes-as-void", "ENC-8 RDR-4", sizes_as_void, "A list of Void takes no words, of any length.")
    tree(suite, "storages-as-void", "ENC-8 RDR-4", storages_as_void, "1,000 structs in no words.")
    words(suite, "sizes-as-bits", "ENC-8", code("tensors.0.sizes", 1, 128), "A list of bits.")
    words(suite, "sizes-as-pointers", "ENC-8", code("tensors.0.sizes", 6, 2), "A list of pointers.")
    words(
        suite,
        "indices-as-uint64",
        "ENC-8",
        code("methods.0.tensors", 5, 1),
        "A List(UInt32) sent with 8-byte elements hides 4 bytes in each.",
    )
    words(suite, "indices-as-uint16", "ENC-8", code("methods.0.tensors", 3, 2), "Sent with 2-byte elements.")
    words(suite, "text-as-uint64", "ENC-8", code("methods.0.name", 5, 1), "A text sent as 8-byte elements.")

    def storages_as_integers(m: Message) -> None:
        m.remove(m.target["storages"] + 2, 1)
        m.point("storages", code=5, count=2)

    words(
        suite,
        "storages-as-uint64",
        "ENC-8",
        storages_as_integers,
        "A list of structs sent as a list of integers: legal to libraries.",
    )
    words(
        suite,
        "segments-as-uint64",
        "ENC-8",
        lambda m: m.point("segments", code=5, count=4),
        "In the layout.",
        layout=True,
    )

    def as_structs(s: Struct) -> None:
        tensor = s.pointers[4].elements[0]  # type: ignore[union-attr]
        tensor.pointers[1] = Structs([Struct([2], []), Struct([2], [])])

    tree(suite, "sizes-as-structs", "ENC-8", as_structs, "A list of integers sent as structs of one word.")

    def wider(s: Struct) -> None:
        s.pointers[3].elements[0].pointers[1] = Structs([Struct([0x7777777700000000], [])])  # type: ignore[union-attr]

    tree(suite, "indices-as-structs-with-hidden-bytes", "ENC-8", wider, "A List(UInt32) sent as structs.")


def empties(suite: Suite) -> None:
    def empty(path: str) -> Change:
        def change(m: Message) -> None:
            begin = m.target[path]
            code = m.words[m.pointer[path]] >> 32 & 7
            m.words[m.pointer[path]] = list_word(begin - m.pointer[path] - 1, code, 0)
            m.remove(begin, 1)

        return change

    def with_empty_indices(s: Struct) -> None:
        s.pointers[3].elements[0].pointers[2] = Plain(4, 0, [])  # type: ignore[union-attr]

    tree(suite, "empty-list-not-null", "ENC-9", with_empty_indices, "An empty list is null, always.")

    def with_empty_sizes(s: Struct) -> None:
        tensor = s.pointers[4].elements[0]  # type: ignore[union-attr]
        tensor.pointers[1], tensor.pointers[2] = Plain(5, 0, []), Plain(5, 0, [])

    tree(suite, "rank-0-as-empty-lists", "ENC-9", with_empty_sizes, "Rank 0 is null, not a list of length 0.")

    def with_empty_structs(s: Struct) -> None:
        s.pointers[5] = Plain(7, 0, [0])

    tree(
        suite,
        "empty-struct-list-not-null",
        "ENC-9",
        with_empty_structs,
        "A list of no structs is null; its tag is not written.",
    )

    def with_empty_data(s: Struct) -> None:
        s.pointers[6].elements[0].pointers[1] = Plain(2, 0, [])  # type: ignore[union-attr]

    draft = Draft()
    draft.metadata = [Pair("k", b"")]
    tree(suite, "empty-data-not-null", "ENC-9", with_empty_data, "An empty value is null.", draft.finish())
    words(suite, "name-of-zero-bytes", "ENC-9", empty("methods.0.name"), "A Text of 0 bytes has not even a NUL.")
    words(
        suite,
        "empty-list-wild-offset",
        "ENC-4 ENC-9",
        put("methods.0.tensors", list_word(12345, 4, 0)),
        "Libraries do not look where an empty list points.",
    )
    words(
        suite,
        "layout-empty-segments",
        "ENC-9",
        lambda m: m.words.__setitem__(slice(None), [struct_word(0, 1, 1), m.words[1], list_word(0, 7, 0), 0]),
        "In the layout.",
        parents.empty(),
        layout=True,
    )


def bits(suite: Suite) -> None:
    def set_bits(path: str, at: int, mask: int) -> Change:
        return lambda m: m.words.__setitem__(m.target[path] + at, m.words[m.target[path] + at] | mask)

    words(
        suite,
        "text-padding-set",
        "ENC-10",
        set_bits("methods.0.name", 0, 1 << 63),
        "Bits behind a list's last element are zero.",
    )
    words(
        suite,
        "indices-padding-set",
        "ENC-10",
        set_bits("methods.0.tensors", 0, 1 << 32),
        "Half a word of hidden bytes.",
    )
    words(
        suite,
        "text-padding-first-bit",
        "ENC-10",
        set_bits("methods.0.name", 0, 1 << 32),
        "The first bit behind the NUL.",
    )

    draft = Draft()
    draft.metadata = [Pair("k", b"12345")]
    words(
        suite,
        "data-padding-set",
        "ENC-10",
        set_bits("metadata.0.value", 0, 1 << 40),
        "Behind a Data too.",
        draft.finish(),
    )


def texts(suite: Suite) -> None:
    def name(new: bytes) -> Change:
        def change(m: Message) -> None:
            m.words[m.target["methods.0.name"]] = words_of(new)[0]
            m.point("methods.0.name", count=len(new))

        return change

    words(suite, "text-without-nul", "ENC-11", name(b"runs"), "A Text ends in NUL, which its count includes.")
    words(suite, "text-nul-inside", "ENC-11", name(b"r\0n\0"), "C strings end at the first NUL, other strings do not.")
    words(suite, "text-two-nuls", "ENC-11", name(b"ru\0\0"), "A second NUL at the end.")
    words(suite, "text-nul-only", "ENC-11", name(b"\0"), "The empty text is null.")
    words(suite, "text-count-without-nul", "ENC-11", name(b"run"), "The count includes the NUL.")
    image = parents.lean()
    for path in (
        "tensors.0.name",
        "blobs.0.name",
        "libraries.0.name",
        "metadata.0.key",
        "libraries.1.variants.0.target",
    ):

        def nul(m: Message, path: str = path) -> None:
            at = m.target[path]
            m.words[at] &= ~0xFF00

        words(suite, f"text-nul-in-{path.replace('.', '-')}", "ENC-11", nul, "Every text is checked.", image)
    for path in ("blobs.0.mediaType", "tensors.0.scheme"):

        def first(m: Message, path: str = path) -> None:
            m.words[m.target[path]] &= ~0xFF

        words(
            suite,
            f"text-nul-first-in-{path.replace('.', '-').lower()}",
            "ENC-11",
            first,
            "Every text is checked.",
            image,
        )


def unknowns(suite: Suite) -> None:
    def struct_data(path: str, at: int, mask: int) -> Change:
        return lambda m: m.words.__setitem__(m.target[path] + at, m.words[m.target[path] + at] | mask)

    words(
        suite,
        "model-unused-bits",
        "ENC-12 EVO-7",
        lambda m: m.words.__setitem__(1, m.words[1] | 1 << 32),
        "Bits of the first word that no field covers.",
    )
    words(
        suite,
        "storage-unused-byte",
        "ENC-12",
        struct_data("storages.0", 1, 1 << 56),
        "Byte 15 of a Storage is no field.",
    )
    words(
        suite, "tensor-unused-byte", "ENC-12", struct_data("tensors.0", 0, 1 << 56), "Byte 7 of a Tensor is no field."
    )
    words(
        suite,
        "layout-unused-bits",
        "ENC-12",
        lambda m: m.words.__setitem__(1, m.words[1] | 1 << 63),
        "In the layout.",
        layout=True,
    )
    words(
        suite,
        "segment-unused-byte",
        "ENC-12",
        struct_data("segments.0", 0, 1 << 56),
        "Byte 7 of a Segment is no field.",
        layout=True,
    )
    lean = parents.lean()
    words(
        suite,
        "variant-unused-bytes",
        "ENC-12",
        struct_data("libraries.0.variants.0", 0, 1 << 40),
        "Bytes 5 to 7 of a Variant.",
        lean,
    )
    words(suite, "pair-unused-bytes", "ENC-12", struct_data("metadata.0", 0, 1 << 8), "Bytes 1 to 7 of a Pair.", lean)
    words(suite, "blob-unused-bytes", "ENC-12", struct_data("blobs.0", 1, 1 << 32), "Bytes 12 to 15 of a Blob.", lean)
    words(
        suite,
        "tensor-owner-upper-half",
        "ENC-12",
        struct_data("tensors.2", 2, 1 << 32),
        "Bytes 20 to 23 of a Tensor.",
        lean,
    )

    def eighth(s: Struct) -> None:
        s.pointers = (s.pointers + [None] * 8)[:7] + [text(b"later")]

    tree(suite, "model-unknown-pointer", "ENC-12 EVO-7", eighth, "A field of a later minor in a file of minor 0.")

    def third_word(s: Struct) -> None:
        s.data = s.data + [5]

    tree(suite, "model-unknown-data-word", "ENC-12", third_word, "A third data word of the model.")

    def fourth(s: Struct) -> None:
        tensor = s.pointers[4].elements[0]  # type: ignore[union-attr]
        tensor.pointers += [text(b"x")]

    tree(suite, "tensor-unknown-pointer", "ENC-12", fourth, "A seventh pointer of a Tensor.")
    image = parents.worked()

    def second(s: Struct) -> None:
        s.pointers += [text(b"x")]

    image.layout_tree = second
    suite.reject("enc-layout-unknown-pointer", "encoding", "ENC-12", image, "A second pointer of the layout.")

    def content_pointer(s: Struct) -> None:
        s.pointers[0].elements[0].pointers += [text(b"x")]  # type: ignore[union-attr]

    tree(suite, "content-unknown-pointer", "ENC-12", content_pointer, "A Content has no pointers.")


def nested(depth: int) -> Structs:
    """Lists of structs inside each other, `depth` of them."""
    return Structs([Struct([1], [nested(depth - 1) if depth > 1 else None])])


def depth(suite: Suite) -> None:
    for levels in (5, 6, 200):
        image = parents.worked()
        image.minor = image.model.minor = image.layout_minor = 3

        def change(s: Struct, levels: int = levels) -> None:
            s.pointers = (s.pointers + [None] * 8)[:7] + [nested(levels)]

        image.model_tree = change
        suite.reject(
            f"enc-nested-{levels}-deep",
            "encoding",
            "ENC-13",
            image,
            "Lists of structs nest at most 4 deep, also those that the reader does not know.",
            flags="later-minor",
        )


def add(suite: Suite) -> None:
    for part in (roots, pointers, untrimmed, tags, codes, empties, bits, texts, unknowns, depth):
        part(suite)
