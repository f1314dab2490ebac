# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the command, run as a person would, and models made by the real safetensors."""

import os
import pathlib
import subprocess
import sys

import numpy
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

PTD = os.environ["PTD_BIN"]


class Ran:
    def __init__(self, process: subprocess.CompletedProcess):
        self.code = process.returncode
        self.out = process.stdout.decode()
        self.err = process.stderr.decode()


def run_ptd(*arguments, **options) -> Ran:
    options.setdefault("stdout", subprocess.PIPE)
    process = subprocess.run([PTD, *map(str, arguments)], stderr=subprocess.PIPE, timeout=300, **options)
    if process.stdout is None:
        process.stdout = b""
    return Ran(process)


@pytest.fixture
def ptd():
    return run_ptd


@pytest.fixture
def good(ptd):
    """Runs the command and demands success."""

    def run(*arguments, **options) -> Ran:
        ran = ptd(*arguments, **options)
        assert ran.code == 0, f"{arguments}: {ran.err}"
        return ran

    return run


@pytest.fixture
def refused(ptd):
    """Runs the command and demands one line of error and the exit code."""

    def run(code: int, *arguments, **options) -> str:
        ran = ptd(*arguments, **options)
        assert ran.code == code, f"{arguments}: exit {ran.code}, {ran.err}{ran.out}"
        assert ran.out == ""
        lines = [line for line in ran.err.splitlines() if not line.startswith("ptd: note:")]
        assert len(lines) == 1, ran.err
        return lines[0]

    return run


@pytest.fixture(scope="session")
def samples(tmp_path_factory) -> pathlib.Path:
    """A folder with the models that ptd_sample_models makes."""
    folder = tmp_path_factory.mktemp("samples")
    subprocess.run([pathlib.Path(PTD).with_name("ptd_sample_models"), folder], check=True)
    return folder


@pytest.fixture
def random():
    return numpy.random.default_rng(7)
