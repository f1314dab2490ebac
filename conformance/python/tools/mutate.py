# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Makes faulty files out of good ones, most with their hashes repaired so that they get past them.

    python3 tools/mutate.py SEED_FILE OUT_FOLDER COUNT [RANDOM_SEED]

Each kind of mutation aims behind one door: bytes (hashes refuse them), the header, the words of
the messages, their values, chunk tables, frames, padding, later minors.
"""

from __future__ import annotations

import copy
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ptd_reader.checks import Refused  # noqa: E402
from ptd_reader.digest import ContentDigest  # noqa: E402
from ptd_reader.frames import decode_frame, frame_header, read_blocks  # noqa: E402
from ptd_reader.header import HEADER_SIZE  # noqa: E402
from ptd_reader.layout import ENCODINGS  # noqa: E402
from ptd_reader.message import to_words  # noqa: E402
from ptd_reader.planes import merge_planes  # noqa: E402
from ptd_reader.schema import LAYOUT, MODEL, Pointer, Struct  # noqa: E402
from ptd_reader.xxh3 import xxh3_64  # noqa: E402
from tools.parts import Parts, seal, split  # noqa: E402

NUMBERS = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 16, 17, 24, 25, 38, 39, 63, 64, 65, 79, 80, 88, 255, 256,
    2**16 - 1, 2**16, 2**20, 2**24, 2**29, 2**30, 2**30 + 8, 2**31, 2**32 - 1, 2**32, 2**60 - 1,
    2**60, 2**60 + 1, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1,
]
TEXTS = [
    b"", b"a", b"w", b"z" * 1024, b"z" * 1025, b"\xff", b"\xc0\x80", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xe2\x82", b"a\0b", b"\0", "\u00e4".encode(),
    b"input", b"_tensor_constant0",
]


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    if kind == 1:
        return data + bytes(rng.randrange(1, 9))
    out = bytearray(data)
    at = rng.randrange(len(out) if kind == 2 else min(len(out), 80))
    out[at] ^= 1 << rng.randrange(8)
    return bytes(out)


def mutate_header(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    at, size = rng.choice(
        [(8, 2), (10, 2), (12, 4), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8), (56, 8), (64, 8)]
    )
    old = int.from_bytes(out[at : at + size], "little")
    new = rng.choice([
        rng.choice(NUMBERS), old + rng.choice([-16, -8, -1, 1, 8, 16]), old ^ 1 << rng.randrange(64)
    ])
    out[at : at + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
    if rng.randrange(12) == 0:
        out[12:16] = b"\0\0\0\x50"
    if rng.randrange(10):
        out[72:80] = xxh3_64(bytes(out[:72])).to_bytes(8, "little")
    return bytes(out)


def mutate_words(data: bytes, rng: random.Random, minor: bool = False) -> bytes:
    """Words of one message. With `minor` the file says that it is of minor 7."""
    header, front, layout, model = split(data)
    messages = [bytearray(layout), bytearray(model)]
    fields = {}
    if minor:
        fields["minor"] = 7
        for message in messages:
            message[10:12] = b"\7\0"
    message = messages[rng.randrange(4) > 0]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        count = len(message) // 8
        at = 8 * rng.randrange(count)
        word = int.from_bytes(message[at : at + 8], "little")
        kind = rng.randrange(9)
        if kind <= 2:
            word ^= 1 << rng.randrange(64)
        elif kind == 3:
            word = rng.choice(NUMBERS)
        elif kind == 4:
            word = int.from_bytes(message[8 * rng.randrange(count) :][:8], "little")
        elif kind == 5:  # sizes of a struct pointer or tag, or code and count of a list pointer
            word = (word + (rng.choice([-1, 1]) << rng.choice([2, 32, 35, 48]))) % 2**64
        elif kind == 6:
            message[at:at] = rng.choice([bytes(8), b"\1" + bytes(7), message[at : at + 8]])
            continue
        elif kind == 7 and count > 1:
            del message[at : at + 8]
            continue
        else:
            word = word & ~0xFF | rng.randrange(256)
        message[at : at + 8] = word.to_bytes(8, "little")
    layout, model = map(bytes, messages)
    return seal(header, front, layout, model, **fields)


def insert_word(data: bytes, rng: random.Random) -> bytes:
    """A word more in a message, with the pointers over it repaired, where that is easy to do.

    Grows a struct or a list by what no minor defines: unknown data words, pointers and their
    targets; in files of minor 0 or 7.
    """
    header, front, layout, model = split(data)
    minor = rng.choice([0, 7, 7])
    out = []
    which = rng.randrange(2)
    for i, message in enumerate((layout, model)):
        message = message[:10] + minor.to_bytes(2, "little") + message[12:]
        if i == which:
            words = list(to_words(message))
            data_words, pointers = words[0] >> 32 & 0xFFFF, words[0] >> 48
            # The root grows: old pointers stay valid if the new words come before or between.
            tail = rng.choice([
                [rng.choice([0, 1, 5, 2**63])], [1 | 2 << 32 | 3 << 35, 0x636261],
                [1 | 5 << 32 | 1 << 35, 7], [1 | 7 << 32 | 1 << 35, 1 << 2 | 1 << 32, 9],
                [1 | 3 << 32 | 2 << 35, 0x20001], [1 | 3 << 32 | 2 << 35, 0x320001],
                [1 | 4 << 32 | 1 << 35, 1], [1 | 1 << 32 | 1 << 35, 1], [1 | 6 << 32 | 1 << 35, 0],
                [1 | 0 << 32 | 1 << 35],
                # nested lists of structs: 2 to 6 deep
                _nested(rng.randrange(2, 7)),
            ])
            full = 7 if which else 1
            while pointers < full:
                words.insert(1 + data_words + pointers, 0)
                words = _shift(words, data_words, pointers, 1)
                pointers += 1
            words.insert(1 + data_words + pointers, tail[0])
            words = _shift(words, data_words, pointers, 1)
            if tail[0] & 3 == 1 and len(tail) > 0:
                words[1 + data_words + pointers] |= len(words) - (2 + data_words + pointers) << 2
            pointers += 1
            words += tail[1:]
            words[0] = data_words << 32 | pointers << 48
            message = b"".join(word.to_bytes(8, "little") for word in words)
        out.append(message)
    return seal(header, front, out[0], out[1], minor=minor)


def _shift(words: list[int], data_words: int, pointers: int, by: int) -> list[int]:
    """The root's pointers, after `by` words were inserted behind all of them."""
    for i in range(1 + data_words, 1 + data_words + pointers):
        if words[i]:
            words[i] += by << 2
    return words


def _nested(depth: int) -> list[int]:
    """A list pointer to one struct with one pointer to a list of one struct ..., `depth` lists."""
    words = [0]
    for level in range(depth):
        last = level == depth - 1
        words[-1] = 1 | 7 << 32 | 1 << 35
        words.append(1 << 2 | (1 << 32 if last else 1 << 48))
        words.append(1 if last else 0)
    return words


def _all_structs(
    value: dict[str, Any], kind: str, found: dict[str, list[dict[str, Any]]]
) -> dict[str, list[dict[str, Any]]]:
    """All structs below one, by the list that they are in."""
    found.setdefault(kind, []).append(value)
    for name, field in value.items():
        if isinstance(field, list) and field and isinstance(field[0], dict):
            for each in field:
                _all_structs(each, name, found)
    return found


def mutate_value(data: bytes, rng: random.Random, times: tuple[int, ...] = (1, 1, 2, 3)) -> bytes:
    """One to three fields of either message, encoded well again."""
    parts = Parts.take(data)
    for _ in range(rng.choice(times)):
        root = parts.layout if rng.randrange(4) == 0 else parts.model
        structs = _all_structs(root, "root", {})
        value = rng.choice(structs[rng.choice(list(structs))])
        name = rng.choice(list(value))
        field = value[name]
        if isinstance(field, int):
            value[name] = rng.choice([rng.choice(NUMBERS), field + 1, max(field - 1, 0), 0,
                                      rng.randrange(5), field ^ 1 << rng.randrange(8)])
        elif isinstance(field, bytes):
            value[name] = rng.choice(TEXTS + [field + b"x", field[:-1]])
        elif field and isinstance(field[0], dict):
            kind = rng.randrange(4)
            i = rng.randrange(len(field))
            if kind == 0:
                field.insert(i, copy.deepcopy(field[i]))
            elif kind == 1:
                del field[i]
            elif kind == 2:
                field.reverse()
            else:
                j = rng.randrange(len(field))
                field[i], field[j] = field[j], field[i]
        else:
            kind = rng.randrange(5)
            integers = name in ("sizes", "strides", "logicalSizes")
            integers |= "variants" not in value and "contents" not in value
            integers &= name not in ("metadata", "segments", "contents")
            if not integers:
                continue
            if kind == 0 or not field:
                field.append(rng.choice(NUMBERS[:20]))
            elif kind == 1:
                del field[rng.randrange(len(field))]
            elif kind == 2:
                field[rng.randrange(len(field))] = rng.choice(NUMBERS)
            elif kind == 3:
                field.extend(field)
            else:
                field += [1] * 64
    try:
        return parts.put()
    except (ValueError, OverflowError):
        return mutate_value(data, rng, times)


def mutate_many_values(data: bytes, rng: random.Random) -> bytes:
    """Several faults at once: the first in the order of section 16 has to win."""
    return mutate_value(data, rng, (4, 6, 10))


def mutate_schema(data: bytes, rng: random.Random) -> bytes:
    """A file of a later minor (or one that says it is of minor 0): unknown fields in any struct."""
    parts = Parts.take(data)
    minor = rng.choice([0, 7, 7, 7, 65535])
    parts.header = replace(parts.header, minor=minor)
    parts.layout["minor"] = parts.model["minor"] = minor
    roots = [(LAYOUT, parts.layout), (MODEL, parts.model)]
    which = rng.randrange(4) > 0
    shape, value = roots[which]
    names = rng.sample([*_all_structs(value, "root", {})], 1)
    roots[which] = _extend(shape, value, "root", names, rng, 1)
    return parts.put(shapes=(roots[0][0], roots[1][0]))


def _extend(
    shape: Struct, value: dict[str, Any], kind: str, names: list[str], rng: random.Random,
    depth: int,
) -> tuple[Struct, dict[str, Any]]:
    """The shape with more fields where its list is named; `value` gets some of them."""
    numbers, pointers = dict(shape.numbers), dict(shape.pointers)
    for name, pointer in shape.pointers.items():
        if pointer.element is not None and value.get(name):
            element = pointer.element
            for each in value[name]:
                element = _extend(pointer.element, each, name, names, rng, depth + 1)[0]
            pointers[name] = Pointer(7, element=element)
    if kind in names:
        for i in range(2):
            numbers[f"later{i}"] = (8 * (shape.data_words + i), 8)
        for i, later in enumerate((
            Pointer(2), Pointer(3), Pointer(4), Pointer(5), Pointer(2, is_text=True),
            _nested_shape(5 - depth), _nested_shape(6 - depth),
        )):
            pointers[f"later-pointer{i}"] = later
        for _ in range(rng.randrange(1, 3)):
            name = rng.choice([*numbers, *pointers][-9:])
            if name in numbers:
                value[name] = rng.choice([0, 1, 2**64 - 1]) if name.startswith("later") else 1
            elif name.startswith("later"):
                value[name] = _some(pointers[name], rng)
    return Struct(shape.name, numbers, pointers), value


def _nested_shape(depth: int) -> Pointer:
    if depth <= 1:
        return Pointer(7, element=Struct("Last", {"x": (0, 8)}, {"y": Pointer(3)}))
    return Pointer(7, element=Struct("Nested", {"x": (0, 8)}, {"p": _nested_shape(depth - 1)}))


def _some(pointer: Pointer, rng: random.Random) -> Any:
    if pointer.element is None:
        if pointer.code == 2:
            return bytes(rng.randrange(4) for _ in range(rng.randrange(10)))
        return [rng.randrange(4) for _ in range(rng.randrange(5))]
    rows = []
    for _ in range(rng.randrange(1, 3)):
        row: dict[str, Any] = {"x": rng.randrange(3)}
        for name, each in pointer.element.pointers.items():
            if rng.randrange(5):
                row[name] = _some(each, rng)
        rows.append(row)
    return rows if any(any(row.values()) for row in rows) else []


def mutate_chunks(data: bytes, rng: random.Random) -> bytes:
    """Chunk tables, stored bytes and frames, with or without the hashes that cover them."""
    parts = Parts.take(data)
    if not parts.chunks:
        return mutate_bytes(data, rng)
    s = rng.randrange(len(parts.chunks))
    rows, segment = parts.chunks[s], parts.layout["segments"][s]
    row = rng.choice(rows)
    content = parts.model["contents"][segment["content"]]
    c = 1 << segment["chunkLog2"]
    j = rows.index(row)
    r = min(c, content["size"] - j * c)
    kind = rng.randrange(8)
    if kind == 0:
        row.raw_hash ^= 1 << rng.randrange(64)
    elif kind == 1:
        row.stored_size = rng.choice([0, 1, r, r + 1, row.stored_size + 1, 2**64 - 1])
    elif kind == 2:
        stored = bytearray(row.stored)
        for _ in range(rng.choice([1, 1, 2, 4])):
            stored[rng.randrange(min(len(stored), rng.choice([16, 32, 1 << 20])))] = rng.choice(
                [0, 1, 255, rng.randrange(256)])
        row.stored = bytes(stored)
    elif kind == 3:
        segment["tableHash"] ^= 1 << rng.randrange(64)
        return parts.put(fix_table_hash=False)
    elif kind == 4:
        row.stored_hash ^= 1 << rng.randrange(64)
        return parts.put(fix_stored_hash=False)
    elif kind == 5:
        content[f"digest{rng.randrange(4)}"] ^= 1 << rng.randrange(64)
    else:
        segment["encoding"] = rng.choice([2, 2, 2, 3, 4, 6, 8])
        for other in rows:
            other.stored_size = len(other.stored)
        row.stored = random_frame(rng, r, row.stored if len(row.stored) == r else None)
        row.stored_size = len(row.stored)
        segment["storedSize"] = sum(other.stored_size for other in rows)
    return parts.put()


def mutate_contents(data: bytes, rng: random.Random) -> bytes:
    """The bytes of a content, or what a frame stands for, with all hashes and digests repaired.

    What is left to refuse is what the bytes mean: zeros, padding bits; or nothing.
    """
    parts = Parts.take(data)
    if not parts.chunks:
        return mutate_header(data, rng)
    s = rng.randrange(len(parts.chunks))
    rows, segment = parts.chunks[s], parts.layout["segments"][s]
    content = parts.model["contents"][segment["content"]]
    kind = rng.randrange(6)
    if kind == 0:
        segment["encoding"] = 1
        for row in rows:
            row.stored = bytes(row.stored_size)
    elif segment["encoding"] == 1 and kind <= 3:
        row = rng.choice(rows)
        at = rng.choice([0, len(row.stored) - 1, rng.randrange(len(row.stored))])
        row.stored = row.stored[:at] + bytes([rng.randrange(256)]) + row.stored[at + 1 :]
    else:
        segment["encoding"] = rng.choice([2, 2, 3, 4, 5, 6, 7, 8])
        c = 1 << segment["chunkLog2"]
        for j, row in enumerate(rows):
            r = min(c, content["size"] - j * c)
            row.stored = random_frame(rng, r, None)
            row.stored_size = len(row.stored)
    segment["storedSize"] = sum(row.stored_size for row in rows)
    raw = []
    c = 1 << segment["chunkLog2"]
    for j, row in enumerate(rows):
        r = min(c, content["size"] - j * c)
        piece: bytes | None = row.stored
        if segment["encoding"] != 1 and row.stored_size != r:
            try:
                piece = decode_frame(row.stored, read_blocks(row.stored, r), r)
            except Refused:
                piece = None
            encoding = ENCODINGS[segment["encoding"]]
            if piece is not None and len(piece) == r and r % encoding.plane_width == 0:
                piece = merge_planes(piece, encoding)
        piece = piece or b""
        row.raw_hash = xxh3_64(piece)
        raw.append(piece)
    whole = ContentDigest(content["size"])
    for piece in raw:
        whole.update(piece)
    digest = whole.digest()
    for k in range(4):
        content[f"digest{k}"] = int.from_bytes(digest[8 * k : 8 * k + 8], "little")
    return sort_contents(parts).put()


def sort_contents(parts: Parts) -> Parts:
    """CON-2, after a digest has changed."""
    contents = parts.model["contents"]

    def digest(i: int) -> bytes:
        return b"".join(contents[i][f"digest{k}"].to_bytes(8, "little") for k in range(4))

    order = sorted(range(len(contents)), key=digest)
    place = {old: new for new, old in enumerate(order)}
    parts.model["contents"] = [contents[i] for i in order]
    for user in parts.model["storages"] + parts.model["blobs"]:
        if user["content"]:
            user["content"] = 1 + place[user["content"] - 1]
    for segment in parts.layout["segments"]:
        segment["content"] = place[segment["content"]]
    return parts


def random_frame(rng: random.Random, r: int, raw: bytes | None) -> bytes:
    """A frame that is nearly right: any kind of block, sizes around their limits."""
    header = frame_header(rng.choice([r, r, r, r, r, r, r + 1, max(r - 1, 1)]))
    blocks = []
    left = r
    while left > 0 and len(blocks) < 6:
        size = rng.choice([left, left, rng.randrange(1, left + 1), min(left, 131_072)])
        kind = rng.choice([1, 1, 1, 0, 2, 2, 2, 3] if rng.randrange(4) else [1])
        last = size == left if rng.randrange(12) else rng.randrange(2)
        if kind == 2:
            body = random_compressed(rng, min(size, 300))
            stored, size = len(body), min(size, 300)
        elif kind == 1:
            body, stored = b"\7", size
        else:
            size = min(size, 40)
            body, stored = bytes(rng.randrange(256) for _ in range(size)), size
        stored = stored if rng.randrange(12) else rng.choice([0, 1, r, r + 1, 131_072, 131_073])
        blocks.append((last | kind << 1 | (stored & 0x1FFFFF) << 3).to_bytes(3, "little") + body)
        left -= size
        if last and rng.randrange(12):
            break
    frame = header + b"".join(blocks)
    if rng.randrange(16) == 0:
        return frame + bytes(1)
    return frame[: rng.choice([None, None, None, -1])]


def random_compressed(rng: random.Random, size: int) -> bytes:
    """A compressed block: raw or RLE literals mostly, and a sequences section of any form."""
    kind = rng.choice([0, 0, 1, 1, 1, 2, 3])
    form = rng.choice([0, 1, 2, 3])
    size = rng.choice([size, size, 0, 1, 31, 32, 131_072, 131_073])
    if kind < 2:
        head, shift = {0: (1, 3), 1: (2, 4), 2: (1, 3), 3: (3, 4)}[form]
        value = kind | form << 2 | size << shift
        value &= (1 << 8 * head) - 1
        real = value >> shift
        body = b"\5" if kind == 1 else bytes([5]) * min(real, 200)
    else:
        head, bits = {0: (3, 10), 1: (3, 10), 2: (4, 14), 3: (5, 18)}[form]
        stored = rng.choice([0, 1, 2, 5, 20])
        value = kind | form << 2 | (size & (1 << bits) - 1) << 4 | stored << 4 + bits
        body = bytes(rng.randrange(256) for _ in range(stored))
    sequences = rng.choice([
        b"\0", b"\0", b"\0", b"\0", b"", b"\0\0", b"\x80\0", b"\x80\1\0\0", b"\1", b"\1\0\x80",
        b"\1\1\0", b"\1\2\0", b"\1\x54\1\1\1\x80", b"\xff\0",
        b"\xff\0\0", b"\xff\0\0\0\0", b"\x80", b"\xff",
        b"\x81\0", b"\1\0\0\0\0\0", b"\xff\0\0\1",
    ])
    return value.to_bytes(head, "little") + body + sequences


def mutate_padding(data: bytes, rng: random.Random) -> bytes:
    """A byte between header and chunk tables that no chunk covers, if it hits one."""
    header = split(data)[0]
    if header.layout_offset == HEADER_SIZE:
        return mutate_bytes(data, rng)
    out = bytearray(data)
    zeros = [i for i in range(HEADER_SIZE, header.layout_offset) if out[i] == 0]
    if zeros:
        out[rng.choice(zeros)] = rng.choice([1, 255])
    return bytes(out)


KINDS = [
    mutate_bytes, mutate_header, mutate_words, mutate_words,
    lambda data, rng: mutate_words(data, rng, minor=True), insert_word,
    mutate_value, mutate_value, mutate_value, mutate_value, mutate_chunks, mutate_chunks,
    mutate_contents, mutate_contents, mutate_padding, mutate_schema, mutate_many_values,
]


def mutate(data: bytes, rng: random.Random) -> bytes:
    return rng.choice(KINDS)(data, rng)


def main(arguments: list[str]) -> int:
    seed, folder, count = Path(arguments[0]), Path(arguments[1]), int(arguments[2])
    rng = random.Random(int(arguments[3]) if len(arguments) > 3 else 0)
    folder.mkdir(parents=True, exist_ok=True)
    data = seed.read_bytes()
    for i in range(count):
        (folder / f"{seed.stem}-{i:05}.ptd").write_bytes(mutate(data, rng))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
