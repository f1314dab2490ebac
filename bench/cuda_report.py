# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Merges the results of the GPU benchmarks and of the other loaders into a Markdown table.

    python3 cuda_report.py [--bench FILE.json...] [--peers FILE.json] [--summary]

Files that are missing or cut off are named and left out.
"""

import argparse
import json
import pathlib
import re
import sys

# What the summary and the picture show: by group, a bar's text and the benchmark that it stands for.
GROUPS = [
    ("16 GiB in 64 tensors", [
        ("PTD", "load/large/raw/check:chunks/again"),
        ("PTD, the file opened anew", "load/large/raw/check:chunks/reopened"),
        ("PTD, first load: pins its buffers", "load/large/raw/check:chunks/first"),
        ("PTD, SHA-256 of all content as well", "load/large/raw/check:content/again"),
        ("PTD by the host's cores", "load/large/raw/check:chunks/again/engine:host"),
        ("PTD", "load/large/raw/check:none/again"),
        ("ExecuTorch's way", "executorch/large/raw"),
    ]),
    ("the same 16 GiB, compressed to two thirds", [
        ("PTD", "load/large/compressed/check:chunks/again"),
        ("PTD, SHA-256 of all content as well", "load/large/compressed/check:content/again"),
        ("PTD, first load: pins its buffers", "load/large/compressed/check:chunks/first"),
        ("PTD by the host's cores", "load/large/compressed/check:chunks/again/engine:host"),
    ]),
    ("a mixture of experts: 17,830 tensors", [
        ("PTD", "load/moe/raw/check:chunks/again"),
        ("PTD, compressed", "load/moe/compressed/check:chunks/again"),
        ("ExecuTorch's way", "executorch/moe/raw"),
    ]),
    ("100,000 tensors of 8 to 64 KiB", [
        ("PTD", "load/small/raw/check:chunks/again"),
        ("PTD, compressed", "load/small/compressed/check:chunks/again"),
        ("ExecuTorch's way", "executorch/small/raw"),
    ]),
]
PEERS = {
    "safetensors": "safetensors",
    "torch-mmap": "torch.load(mmap=True).to()",
    "fastsafetensors": "fastsafetensors",
    "fastsafetensors-direct": "fastsafetensors, O_DIRECT",
    "fastsafetensors-gds": "fastsafetensors, its default",
    "instanttensor": "InstantTensor, buffered",
    "instanttensor-mmap": "InstantTensor, mapped",
    "instanttensor-direct": "InstantTensor, its default",
}
# These read past the page cache, and so measure the disk.
FROM_DISK = {"fastsafetensors-direct", "fastsafetensors-gds", "instanttensor-direct"}
COLUMNS = [
    ("median_GBs", "GB/s", "{:.2f}"),
    ("of_link", "of the link", "{:.0%}"),
    ("median_ms", "ms", "{:.1f}"),
    ("best_ms", "best", "{:.1f}"),
    ("worst_ms", "worst", "{:.1f}"),
    ("run1_ms", "run 1", "{:.1f}"),
    ("pinned_MiB", "pinned MiB", "{:.0f}"),
    ("device_MiB", "device MiB", "{:.0f}"),
    ("peak_rss_MiB", "peak RSS MiB", "{:.0f}"),
    ("anon_rss_MiB", "anonymous MiB", "{:.0f}"),
    ("copies", "copies", "{:.0f}"),
]
FAILURES = 20  # that the summary shows
# Columns of the table above; what else a benchmark counted goes behind its name.
SHOWN = {key for key, _, _ in COLUMNS}
OF_THE_FRAMEWORK = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
                    "real_time", "cpu_time", "bytes_per_second"}


# --- reading ------------------------------------------------------------------------------------------------


def read_json(path):
    """What is in the file, or nothing and a word about it."""
    try:
        text = path.read_text()
        return whole(text, path)
    except (OSError, ValueError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return None


def whole(text, path):
    """Also what was written before a benchmark was stopped: then the end of its list is missing."""
    try:
        return json.loads(text)
    except ValueError:
        found = json.loads(text[: text.rindex("}") + 1] + "]}")
        print(f"{path} is cut off", file=sys.stderr)
        return found


def plain_name(name):
    """Google Benchmark adds how it was asked to measure."""
    return re.sub(r"/iterations:\d+(/manual_time)?$", "", name)


def read_all(paths):
    return [file for path in paths if (file := read_json(path))]


def benchmarks(files):
    """The measurements by name, without means and the like."""
    return {plain_name(row["name"]): row
            for file in files for row in file.get("benchmarks", []) if row.get("run_type") != "aggregate"}


# --- the table ----------------------------------------------------------------------------------------------


def cell(row, key, form):
    return form.format(row[key]) if key in row else ""


def details(row):
    """Numbers without a column, then what the benchmark said."""
    numbers = [f"{key} {value:.4g}" for key, value in row.items()
               if isinstance(value, float | int) and not isinstance(value, bool) and key not in SHOWN | OF_THE_FRAMEWORK]
    return ", ".join(([row["label"]] if row.get("label") else []) + numbers)


def bench_lines(rows):
    yield "| | " + " | ".join(title for _, title, _ in COLUMNS) + " | |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    for name, row in rows.items():
        if row.get("error_occurred"):
            continue
        yield f"| {name} | " + " | ".join(cell(row, key, form) for key, _, form in COLUMNS) + f" | {details(row)} |"


def peer_lines(peers):
    yield "| other loaders | GB/s | first load | GB | tensors | |"
    yield "|---|---|---|---|---|---|"
    for name, row in peers.items():
        if "error" in row:
            continue
        made = ", ".join(f"{package} {version}" for package, version in row["versions"].items())
        yield (f"| {PEERS.get(name, name)} | {row['median_GBs']:.2f} | {row['first_GBs']:.2f} | {row['bytes'] / 1e9:.2f} "
               f"| {row['tensors']} | {made} |")


def failures(rows, peers):
    for name, row in rows.items():
        if row.get("error_occurred"):
            yield f"FAILED {name}: {row.get('error_message', '')}"
    for name, row in peers.items():
        if "error" in row:
            yield f"FAILED {name}: {row['error']}"


def print_table(rows, peers):
    for lines in (bench_lines(rows), peer_lines(peers)):
        print("\n".join(lines), end="\n\n")
    for line in failures(rows, peers):
        print(line)


def cold_lines(rows):
    """Of each cold file: how fast the disk was, and what part of that each way to load it reached."""
    for name, row in rows.items():
        plain = max((rate for key, rate in row.items() if re.fullmatch("plain_.*_stored_GBs", key)), default=None)
        if not name.startswith("cold/") or plain is None:
            continue
        parts = [f"{key.removesuffix('_of_plain')} {part:.0%}" for key, part in row.items() if key.endswith("_of_plain")]
        yield f"cold, {'/'.join(name.split('/')[1:3])}: the disk {plain:.2f} GB/s; of that {', '.join(parts)}"


def print_summary(rows, peers):
    """For the end of a log: the bars as text."""
    link = link_rate(rows)
    for title, bars in groups(rows, peers):
        print(title)
        for text, rate, _ in bars:
            share = f" {rate / link:5.0%} of the link" if link else ""
            print(f"  {text:50} {rate:6.2f} GB/s{share}")
    if link:
        print(f"{'the link':52} {link:6.2f} GB/s")
    for line in cold_lines(rows):
        print(line)
    failed = list(failures(rows, peers))
    print("\n".join(line[:200] for line in failed[:FAILURES]) if failed else "nothing failed")
    if len(failed) > FAILURES:
        print(f"and {len(failed) - FAILURES} more failed: see the table")


# --- what is shown of it ------------------------------------------------------------------------------------


def link_rate(rows):
    rates = [row["median_GBs"] for name, row in rows.items() if name.startswith("link/") and "median_GBs" in row]
    return max(rates, default=None)


def is_checked(benchmark):
    """Whether every byte that it loads is compared with a hash."""
    return "/check:" in benchmark and "/check:none" not in benchmark


def groups(rows, peers):
    """(title, [(text, GB/s, whether it checks)...]) of what was measured."""
    found = [(title, ours(rows, listed)) for title, listed in GROUPS]
    found.insert(1, peer_group(peers))  # they load the same tensors as the first group
    return [(title, bars) for title, bars in found if bars]


def ours(rows, listed):
    return [(text + checks(is_checked(name)), rows[name]["median_GBs"], is_checked(name))
            for text, name in listed if "median_GBs" in rows.get(name, {})]


def checks(is_on):
    return ", checked" if is_on else ", not checked"


def peer_group(peers):
    """The fastest first. None of them checks what it loads."""
    loaded = {name: row for name, row in peers.items() if "median_GBs" in row and name not in FROM_DISK}
    size = max((row["bytes"] for row in loaded.values()), default=0) / 2**30
    bars = [(PEERS.get(name, name) + checks(False), row["median_GBs"], False) for name, row in loaded.items()]
    return f"{size:.0f} GiB of these, other loaders", sorted(bars, key=lambda bar: -bar[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bench", type=pathlib.Path, nargs="*", default=[], help="JSON of ptd_cuda_bench")
    parser.add_argument("--peers", type=pathlib.Path, help="JSON of cuda_peers.py")
    parser.add_argument("--summary", action="store_true", help="a few lines instead of the table")
    arguments = parser.parse_args()
    rows = benchmarks(read_all(arguments.bench))
    peers = (read_json(arguments.peers) if arguments.peers else None) or {}
    (print_summary if arguments.summary else print_table)(rows, peers)


if __name__ == "__main__":
    sys.exit(main())
