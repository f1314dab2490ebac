# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Payloads of the never released form ETCUDAFQN1, by the encoder of the branch that had it.

Made with executorch 1.5.1 and torch 2.15.0 (CPU), Python 3.11, and backends/cuda/cuda_backend.py of
github.com/pytorch/executorch at commit 91323c9c9698bc840faa9b2748a34463f8e1a551 (pull request 21823):
    git show 91323c9c9698bc840faa9b2748a34463f8e1a551:backends/cuda/cuda_backend.py > old_backend.py
    python make_cuda_fqn1.py old_backend.py
Written into cuda/: fqn1.prefill.manifest, fqn1.decode.manifest, fqn1.ptd. The weights are those of make_cuda.py
that lie on the GPU, made up; the caches are marked as mutated.
"""
import importlib.util
import json
import sys
import tempfile

from executorch.exir._serialize._named_data_store import NamedDataStore
from torch.export.pt2_archive._package_weights import TensorProperties, Weights

from make_cuda import CACHES, FOLDER, LIBRARIES, METHODS, TAG, make_weights, so_key, write_data
from readback import sha256


def load(path):
    spec = importlib.util.spec_from_file_location("old_backend", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["old_backend"] = module
    spec.loader.exec_module(module)
    return module


def main(encoder):
    weights, store = make_weights(), NamedDataStore()
    for method in METHODS:
        listed = {fqn: (t, TensorProperties(t)) for fqn, (t, on_cuda) in weights[method].items() if on_cuda}
        with tempfile.TemporaryDirectory() as directory:
            artifact = encoder._materialize_fqn_weights(Weights(listed), directory, set(CACHES))
            for key, data in artifact.storages.items():
                store.add_named_data(key, data.prefix(len(data)), external_tag=TAG)
                data.close()
        payload = encoder._encode_fqn_weight_manifest(so_key(method), artifact.entries)
        path = FOLDER / f"fqn1.{method}.manifest"
        path.write_bytes(payload)
        expected = {
            "file": path.name,
            "size": len(payload),
            "sha256": sha256(payload),
            "form": payload[:10].decode(),
            "library_key": so_key(method),
            "library_sha256": sha256(LIBRARIES[method]),
            "entries": [vars(e) for e in artifact.entries],
        }
        path.with_name(path.name + ".expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    write_data("fqn1", store.get_named_data_store_output())


if __name__ == "__main__":
    main(load(sys.argv[1]))
