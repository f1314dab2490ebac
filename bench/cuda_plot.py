# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Draws how fast weights reach a GPU: one bar a loader, the link as a line.

    python3 cuda_plot.py --bench FILE.json... [--peers FILE.json] [--hardware TEXT] [--command TEXT] --out FILE.svg

The inputs are those of cuda_report.py. The picture is plain SVG text that follows the reader's light or dark mode.
"""

import argparse
import html
import pathlib
import sys

import cuda_report

WIDTH, LEFT, RIGHT = 880, 336, 56  # of the picture, of its texts, of the room behind the bars
STEP, BAR, HEADING = 23, 16, 30  # heights
TOP, BOTTOM, FOOTER = 92, 14, 17
# For light and for dark. Bars that are checked stand out; those that are not are paler, ours or not.
STYLE = """
svg { color-scheme: light dark; font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
text { fill: #1f2328 } .title { font-size: 16px; font-weight: 600 } .group { font-weight: 600 }
.small { font-size: 12px; fill: #59636e } .value { paint-order: stroke; stroke: #ffffff; stroke-width: 4px } .end { text-anchor: end } .middle { text-anchor: middle }
.panel { fill: #ffffff; stroke: #d1d9e0 } .grid { stroke: #d1d9e0 }
.checked { fill: #0969da } .ours { fill: #8ec2f5 } .other { fill: #afb8c1 }
.link { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 5 3 } .linktext { fill: #cf222e }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 }
.value { stroke: #0d1117 } .panel { fill: #0d1117; stroke: #3d444d } .grid { stroke: #2a313c }
.checked { fill: #4493f8 } .ours { fill: #1f4a80 } .other { fill: #59636e }
.link { stroke: #ff7b72 } .linktext { fill: #ff7b72 }
}"""


class Picture:
    """Elements from top to bottom."""

    def __init__(self, most):
        self.parts = []
        self.y = TOP
        self.scale = (WIDTH - LEFT - RIGHT) / most

    def x(self, rate):
        return LEFT + rate * self.scale

    def text(self, x, y, words, kinds=""):
        self.parts.append(f'<text class="{kinds}" x="{x:.1f}" y="{y}">{html.escape(words)}</text>')

    def box(self, x, y, width, kind):
        self.parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>')

    def line(self, rate, top, bottom, kind):
        x = self.x(rate)
        self.parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>')

    def heading(self, words):
        self.y += HEADING
        self.text(16, self.y - 9, words, "group")

    def bar(self, words, rate, kind):
        self.text(LEFT - 8, self.y + 13, words, "end")
        self.box(LEFT, self.y, rate * self.scale, kind)
        self.text(self.x(rate) + 6, self.y + 13, f"{rate:.1f}", "value")
        self.y += STEP


def kind_of(words, is_checked):
    return "checked" if is_checked else "ours" if words.startswith("PTD") else "other"


def draw_legend(picture):
    x = 16
    for kind, words, width in [("checked", "PTD, every chunk checked", 206), ("ours", "PTD, not checked", 152),
                               ("other", "others; none of them checks", 0)]:
        picture.box(x, 40, BAR, kind)
        picture.text(x + BAR + 6, 53, words)
        x += width


def draw_scale(picture, most, link):
    """Behind the bars, so drawn before them; the bottom is known when all is laid out."""
    bottom = "BOTTOM"
    for rate in range(0, int(most) + 1, 10):
        picture.line(rate, TOP, bottom, "grid")
        picture.text(picture.x(rate), TOP - 8, str(rate), "small middle")
    if link:
        picture.line(link, TOP - 4, bottom, "link")
        picture.text(picture.x(link), TOP - 24, f"the link, {link:.1f}", "linktext middle")


def draw(rows, peers, notes):
    groups, link = cuda_report.groups(rows, peers), cuda_report.link_rate(rows)
    most = max([rate for _, bars in groups for _, rate, _ in bars] + [link or 1])
    picture = Picture(most)
    picture.text(16, 26, "Weights from the page cache to one GPU, GB/s", "title")
    draw_legend(picture)
    draw_scale(picture, most, link)
    for title, bars in groups:
        picture.heading(title)
        for words, rate, is_checked in bars:
            picture.bar(words, rate, kind_of(words, is_checked))
    bottom = picture.y
    for note in notes:
        picture.y += FOOTER
        picture.text(16, picture.y + 6, note, "small")
    return svg(picture.parts, picture.y + BOTTOM + 6).replace('"BOTTOM"', f'"{bottom}"')


def svg(parts, height):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}\n</style>",
        f'<rect class="panel" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
        *parts, "</svg>", ""])


def notes_of(files, hardware, command):
    """What has to be known to believe the bars."""
    dates = sorted(file["context"]["date"][:10] for file in files)
    yield ", ".join(word for word in [*dates[-1:], hardware] if word)
    yield ("Medians of second and later loads into new device memory, unless said otherwise; at most 64 MiB of pinned "
           "memory for PTD.")
    if command:
        yield command


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bench", type=pathlib.Path, nargs="+", required=True, help="JSON of ptd_cuda_bench")
    parser.add_argument("--peers", type=pathlib.Path, help="JSON of cuda_peers.py")
    parser.add_argument("--hardware", default="", help="for the foot of the picture")
    parser.add_argument("--command", default="", help="that measured, for the foot of the picture")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the SVG file")
    arguments = parser.parse_args()
    files = cuda_report.read_all(arguments.bench)
    peers = (cuda_report.read_json(arguments.peers) if arguments.peers else None) or {}
    notes = notes_of(files, arguments.hardware, arguments.command)
    arguments.out.write_text(draw(cuda_report.benchmarks(files), peers, notes))


if __name__ == "__main__":
    sys.exit(main())
