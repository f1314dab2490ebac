# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Behaves as libFuzzer's command line does. Its mood is in the file of its name with .mood: a word and a number."""

import hashlib
import os
import signal
import sys
import time

MOOD, AMOUNT = open(sys.argv[0] + ".mood").read().split()
FLAGS = dict(word[1:].split("=", 1) for word in sys.argv[1:] if word.startswith("-"))
NAMES = [word for word in sys.argv[1:] if not word.startswith("-")]

REPORT = """#7\tNEW    cov: 3 ft: 4 corp: 2/9b lim: 4 exec/s: 0 rss: 30Mb
readers disagree: 1 is not 2
==1== ERROR: libFuzzer: deadly signal
    #0 0x1 in __sanitizer_print_stack_trace (/fuzz_x+0x1) (BuildId: 12ab)
    #1 0x2 in compare(int) /src/compare.cpp:7:1
    #2 0x3 in fuzzer::Fuzzer::ExecuteCallback(unsigned char const*, unsigned long) (/fuzz_x+0x2)
NOTE: libFuzzer has rudimentary signal handlers.
SUMMARY: libFuzzer: deadly signal"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def statistics(count):
    if "print_final_stats" in FLAGS:
        say(f"stat::number_of_executed_units: {count}\nstat::peak_rss_mb: 30")


def crash(data):
    """No input is written where it was given."""
    say(REPORT)
    if "artifact_prefix" in FLAGS:
        path = FLAGS["artifact_prefix"] + "crash-" + hashlib.sha1(data).hexdigest()
        write(path, data)
        say(f"artifact_prefix='x'; Test unit written to {path}")
    statistics(7)
    sys.exit(77)


def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def hang():
    signal.signal(signal.SIGTERM, lambda *_: (statistics(5), os._exit(72)))
    say("#2\tINITED cov: 1 ft: 1 corp: 1/1b exec/s: 0 rss: 30Mb")
    time.sleep(60)


def new_input(corpus):
    data = b"unit %d" % len(os.listdir(corpus))
    write(os.path.join(corpus, hashlib.sha1(data).hexdigest()), data)


def fuzz():
    write(sys.argv[0] + ".arguments", "\n".join(sys.argv[1:]).encode())
    if MOOD == "crash":
        crash(b"BAD")
    burn(float(AMOUNT))
    new_input(NAMES[0])
    say("#2\tINITED cov: 8 ft: 9 corp: 1/1b exec/s: 0 rss: 30Mb")
    say("#1000\tDONE   cov: 11 ft: 12 corp: 2/7b lim: 4 exec/s: 1000 rss: 30Mb")
    if MOOD == "slow":
        write(FLAGS["artifact_prefix"] + "slow-unit-1", b"")
        say(f"artifact_prefix='x'; Test unit written to {FLAGS['artifact_prefix']}slow-unit-1")
    statistics(1000)


def merge():
    """Length stands for coverage."""
    into, *others = NAMES
    lengths = set()
    for path in sorted(os.path.join(folder, name) for folder in others for name in os.listdir(folder)):
        data = read(path)
        if MOOD == "worse" or len(data) in lengths:
            continue
        lengths.add(len(data))
        write(os.path.join(into, os.path.basename(path)), data)
        if MOOD == "crash":
            sys.exit(1)


def minimize():
    """One byte in each run, as a search that meets other crashes in between."""
    data = read(NAMES[0])
    if len(data) == 3:
        say("CRASH_MIN: failed to minimize beyond x (3 bytes), exiting")
    write(FLAGS["exact_artifact_path"], data if len(data) == 3 else data[:-1])


def main():
    if MOOD == "dead":
        say("fuzz_x: error while loading shared libraries: libx.so")
        sys.exit(127)
    if MOOD == "idle":
        return
    if MOOD == "hang":
        hang()
    elif "merge" in FLAGS:
        merge()
    elif "minimize_crash" in FLAGS:
        minimize()
    elif os.path.isfile(NAMES[0]):
        say(f"Running: {NAMES[0]}")
        if read(NAMES[0]).startswith(b"BAD"):
            crash(read(NAMES[0]))
    else:
        fuzz()


main()
