# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Sets PTD beside its peers in one run, as ratios: opening against safetensors' own reader, conversion against cp.

    ./dev bench compare [--tensors N] [--gib N] [--json FILE]

Times are the best of several, interleaved, since machines are shared and noisy.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
BIN = HERE.parent / "build" / "release" / "bin"


def benchmark(pattern: str, **environment: str) -> list[dict]:
    """Runs our Google Benchmarks whose names match."""
    command = [BIN / "ptd_bench", f"--benchmark_filter={pattern}", "--benchmark_format=json"]
    done = subprocess.run(command, env=os.environ | environment, check=True, capture_output=True)
    return json.loads(done.stdout)["benchmarks"]


def best(action, times: int) -> float:
    return min(timed(action) for _ in range(times))


def timed(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


# --- opening -------------------------------------------------------------------------------------------


def many_tensors(path: pathlib.Path, count: int) -> None:
    data = numpy.arange(4 * count, dtype=numpy.float32).reshape(count, 2, 2)
    save_file({f"model.layers.{i // 100}.mlp.experts.{i % 100}.weight": data[i] for i in range(count)}, path)


def open_with_package(path: pathlib.Path) -> int:
    with safe_open(path, framework="numpy") as file:
        return len(file.keys())


def compare_opening(folder: pathlib.Path, count: int) -> dict:
    source, packed = folder / "many.safetensors", folder / "many.ptd"
    many_tensors(source, count)
    subprocess.run([BIN / "ptd", "convert", source, "-o", packed], check=True, stdout=subprocess.DEVNULL)
    assert open_with_package(source) == count
    ours, theirs = [], []
    for _ in range(3):
        theirs.append(best(lambda: open_with_package(source), 5))
        (row,) = benchmark("open_file_of_environment", PTD_BENCH_FILE=str(packed))
        assert row["tensors"] == count
        ours.append(row["real_time"] / 1000)
    return {"tensors": count, "ptd_seconds": min(ours), "safetensors_seconds": min(theirs), "ratio": min(ours) / min(theirs)}


# --- conversion ----------------------------------------------------------------------------------------


def large_model(path: pathlib.Path, gib: float) -> None:
    """bf16-like bytes in tensors of 64 MiB, all different, without holding them all."""
    size = 64 << 20
    count = max(1, int(gib * 1024 / 64))
    header = {f"layers.{i}.weight": {"dtype": "BF16", "shape": [size // 2], "data_offsets": [i * size, (i + 1) * size]} for i in range(count)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = numpy.random.default_rng(3)
    block = (random.standard_normal(size // 2, dtype=numpy.float32) * 0.02).view(numpy.uint32) >> 16
    block = block.astype(numpy.uint16)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for i in range(count):
            block[: size // 4096] += numpy.uint16(i + 1)  # every tensor its own content
            block.tofile(file)


class PeakMemory(threading.Thread):
    """The largest anonymous memory of a process, looked at every few milliseconds, and the kernel's own peak of all."""

    def __init__(self, process: subprocess.Popen):
        super().__init__(daemon=True)
        self.process, self.anonymous = process, 0

    def run(self) -> None:
        while self.process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
            except OSError:
                return
            for line in status.splitlines():
                if line.startswith("RssAnon:"):
                    self.anonymous = max(self.anonymous, int(line.split()[1]) * 1024)
            time.sleep(0.005)


def run_convert(source: pathlib.Path, target: pathlib.Path, *options: str) -> tuple[float, int]:
    start = time.perf_counter()
    process = subprocess.Popen([BIN / "ptd", "convert", source, "-o", target, *options], stdout=subprocess.DEVNULL)
    memory = PeakMemory(process)
    memory.start()
    assert process.wait() == 0
    seconds = time.perf_counter() - start
    memory.join()
    return seconds, memory.anonymous


def run_copy(source: pathlib.Path, target: pathlib.Path) -> float:
    return timed(lambda: subprocess.run(["sh", "-c", 'cp --reflink=never "$0" "$1" && sync "$1"', source, target], check=True))


def compare_conversion(folder: pathlib.Path, gib: float) -> dict:
    source, target = folder / "large.safetensors", folder / "large.out"
    large_model(source, gib)
    size = source.stat().st_size
    ours, packed, copies, peaks = [], [], [], []
    for _ in range(3):
        for path in (target, target.with_suffix(".ptd")):
            path.unlink(missing_ok=True)
        copies.append(run_copy(source, target))
        target.unlink()
        seconds, peak = run_convert(source, target.with_suffix(".ptd"))
        ours.append(seconds)
        peaks.append(peak)
    seconds, peak = run_convert(source, target.with_suffix(".ptd"), "--compress")
    ratio = target.with_suffix(".ptd").stat().st_size / size
    packed.append(seconds)
    peaks.append(peak)
    (hashing,) = benchmark("hash_on_all_cores")
    rate = size / min(ours)
    return {
        "bytes": size,
        "convert_bytes_per_second": rate,
        "copy_bytes_per_second": size / min(copies),
        "hash_bytes_per_second": hashing["bytes_per_second"],
        "convert_over_copy": rate / (size / min(copies)),
        "convert_over_hash": rate / hashing["bytes_per_second"],
        "compress_bytes_per_second": size / min(packed),
        "compressed_size_ratio": ratio,
        "peak_anonymous_bytes": max(peaks),
    }


def show(name: str, results: dict) -> None:
    print(name)
    for key, value in results.items():
        print(f"  {key:28} {value:,.4g}" if isinstance(value, float) else f"  {key:28} {value:,}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench compare", description=__doc__.split("\n")[0])
    parser.add_argument("--tensors", type=int, default=100_000, help="tensors of the model that is opened")
    parser.add_argument("--gib", type=float, default=8, help="size of the model that is converted")
    parser.add_argument("--json", type=pathlib.Path, help="also write the numbers to this file")
    parser.add_argument("--folder", type=pathlib.Path, help="where to put files (default: the system's temporary folder)")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(dir=arguments.folder))
    try:
        results = {"opening": compare_opening(folder, arguments.tensors), "conversion": compare_conversion(folder, arguments.gib)}
    finally:
        shutil.rmtree(folder)
    for name, values in results.items():
        show(name, values)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
