# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Files of other formats, and PTD files that a transfer has spoilt."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path

from .. import parents
from ..frames import block, frame_header
from ..image import render
from ..suite import Suite

GOLDEN = Path(__file__).resolve().parents[3] / "codec" / "tests" / "golden"


def read(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def executorch(suite: Suite) -> None:
    real = "Written by ExecuTorch's own code; its extension is .ptd too."
    for name in (
        "flat_tensor/empty",
        "flat_tensor/only_empty",
        "export/clash",
        "export/channels_last",
        "export/training",
        "flat_tensor/dtypes",
    ):
        suite.foreign(
            "flat-tensor-" + name.split("/")[1].replace("_", "-"), "flat-tensor", read(f"executorch/{name}.ptd"), real
        )
    empty = read("executorch/flat_tensor/empty.ptd")
    suite.foreign(
        "flat-tensor-cut-at-80", "flat-tensor", empty[:80], "A FlatTensor file cut to the length of PTD's header."
    )
    suite.foreign("flat-tensor-ft02", "flat-tensor", empty[:4] + b"FT02" + empty[8:], "A later identifier.")
    suite.foreign(
        "executorch-program",
        "executorch-program",
        read("executorch/export/clash.pte"),
        "A program written by ExecuTorch.",
        ".pte",
    )
    for digit in range(10):
        suite.foreign(
            f"cuda-manifest-{digit}",
            "et-cuda-manifest",
            manifest(digit),
            "ETCUDAFQN and a digit: each has been, or may be, a version of the CUDA backend's payload.",
            ".bin",
        )
    suite.foreign("cuda-manifest-without-digit", "et-cuda-manifest", b"ETCUDAFQN", "Cut behind the magic.", ".bin")
    digest = b"0123456789abcdef" * 4
    suite.foreign(
        "newline-keys",
        "et-newline-keys",
        digest + b"_so_blob\n" + digest + b"_weights_blob",
        "The text payload of an older CUDA backend: a library's key and a blob's.",
        ".txt",
    )


def text(value: bytes) -> bytes:
    return struct.pack("<I", len(value)) + value


def manifest(digit: int) -> bytes:
    """One library and one entry, in the form of each version as far as it is known."""
    key = b"0123456789abcdef" * 4 + b"_so_blob"
    entry = text(b"w") + text(b"cuda_fqn_weight:cuda:w") + struct.pack("<QiiqIqq", 16, 6, 1, 0, 1, 4, 1)
    variants = {
        0: struct.pack("<IIII", 1, 0, 0, 0) + text(key),
        4: struct.pack("<III", 1, 0, 0) + text(key),
        5: struct.pack("<IIII", 1, 0, 0, 0) + text(key),
    }
    return b"ETCUDAFQN" + str(digit).encode() + variants.get(digit, text(key)) + struct.pack("<I", 1) + entry


def models(suite: Suite) -> None:
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    suite.foreign(
        "safetensors",
        "safetensors",
        struct.pack("<Q", len(header)) + header + b"\0\0\x80\x3f",
        "A length, then JSON.",
        ".safetensors",
    )
    suite.foreign(
        "safetensors-named-ptd", "safetensors", struct.pack("<Q", 2) + b"{}", "A name ends in .ptd, the bytes decide."
    )
    suite.foreign(
        "safetensors-cut",
        "safetensors",
        (struct.pack("<Q", 500) + header)[:40],
        "Cut inside its header.",
        ".safetensors",
    )
    suite.foreign(
        "safetensors-index",
        "safetensors-index",
        b'{"metadata":{"total_size":4},"weight_map":{"w":"model-00001-of-00001.safetensors"}}\n',
        "The index of shards.",
        ".json",
    )
    suite.foreign("gguf", "gguf", read("gguf/no_tensors.gguf"), "Written by the package gguf.", ".gguf")
    suite.foreign("gguf-shapes", "gguf", read("gguf/shapes.gguf"), "Written by the package gguf.", ".gguf")
    suite.foreign(
        "gguf-big-endian",
        "gguf-big-endian",
        b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
        "The magic is the same, the numbers are swapped.",
        ".gguf",
    )
    # Weights may have what a tar archive has at this place; so may names.
    name = b'{"' + b"w" * 247 + b'ustar\\u0000":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    suite.foreign(
        "safetensors-ustar",
        "safetensors",
        struct.pack("<Q", len(name)) + name + b"\0\0\x80\x3f",
        "A name has `ustar` at byte 257, as tar archives have.",
        ".safetensors",
    )
    gguf = bytearray(read("gguf/shapes.gguf"))
    gguf[257:263] = b"ustar\0"
    suite.foreign("gguf-ustar", "gguf", bytes(gguf), "`ustar` at byte 257: what begins as GGUF is no tar archive.", ".gguf")
    table = struct.pack("<I", 20) + b"TFL3" + bytes(4) + struct.pack("<HHHHiI", 6, 8, 4, 0, 8, 42)
    suite.foreign("flatbuffers", "flatbuffers", table, "A FlatBuffers file with another identifier.", ".tflite")


def member(name: str, data: bytes) -> bytes:
    """A zip file with one member and fixed dates."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.create_system = 3
        archive.writestr(info, data)
    return out.getvalue()


def containers(suite: Suite) -> None:
    suite.foreign("zip-pytorch", "zip", member("archive/data.pkl", b"\x80\x02}q\0."), "A PyTorch checkpoint.", ".pt")
    suite.foreign("zip-npz", "zip", member("w.npy", b"\x93NUMPY"), "NumPy arrays.", ".npz")
    suite.foreign("zip-empty", "zip", b"PK\5\6" + bytes(18), "A zip file of no members.", ".zip")
    suite.foreign("pickle-protocol-2", "pickle", b"\x80\2}q\0.", "A pickle can run code when it is loaded.", ".pkl")
    suite.foreign(
        "pickle-protocol-4",
        "pickle",
        bytes.fromhex("8004950b000000000000007d948c0161944b01732e"),
        "With a frame.",
        ".pkl",
    )
    tar = bytearray(1024)
    tar[:4], tar[257:262] = b"pickle"[:4], b"ustar"
    suite.foreign("torch-tar", "torch-tar", bytes(tar), "Very old PyTorch checkpoints are tar archives.", ".pt")
    shape = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n"
    suite.foreign(
        "npy",
        "npy",
        b"\x93NUMPY\1\0" + struct.pack("<H", len(shape)) + shape + b"\0\0\x80\x3f",
        "A NumPy array.",
        ".npy",
    )
    good = render(parents.worked()).data
    frame = frame_header(len(good)) + block(0, len(good), good, True)
    suite.foreign("ptd-in-zstd", "zstd", frame, "A PTD file inside a Zstandard frame.", ".ptd.zst")
    suite.foreign(
        "zstd-skippable",
        "zstd-skippable",
        bytes.fromhex("502a4d18") + struct.pack("<I", 4) + b"junk" + frame,
        "A skippable frame first.",
        ".zst",
    )
    packed = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + gzip_body(good)
    suite.foreign("ptd-in-gzip", "gzip", packed, "A PTD file inside gzip.", ".ptd.gz")
    suite.foreign("lz4", "lz4", bytes.fromhex("04224d18644070df00000000"), "An empty LZ4 frame.", ".lz4")
    suite.foreign(
        "hdf5", "hdf5", b"\x89HDF\r\n\x1a\n" + bytes(88), "The magic has the first byte and the tail of PTD's.", ".h5"
    )
    suite.foreign(
        "png",
        "png",
        b"\x89PNG\r\n\x1a\n" + bytes.fromhex("0000000d49484452") + bytes(17),
        "The magic has the first byte and the tail of PTD's.",
        ".png",
    )
    suite.foreign("elf", "elf", b"\x7fELF\2\1\1" + bytes(57), "Compiled code in the wrong place.", ".so")


def gzip_body(data: bytes) -> bytes:
    """One stored block, so that the bytes depend on no library's compressor."""
    return (
        b"\1"
        + struct.pack("<HH", len(data), len(data) ^ 0xFFFF)
        + data
        + struct.pack("<II", zlib.crc32(data), len(data))
    )


def texts(suite: Suite) -> None:
    suite.foreign(
        "git-lfs-pointer",
        "git-lfs-pointer",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1\n",
        "What a clone without LFS has in place of the file.",
    )
    suite.foreign(
        "html",
        "html",
        b"<!DOCTYPE html><html><body>404 Not Found</body></html>\n",
        "A server's error page saved in place of the file.",
    )
    suite.foreign(
        "json", "json", b'{"error": "Repository not found"}\n', "A server's error message saved in place of the file."
    )
    suite.foreign(
        "text",
        "text",
        b"Access denied. Sign in first.\n",
        "27 bytes or so of text: not 'a PTD file that is too short'.",
    )


def spoilt(suite: Suite) -> None:
    good = render(parents.lean()).data
    latin = good.decode("latin-1")
    cases = {
        "crlf-to-lf": (good.replace(b"\r\n", b"\n"), "Each CR LF became LF."),
        "lf-to-crlf": (good.replace(b"\n", b"\r\n"), "Each LF became CR LF."),
        "lf-to-crlf-where-bare": (
            good.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
            "Each LF without a CR got one.",
        ),
        "cr-to-lf": (good.replace(b"\r", b"\n"), "Each CR became LF."),
        "lf-to-cr": (good.replace(b"\n", b"\r"), "Each LF became CR."),
        "seven-bits": (bytes(b & 0x7F for b in good), "The high bit of each byte was cut off."),
        "latin-1-to-utf-8": (latin.encode(), "Bytes were taken for Latin-1 and written as UTF-8."),
        "cp1252-to-utf-8": (b"\xe2\x80\xb0" + good[1:], "The first byte was taken for a per mille sign."),
        "replacement-characters": (good.decode("utf-8", "replace").encode(), "What is not UTF-8 became U+FFFD."),
        "question-marks": (bytes(b if b < 128 else 63 for b in good), "What is not ASCII became a question mark."),
        "ascii-only": (bytes(b for b in good if b < 128), "What is not ASCII was dropped."),
    }
    for name, (data, note) in cases.items():
        suite.foreign(f"ptd-{name}", "ptd-text-damaged", data, note + " The magic shows it at once.")
    for width in (2, 4, 8):
        data = b"".join(good[k : k + width][::-1] for k in range(0, len(good) - len(good) % width, width))
        suite.foreign(
            f"ptd-swapped-by-{width}", "ptd-byte-swapped", data, f"Each {width} bytes are in the other order."
        )


def weights(suite: Suite) -> None:
    """Raw weights, which may begin with anything."""
    suite.foreign(
        "raw-float32",
        "unknown",
        struct.pack("<40f", *[0.5 - k * 0.03125 for k in range(40)]),
        "Weights without any header.",
        ".bin",
    )
    for count in range(1, 8):
        begin = render(parents.worked()).data[:count]
        data = begin + bytes([0xE1, 0x80]) * 60
        suite.foreign(
            f"raw-with-{count}-bytes-of-magic",
            "unknown",
            data,
            f"The first {count} of the magic's 8 bytes, by chance.",
            ".bin",
        )
    suite.foreign("raw-zeros", "unknown", bytes(128), "A file that was made but not written.")
    suite.foreign("ptd-from-byte-1", "unknown", b"\0" + render(parents.worked()).data, "The magic is not at byte 0.")


def add(suite: Suite) -> None:
    for part in (executorch, models, containers, texts, spoilt, weights):
        part(suite)
