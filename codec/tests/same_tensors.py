# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Says whether two safetensors files hold the same tensors, byte for byte; where they differ, which.

Reads the format by itself, so that it works for every dtype and does not trust the code under test.
"""

import json
import mmap
import sys


class Tensors:
    def __init__(self, path: str):
        with open(path, "rb") as file:
            self.bytes = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self.data = 8 + int.from_bytes(self.bytes[:8], "little")
        self.entries = json.loads(bytes(self.bytes[8 : self.data]))
        self.entries.pop("__metadata__", None)

    def content(self, name: str) -> tuple[str, list[int], memoryview]:
        entry = self.entries[name]
        begin, end = entry["data_offsets"]
        return entry["dtype"], entry["shape"], self.bytes[self.data + begin : self.data + end]


def differences(left: Tensors, right: Tensors) -> list[str]:
    names = left.entries.keys() | right.entries.keys()
    both = left.entries.keys() & right.entries.keys()
    return sorted(name for name in names if name not in both or left.content(name) != right.content(name))


def main(left_path: str, right_path: str) -> int:
    left, right = Tensors(left_path), Tensors(right_path)
    different = differences(left, right)
    for name in different:
        print(f"differs: {name}")
    if not different:
        print(f"{len(left.entries)} tensors, identical byte for byte")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
