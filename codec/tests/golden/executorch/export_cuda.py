# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Exports the two-method transformer of make_exports.py through the CUDA backend (needs a GPU and nvcc).

For executorch 1.5.1, torch 2.11.0+cu130, torchao 0.18.0, Python 3.12, with the folder of make_exports.py and
readback.py on PYTHONPATH:
    python export_cuda.py --out DIRECTORY [--size small|larger] [--constants]

--constants gives each method a constant of its own in its code, to see library-local names. Written:
model.pte and model.ptd (prefill and decode in one program), the same for each method alone, each
delegate's payload as NAME.METHOD.N.manifest, and an expected.json beside every file.
"""
import argparse
import json
import pathlib
import struct

import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from make_exports import SIZES, Model, export_method
from readback import MUTABLE_LIST_METHOD, delegate_payload, describe_flat_tensor, program_parts, sha256, write_expected

METHODS = ("prefill", "decode")
MAGIC = b"ETCUDAFQN3"


class ModelWithConstants(Model):
    def scaled(self, logits, period):
        return logits * torch.tensor([1 + i % period for i in range(self.head.out_features)], dtype=torch.bfloat16)

    def prefill(self, tokens, positions):
        return self.scaled(super().prefill(tokens, positions), 5)

    def decode(self, tokens, positions):
        return self.scaled(super().decode(tokens, positions), 7)


def decode_payload(data):
    assert data.startswith(MAGIC), data[:16]
    position = len(MAGIC)

    def take(form):
        nonlocal position
        values = struct.unpack_from("<" + form, data, position)
        position += struct.calcsize("<" + form)
        return values

    def string():
        nonlocal position
        (count,) = take("I")
        position += count
        return data[position - count : position].decode()

    library, entries = string(), []
    for _ in range(take("I")[0]):
        fqn, key = string(), string()
        nbytes, dtype, device, offset, rank = take("QiiqI")
        sizes, strides = list(take(f"{rank}q")), list(take(f"{rank}q"))
        entries.append(
            dict(
                fqn=fqn,
                storage_key=key,
                storage_nbytes=nbytes,
                dtype=dtype,
                device_type=device,
                storage_offset=offset,
                sizes=sizes,
                strides=strides,
            )
        )
    assert position == len(data)
    return {"form": MAGIC.decode(), "library_key": library, "entries": entries}


def export(folder, model, name, methods):
    mutable = [n for n, _ in model.named_buffers() if ".kv_cache." in n]
    lowered = to_edge_transform_and_lower(
        {m: export_method(model, m) for m in methods},
        partitioner={m: [CudaPartitioner([CudaBackend.generate_method_name_compile_spec(m)])] for m in methods},
        compile_config=EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True),
        constant_methods={MUTABLE_LIST_METHOD: json.dumps({"version": 1, "mutable_buffers": mutable})},
    )
    program = lowered.to_executorch(
        ExecutorchBackendConfig(
            emit_mutable_buffer_names=True,
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),
        )
    )
    (folder / f"{name}.pte").write_bytes(program.buffer)
    program.write_tensor_data_to_file(str(folder))
    (folder / "aoti_cuda_blob.ptd").rename(folder / f"{name}.ptd")
    write_expected(folder / f"{name}.pte")
    write_expected(folder / f"{name}.ptd")
    write_payloads(folder, model, name)


def write_payloads(folder, model, name):
    _, program, segments, _ = program_parts(folder / f"{name}.pte")
    stored = {e["key"]: e["sha256"] for e in describe_flat_tensor(folder / f"{name}.ptd")["entries"]}
    state = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers())}
    for plan in program.execution_plan:
        for number, delegate in enumerate(plan.delegates):
            payload = delegate_payload(program, segments, delegate)
            path = folder / f"{name}.{plan.name}.{number}.manifest"
            path.write_bytes(payload)
            expected = {"file": path.name, "size": len(payload), "sha256": sha256(payload), **decode_payload(payload)}
            for entry in expected["entries"]:
                entry["storage_sha256"] = stored.get(entry["storage_key"])
                tensor = state.get(entry["fqn"])
                if tensor is not None:
                    raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
                    entry["same_bytes_as_model"] = sha256(raw) == entry["storage_sha256"]
                print(name, plan.name, entry["fqn"], entry["sizes"], entry["strides"], entry.get("same_bytes_as_model"))
            path.with_name(path.name + ".expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--constants", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(20260101)
    kind = ModelWithConstants if arguments.constants else Model
    model = kind(SIZES[arguments.size]).eval().to(torch.bfloat16).requires_grad_(False)
    for name, methods in {"model": METHODS, "prefill": METHODS[:1], "decode": METHODS[1:]}.items():
        export(arguments.out, model, name, methods)
    print("done:", torch.__version__, torch.version.cuda, torch.cuda.get_device_name())
