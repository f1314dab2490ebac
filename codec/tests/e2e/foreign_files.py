# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A real file of every kind that `ptd detect` names: by the library that owns the format where Python has it, else put
together as the format's description says."""

import gzip
import io
import json
import pathlib
import pickle
import shutil
import struct
import sys
import tarfile
import zipfile
import zlib

import numpy
import xxhash
import zstandard
from ptd_by_hand import zeros_file
from real_files import save_file

ARRAY = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)
DIGEST = "0123456789abcdef" * 4


def flatbuffer(identifier: bytes, header: bytes = b"") -> bytes:
    """Root offset, identifier, perhaps a header, then a field table and a root table with one 32-bit field."""
    root = 8 + len(header) + 8
    return struct.pack("<I", root) + identifier + header + struct.pack("<HHHHiI", 6, 8, 4, 0, 8, 0)


def flat_tensor(segment: bytes = b"\1" * 64) -> bytes:
    header = struct.pack("<4sIQQQQ", b"FH01", 40, 64, 0, 128, len(segment))
    return flatbuffer(b"FT01", header).ljust(128, b"\0") + segment


def program() -> bytes:
    return flatbuffer(b"ET12", struct.pack("<4sIQQ", b"eh00", 24, 60, 0))


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode()


def cuda_entry() -> bytes:
    return text("layer.weight") + text("cuda_fqn_weight:cuda:layer.weight") + struct.pack("<QiiqIqqqq", 96, 6, 1, 0, 2, 4, 6, 6, 1)


def cuda_manifest(digit: str = "0") -> bytes:
    key = text(DIGEST + "_so_blob")
    variants = {"0": struct.pack("<IIII", 1, 0, 0, 0), "4": struct.pack("<III", 1, 90, 0), "5": struct.pack("<IIII", 1, 90, 0, 0)}.get(digit, b"")
    return b"ETCUDAFQN" + digit.encode() + variants + key + struct.pack("<I", 1) + cuda_entry()


def gguf(order: str = "<") -> bytes:
    name = b"blk.0.attn_q.weight"
    header = b"GGUF" + struct.pack(f"{order}IQQ", 3, 1, 1)
    key = b"general.architecture"
    pair = struct.pack(f"{order}Q", len(key)) + key + struct.pack(f"{order}IQ", 8, 5) + b"llama"
    tensor = struct.pack(f"{order}Q", len(name)) + name + struct.pack(f"{order}IQQIQ", 2, 6, 4, 0, 0)
    front = header + pair + tensor
    return front.ljust(-(-len(front) // 32) * 32, b"\0") + ARRAY.tobytes()


def torch_checkpoint() -> bytes:
    """As torch.save lays one out: a stored zip with data.pkl first."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"w": [1.0]}, protocol=2))
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/data/0", ARRAY.tobytes())
        archive.writestr("archive/version", "3\n")
    return out.getvalue()


def old_checkpoint() -> bytes:
    """Before zip: a pickled magic number, a protocol version, the system, then the state, one pickle after the other."""
    parts = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, {"w": [1.0]})
    return b"".join(pickle.dumps(part, protocol=2) for part in parts)


def tar(names=("sys_info", "pickle", "storages", "tensors")) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = 16
            archive.addfile(entry, io.BytesIO(bytes(16)))
    return out.getvalue()


def npz() -> bytes:
    out = io.BytesIO()
    numpy.savez(out, weight=ARRAY)
    return out.getvalue()


def npy(version: tuple[int, int]) -> bytes:
    out = io.BytesIO()
    numpy.lib.format.write_array(out, ARRAY, version=version)
    return out.getvalue()


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = chunk(b"IDAT", zlib.compress(b"\0\0\0\0"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + pixels + chunk(b"IEND", b"")


def hdf5() -> bytes:
    """A superblock of version 0, whose root group's header follows."""
    front = b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0]) + struct.pack("<HHI", 4, 16, 0)
    return front + struct.pack("<QQQQ", 0, 2**64 - 1, 800, 2**64 - 1) + struct.pack("<QQII", 0, 96, 1, 0) + bytes(720)


def lz4(data: bytes) -> bytes:
    """One frame with one block that is stored as it is."""
    descriptor = bytes([0x60, 0x40])
    check = xxhash.xxh32_intdigest(descriptor) >> 8 & 0xFF
    return b"\x04\x22\x4D\x18" + descriptor + bytes([check]) + struct.pack("<I", 1 << 31 | len(data)) + data + bytes(4)


def safetensors(folder: pathlib.Path) -> bytes:
    path = folder / "made.safetensors"
    save_file({"weight": ARRAY}, path)
    data = path.read_bytes()
    path.unlink()
    return data


def index() -> bytes:
    shards = {"weight": "model-00001-of-00002.safetensors", "bias": "model-00002-of-00002.safetensors"}
    return json.dumps({"metadata": {"total_size": 96}, "weight_map": shards}, indent=2).encode()


def later_major() -> bytes:
    data = bytearray(zeros_file(96))
    data[8:10] = (2).to_bytes(2, "little")
    data[72:80] = xxhash.xxh3_64_intdigest(bytes(data[:72])).to_bytes(8, "little")
    return bytes(data)


def swapped(ptd: bytes) -> bytes:
    """The magic as it is and every number of the header turned round."""
    out = bytearray(ptd)
    for offset, width in ((8, 2), (10, 2), (12, 4), *((at, 8) for at in range(16, 80, 8))):
        out[offset : offset + width] = out[offset : offset + width][::-1]
    return bytes(out)


LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{DIGEST}\nsize 4921\n".encode()
HTML = b"<!DOCTYPE html>\n<html lang=\"en\"><head><title>404</title></head><body>Not found</body></html>\n"


def all_kinds(folder: pathlib.Path) -> dict[str, list[bytes]]:
    """Kind -> files of it. Every kind of the table must be here."""
    ptd = zeros_file(96)
    tensors = safetensors(folder)
    return {
        "ptd": [ptd, later_major(), ptd + bytes(100)],
        "ptd-text-damaged": [
            ptd.replace(b"\r\n", b"\n"), ptd.replace(b"\n", b"\r\n"), ptd.replace(b"\r", b""), bytes(b & 0x7F for b in ptd),
            ptd.decode("latin-1").encode("utf-8"), ptd.decode("utf-8", errors="replace").encode("utf-8"),
            ptd.decode("ascii", errors="ignore").encode(), ptd[: ptd.index(b"\x1a")],
        ],
        "ptd-byte-swapped": [swapped(ptd)],
        "ptd-truncated-header": [ptd[:cut] for cut in (4, 5, 7, 8, 40, 79)],
        "empty": [b""],
        "flat-tensor": [flat_tensor(), flatbuffer(b"FT01")],
        "executorch-program": [program(), flatbuffer(b"ET13")],
        "flatbuffers": [flatbuffer(b"TFL3")],
        "et-cuda-manifest": [cuda_manifest(digit) for digit in "012345"],
        "et-newline-keys": [f"{DIGEST}_so_blob\n{DIGEST}_weights_blob".encode()],
        "safetensors": [tensors, tensors[:20], tensors[:-1]],
        "safetensors-index": [index()],
        "gguf": [gguf()],
        "gguf-big-endian": [gguf(">")],
        "zip": [torch_checkpoint(), npz()],
        "pickle": [pickle.dumps({"weight": ARRAY}, protocol) for protocol in (2, 3, 4, 5)] + [old_checkpoint()],
        "torch-tar": [tar()],
        "npy": [npy((1, 0)), npy((2, 0)), npy((3, 0))],
        "zstd": [zstandard.compress(ARRAY.tobytes()), zstandard.compress(b""), zstandard.compress(bytes(100_000), 19)],
        "zstd-skippable": [b"\x50\x2A\x4D\x18" + struct.pack("<I", 4) + b"note" + zstandard.compress(b"data")],
        "gzip": [gzip.compress(ARRAY.tobytes()), gzip.compress(ARRAY.tobytes(), 1)],
        "lz4": [lz4(ARRAY.tobytes())],
        "hdf5": [hdf5()],
        "png": [png()],
        "elf": [pathlib.Path(shutil.which(sys.executable) or sys.executable).resolve().read_bytes()[:100_000]],
        "git-lfs-pointer": [LFS],
        "html": [HTML, b"\xef\xbb\xbf<html>\n"],
        "json": [b'{"error": "Repository not found"}', b"[1, 2]\n"],
        "text": [b"Access to this model is restricted.\n", "na\u00efve text".encode()],
        "unknown": [numpy.random.default_rng(3).standard_normal(1000).astype(numpy.float32).tobytes(), bytes(4096)],
    }
