# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Checks with the executorch package that a FlatTensor .ptd holds what an expected.json says.

Made with executorch 1.5.1 and torch 2.15.0 (CPU), Python 3.11:
    python check_flat_tensor.py FILE.ptd EXPECTED.json [--program MODEL.pte --data ORIGINAL.ptd]

FILE is read by the package's Python deserializer; keys, layouts and the bytes' SHA-256 must equal the
"entries" of EXPECTED.json (order, segment numbers, offsets and padding may differ). With --program
and --data its runtime also runs the exported methods of MODEL.pte (make_exports.py), once with FILE
and once with ORIGINAL.ptd as data, and the outputs must be equal bit for bit.
Exit status 0 if everything agrees, 1 otherwise.
"""
import argparse
import json
import sys

import torch

from readback import describe_flat_tensor


def compare_entries(found, expected):
    def by_key(description):
        return {e["key"]: (e["size"], e["sha256"], e["tensor_layout"]) for e in description["entries"]}

    found, expected = by_key(found), by_key(expected)
    faults = [f"missing: {k}" for k in expected if k not in found]
    faults += [f"not expected: {k}" for k in found if k not in expected]
    for key in expected:
        for name, a, b in zip(("size", "sha256", "layout"), found.get(key, ()), expected[key]):
            if a != b:
                faults.append(f"{key}: {name} {a}, expected {b}")
    print(f"{len(expected)} expected keys, {len(found)} found, {len(faults)} differences")
    return faults


def compare_outputs(file, program, original):
    from executorch.runtime import Runtime

    from make_exports import inputs

    def run(data):
        loaded = Runtime.get().load_program(program, data_path=data)
        methods = [m for m in ("prefill", "decode") if m in loaded.method_names]
        return {m: loaded.load_method(m).execute(inputs(m)) for m in methods}

    faults = []
    for (method, a), b in zip(run(file).items(), run(original).values()):
        same = len(a) == len(b) and all(
            x.shape == y.shape and torch.equal(x.contiguous().view(torch.uint8), y.contiguous().view(torch.uint8))
            for x, y in zip(a, b)
        )
        print(f"{method}: outputs {'equal' if same else 'DIFFER'}")
        if not same:
            faults.append(f"{method}: outputs differ")
    return faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("expected")
    parser.add_argument("--program")
    parser.add_argument("--data")
    arguments = parser.parse_args()
    if (arguments.program is None) != (arguments.data is None):
        parser.error("--program and --data go together")
    with open(arguments.expected, encoding="utf-8") as file:
        faults = compare_entries(describe_flat_tensor(arguments.file), json.load(file))
    if arguments.program:
        faults += compare_outputs(arguments.file, arguments.program, arguments.data)
    print("\n".join(faults) if faults else "agrees")
    sys.exit(bool(faults))
