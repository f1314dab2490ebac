# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Times how other loaders bring the same tensors to a GPU, from files in the page cache.

    python3 cuda_peers.py MODEL.safetensors MODEL.pt [--json FILE] [--only NAME] [--make-pt]

Each loader runs in a process of its own, so that one that fails or crashes takes nothing with it: the first load of that
process is told apart, then the median of three. Needs torch and safetensors; others where they can be imported.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

RUNS = 3


# --- one function a loader: (safetensors file, .pt file, device) -> tensors by name -------------------------


def with_safetensors(file, pt, device):
    from safetensors.torch import load_file

    return load_file(file, device=device)


def with_torch(file, pt, device):
    import torch

    mapped = torch.load(pt, mmap=True, weights_only=True)
    return {name: tensor.to(device) for name, tensor in mapped.items()}


def fast(file, device, **options):
    from fastsafetensors import fastsafe_open

    with fastsafe_open([file], device=device, **options) as opened:
        return {name: opened.get_tensor(name) for name in opened.keys()}


def with_fastsafetensors(file, pt, device):
    # Else it reads past the page cache, which no other loader does here.
    os.environ["FASTSAFETENSORS_ODIRECT"] = "0"
    return fast(file, device, nogds=True)


def with_fastsafetensors_direct(file, pt, device):
    return fast(file, device, nogds=True)


def with_fastsafetensors_gds(file, pt, device):
    return fast(file, device)


def instant(file, device, **options):
    from instanttensor import safe_open

    with safe_open(file, framework="pt", device=device, **options) as opened:
        return dict(opened.tensors())


def with_instanttensor(file, pt, device):
    from instanttensor import BackendPolicy

    return instant(file, device, backend=BackendPolicy.BUFFERED)


def with_instanttensor_mmap(file, pt, device):
    from instanttensor import Backend

    return instant(file, device, backend=Backend.MMAP)


def with_instanttensor_direct(file, pt, device):
    return instant(file, device)


# Those that read from the disk come last, where time may run out.
LOADERS = {
    "safetensors": with_safetensors,
    "torch-mmap": with_torch,
    "fastsafetensors": with_fastsafetensors,
    "instanttensor": with_instanttensor,
    "instanttensor-mmap": with_instanttensor_mmap,
    "instanttensor-direct": with_instanttensor_direct,
    "fastsafetensors-direct": with_fastsafetensors_direct,
    "fastsafetensors-gds": with_fastsafetensors_gds,
}


# --- in a loader's process ----------------------------------------------------------------------------------


def settle(device):
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def timed_load(load, arguments):
    """Seconds of one load until all of it has arrived, and its tensors."""
    settle(arguments.device)
    start = time.perf_counter()
    tensors = load(str(arguments.safetensors), str(arguments.pt), arguments.device)
    if arguments.device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()
    return time.perf_counter() - start, tensors


def read_through(path):
    """Brings a file into the page cache."""
    buffer = bytearray(16 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def check(tensors, arguments):
    """The first and the last tensor, as safetensors' own reader gives them."""
    import torch
    from safetensors import safe_open

    with safe_open(str(arguments.safetensors), framework="pt", device="cpu") as opened:
        names = sorted(opened.keys())
        assert sorted(tensors) == names, "other names"
        for name in (names[0], names[-1]):
            assert torch.equal(tensors[name].cpu(), opened.get_tensor(name)), f"{name} differs"


def package_of(name):
    return name.split("-")[0]


def versions(name):
    return {package: importlib.metadata.version(package) for package in sorted({"torch", package_of(name)})}


def measure(name, arguments):
    import torch

    # Neither importing nor the GPU's context is part of a first load.
    torch.zeros(1, device=arguments.device)
    importlib.import_module({"safetensors": "safetensors.torch"}.get(name, package_of(name)))
    read_through(arguments.pt if name == "torch-mmap" else arguments.safetensors)
    first, tensors = timed_load(LOADERS[name], arguments)
    check(tensors, arguments)
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    seconds = []
    for _ in range(RUNS):
        del tensors
        again, tensors = timed_load(LOADERS[name], arguments)
        seconds.append(again)
    return {
        "bytes": size,
        "tensors": len(tensors),
        "seconds": seconds,
        "first_GBs": size / first / 1e9,
        "median_GBs": size / statistics.median(seconds) / 1e9,
        "versions": versions(name),
    }


# --- all of them ---------------------------------------------------------------------------------------------


def make_pt(source, target):
    import torch
    from safetensors.torch import load_file

    unfinished = target.with_suffix(".unfinished")
    torch.save(load_file(source), unfinished)
    unfinished.rename(target)


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


def in_own_process(name, arguments):
    command = [sys.executable, __file__, arguments.safetensors, arguments.pt, "--only", name, "--device", arguments.device]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"took over {arguments.timeout} s"}
    if done.returncode != 0:
        return {"error": f"exit code {done.returncode}: {last_line(done.stderr)}"}
    return json.loads(last_line(done.stdout))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("safetensors", type=pathlib.Path)
    parser.add_argument("pt", type=pathlib.Path, help="the same tensors as torch.save writes them")
    parser.add_argument("--make-pt", action="store_true", help="make the .pt file from the other one, if it is not there")
    parser.add_argument("--only", choices=LOADERS, help="one loader, in this process")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each loader")
    parser.add_argument("--json", type=pathlib.Path, help="write the results to this file, after each loader")
    arguments = parser.parse_args()
    if arguments.make_pt and not arguments.pt.exists():
        make_pt(arguments.safetensors, arguments.pt)
    if arguments.only:
        print(json.dumps(measure(arguments.only, arguments)))
        return
    results = {}
    for name in LOADERS:
        results[name] = in_own_process(name, arguments)
        print(name, results[name], file=sys.stderr)
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    sys.exit(main())
