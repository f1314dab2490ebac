# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Merges the results of the GPU benchmarks and of the other loaders into a Markdown table, and draws them.

    python3 cuda_report.py [--bench FILE.json...] [--peers FILE.json] [--plot FILE.svg]

Files that are missing or cut off are named and left out.
"""

import argparse
import html
import json
import pathlib
import re
import sys

# What the picture shows: a bar's text, and the benchmarks (the first that is there) or the peer that it stands for.
BARS = [
    ("PTD, unchecked", ["load/large/raw/check:none/again"]),
    ("PTD, XXH3 of every chunk", ["load/large/raw/check:chunks/again"]),
    ("PTD, and SHA-256", ["load/large/raw/check:content/again"]),
    ("PTD, first load", ["load/large/raw/check:chunks/first"]),
    ("PTD, compressed", ["load/large/compressed/check:chunks/again"]),
    ("PTD, 100,000 small tensors", ["load/small/raw/check:chunks/again"]),
    ("ExecuTorch's way", ["executorch/large/raw"]),
    ("ExecuTorch's way, 100,000 small tensors", ["executorch/small/raw"]),
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


def read_benchmarks(paths):
    rows = {}
    for path in paths:
        for row in (read_json(path) or {}).get("benchmarks", []):
            if row.get("run_type") != "aggregate":
                rows[plain_name(row["name"])] = row
    return rows


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


def print_summary(rows, peers):
    """For the end of a log: the bars as text."""
    link = link_rate(rows)
    for text, rate in bars(rows, peers):
        share = f" {rate / link:5.0%} of the link" if link else ""
        print(f"{text:42} {rate:6.2f} GB/s{share}")
    if link:
        print(f"{'the link':42} {link:6.2f} GB/s")
    failed = list(failures(rows, peers))
    print("\n".join(line[:200] for line in failed[:FAILURES]) if failed else "nothing failed")
    if len(failed) > FAILURES:
        print(f"and {len(failed) - FAILURES} more failed: see the table")


# --- the picture --------------------------------------------------------------------------------------------


def link_rate(rows):
    rates = [row["median_GBs"] for name, row in rows.items() if name.startswith("link/") and "median_GBs" in row]
    return max(rates, default=None)


def bars(rows, peers):
    """(text, GB/s), ours first."""
    found = []
    for text, names in BARS:
        rate = next((rows[name]["median_GBs"] for name in names if "median_GBs" in rows.get(name, {})), None)
        if rate is not None:
            found.append((text, rate))
    found += [(PEERS.get(name, name), row["median_GBs"]) for name, row in peers.items() if "median_GBs" in row]
    return found


def svg(parts, width, height):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="13">\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def draw(rows, peers):
    """One bar a loader, and the link as a line."""
    drawn, link = bars(rows, peers), link_rate(rows)
    left, right, step, top = 290, 70, 26, 44
    width, height = 860, top + step * len(drawn) + 14
    most = max([rate for _, rate in drawn] + [link or 0, 1e-9])
    scale = (width - left - right) / most
    parts = ['<text x="12" y="20" font-weight="bold">Weights to one GPU, from files in the page cache, GB/s</text>']
    for i, (text, rate) in enumerate(drawn):
        y = top + step * i
        colour = "#2563eb" if text.startswith("PTD") else "#9ca3af"
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{html.escape(text)}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{rate * scale:.1f}" height="18" fill="{colour}"/>')
        parts.append(f'<text x="{left + rate * scale + 6:.1f}" y="{y + 14}">{rate:.1f}</text>')
    if link:
        x = left + link * scale
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 8}" y2="{height - 8}" stroke="#dc2626" stroke-dasharray="5 3"/>')
        parts.append(f'<text x="{x:.1f}" y="{top - 12}" text-anchor="middle" fill="#dc2626">the link, {link:.1f}</text>')
    return svg(parts, width, height)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bench", type=pathlib.Path, nargs="*", default=[], help="JSON of ptd_cuda_bench")
    parser.add_argument("--peers", type=pathlib.Path, help="JSON of cuda_peers.py")
    parser.add_argument("--plot", type=pathlib.Path, help="draw bars into this SVG file")
    parser.add_argument("--summary", action="store_true", help="a few lines instead of the table")
    arguments = parser.parse_args()
    rows = read_benchmarks(arguments.bench)
    peers = (read_json(arguments.peers) if arguments.peers else None) or {}
    (print_summary if arguments.summary else print_table)(rows, peers)
    if arguments.plot:
        arguments.plot.write_text(draw(rows, peers))


if __name__ == "__main__":
    sys.exit(main())
