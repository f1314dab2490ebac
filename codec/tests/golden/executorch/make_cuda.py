# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Programs and data of the CUDA backend in its three payload forms, without a GPU.

Made with executorch 1.5.1 and torch 2.15.0 (CPU), Python 3.11:  python make_cuda.py
Written into cuda/. Not a real export: weights and execution plans are made up here, and the "compiled
library" of each method is a short fake that only starts like an ELF file. The package itself does
the rest: it collects the weights, encodes the payloads (ETCUDAFQN3), makes the storage keys, merges
the named data and serializes the FlatTensor file and the program. The text payload (1.4) and the empty
payload (1.1 to 1.3) are put together here, as those versions' source does.
"""
import hashlib
import json
import pathlib
import tempfile

import torch
from executorch.backends.cuda.cuda_weight_collector import (
    AOTI_DEVICE_TYPE_CPU,
    AOTI_DEVICE_TYPE_CUDA,
    CudaWeightCollector,
    CudaWeightEntry,
    encode_cuda_weight_metadata,
)
from executorch.exir import schema
from executorch.exir._serialize._named_data_store import NamedDataStore, NamedDataStoreOutput
from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
from executorch.exir._serialize.data_serializer import DataPayload
from executorch.exir.backend.backend_details import PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.scalar_type import ScalarType
from executorch.exir.tensor import scalar_type_enum
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer
from torch.export.pt2_archive._package_weights import TensorProperties, Weights

from readback import MUTABLE_LIST_METHOD, delegate_payload, program_parts, sha256, write_expected

FOLDER = pathlib.Path(__file__).parent / "cuda"
METHODS = ("prefill", "decode")
TAG = "aoti_cuda_blob"
CACHES = [f"layers.{i}.attention.kv_cache.{part}" for i in range(2) for part in "kv"]
METADATA = json.dumps({"version": 1, "mutable_buffers": CACHES})
LIBRARIES = {m: b"\x7fELF\x02\x01\x01" + bytes(9) + f" not code: stands for the library of {m}\n".encode() for m in METHODS}


def make_weights():
    """{method: {FQN: (tensor, on CUDA)}}; what the methods share are the same tensors."""
    torch.manual_seed(20260103)
    packed = torch.randn(12, 8).to(torch.bfloat16)
    base = torch.arange(48, dtype=torch.float32).reshape(6, 8)
    shared = {
        "embed.weight": (torch.randn(32, 8).to(torch.bfloat16), True),
        "layers.0.attention.q.weight": (packed[:4], True),
        "layers.0.attention.k.weight": (packed[4:8], True),
        "layers.0.attention.v.weight": (packed[8:], True),
        "layers.0.up.weight": (torch.randn(8, 16).to(torch.float16).t(), True),
        "layers.1.window.weight": (base[1:5, 2:7], True),
        "layers.1.window.transposed": (base.t()[3:, 1:], True),
        "layers.1.conv.weight": (torch.randn(2, 3, 2, 2).to(memory_format=torch.channels_last), True),
        "layers.1.quantized.weight": (torch.arange(-8, 8, dtype=torch.int8).reshape(4, 4), True),
        "layers.1.quantized.packed": (torch.arange(200, 216, dtype=torch.uint8), True),
        "layers.1.mask": (torch.tensor([[True, False], [True, True]]), True),
        "position_ids": (torch.arange(16), False),
        "scale": (torch.tensor(0.125), True),
        **{name: (torch.zeros(1, 2, 16, 4), True) for name in CACHES},
    }
    table = torch.randn(16, 2)
    return {
        "prefill": {
            **shared,
            "rope.table": (table, False),
            "prefill_head.weight": (torch.randn(32, 8).to(torch.bfloat16), True),
            "_tensor_constant0": (torch.tensor([1.0, 2.0, 3.0]), True),
            "_tensor_constant1": (torch.tensor([7, 7], dtype=torch.int32), False),
        },
        "decode": {
            **shared,
            "rope.table": (table, True),
            "decode_head.weight": (torch.randn(32, 8).to(torch.bfloat16), True),
            "_tensor_constant0": (torch.tensor([4.0, 5.0, 6.0, 7.0]), True),
            "_tensor_constant1": (torch.tensor([7, 7], dtype=torch.int32), False),
        },
    }


def so_key(method):
    return hashlib.sha256(LIBRARIES[method]).hexdigest() + "_so_blob"


def storage_bytes(tensor):
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,)).numpy().tobytes()


def logical_bytes(tensor):
    flat = tensor.contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes()


def dense_blob(weights):
    """An opaque blob of all of a method's constants (an arbitrary layout: nothing records it)."""
    return b"".join(logical_bytes(t).ljust(-(-t.nbytes // 64) * 64, b"\0") for t, _ in weights.values())


def write_manifest_expected(method, weights, payload):
    entries, listed = [], []
    for fqn, (tensor, on_cuda) in weights.items():
        owner = f"{so_key(method)}:" if fqn.startswith("_tensor_constant") else ""
        number = scalar_type_enum(tensor.dtype)
        entry = CudaWeightEntry(
            fqn=fqn,
            storage_key=f"cuda_fqn_weight:{'cuda' if on_cuda else 'cpu'}:{owner}{fqn}",
            storage_nbytes=tensor.untyped_storage().nbytes(),
            dtype=int(number),
            device_type=AOTI_DEVICE_TYPE_CUDA if on_cuda else AOTI_DEVICE_TYPE_CPU,
            storage_offset=tensor.storage_offset(),
            sizes=tuple(tensor.shape),
            strides=tuple(tensor.stride()),
        )
        entries.append(entry)
        listed.append(
            {
                **vars(entry),
                "scalar_type": ScalarType(number).name,
                "storage_sha256": sha256(storage_bytes(tensor)),
                "contiguous_sha256": sha256(logical_bytes(tensor)),
            }
        )
    assert encode_cuda_weight_metadata(so_key(method), entries) == payload
    text = {
        "file": f"{method}.manifest",
        "size": len(payload),
        "sha256": sha256(payload),
        "form": payload[:10].decode(),
        "library_key": so_key(method),
        "library_sha256": sha256(LIBRARIES[method]),
        "entries": listed,
    }
    (FOLDER / f"{method}.manifest.expected.json").write_text(json.dumps(text, indent=1) + "\n")


def parent_result(method, blob):
    """What the ahead-of-time step hands over: the library, a weights blob and the text payload."""
    store = NamedDataStore()
    weights_key = hashlib.sha256(blob).hexdigest() + "_weights_blob"
    store.add_named_data(so_key(method), LIBRARIES[method])
    store.add_named_data(weights_key, blob, external_tag=TAG)
    return PreprocessResult(
        processed_bytes=f"{so_key(method)}\n{weights_key}".encode(),
        debug_handle_map={},
        data_store_output=store.get_named_data_store_output(),
    )


def fqn_form(weights):
    collector, results, artifacts = CudaWeightCollector(), {}, []
    with tempfile.TemporaryDirectory() as directory:
        for method in METHODS:
            cuda = {id(t) for t, on_cuda in weights[method].values() if on_cuda}
            artifact = collector.materialize(
                Weights({fqn: (t, TensorProperties(t)) for fqn, (t, _) in weights[method].items()}),
                directory,
                lambda t: AOTI_DEVICE_TYPE_CUDA if id(t) in cuda else AOTI_DEVICE_TYPE_CPU,
            )
            results[method] = parent_result(method, b"")
            collector.add_preprocess_result(results[method], artifact, "cuda")
            artifacts.append(artifact)
        collector.finish()
        data = results["prefill"].data_store_output
        data.buffers = [b if isinstance(b, bytes) else b.prefix(len(b)) for b in data.buffers]
        for storage in {id(s): s for a in artifacts for s in a.storages.values()}.values():
            storage.close()
    return {m: results[m].processed_bytes for m in METHODS}, data


def text_form(weights):
    store = NamedDataStore()
    results = {m: parent_result(m, dense_blob(weights[m])) for m in METHODS}
    for result in results.values():
        store.merge_named_data_store(result.data_store_output)
    return {m: results[m].processed_bytes for m in METHODS}, store.get_named_data_store_output()


def empty_form(weights):
    store = NamedDataStore()
    for method in METHODS:
        store.add_named_data(f"{method}_so_blob", LIBRARIES[method])
        store.add_named_data(f"{method}_weights_blob", dense_blob(weights[method]), external_tag=TAG)
    return {m: b"" for m in METHODS}, store.get_named_data_store_output()


def tensor_value(scalar_type, sizes):
    return schema.EValue(
        schema.Tensor(
            scalar_type=scalar_type,
            storage_offset=0,
            sizes=sizes,
            dim_order=list(range(len(sizes))),
            requires_grad=False,
            layout=0,
            data_buffer_idx=0,
            allocation_info=None,
            shape_dynamism=schema.TensorShapeDynamism.STATIC,
        )
    )


def plan(name, values, inputs, outputs, delegates, instructions):
    return schema.ExecutionPlan(
        name=name,
        container_meta_type=schema.ContainerMetadata("", ""),
        values=values,
        inputs=inputs,
        outputs=outputs,
        chains=[schema.Chain(inputs=inputs, outputs=outputs, instructions=instructions, stacktrace=None)],
        operators=[],
        delegates=delegates,
        non_const_buffer_sizes=[0],
    )


def program(payloads):
    plans = []
    for index, method in enumerate(METHODS):
        count = 4 if method == "prefill" else 1
        values = [tensor_value(ScalarType.LONG, [1, count]), tensor_value(ScalarType.FLOAT, [1, count, 32])]
        delegate = schema.BackendDelegate(
            id="CudaBackend",
            processed=schema.BackendDelegateDataReference(schema.DataLocation.INLINE, index),
            compile_specs=[CompileSpec("method_name", method.encode()), CompileSpec("target_device", b"cuda:0")],
        )
        call = schema.Instruction(schema.DelegateCall(delegate_index=0, args=[0, 1]))
        plans.append(plan(method, values, [0], [1], [delegate], [call]))
    plans.append(plan(MUTABLE_LIST_METHOD, [schema.EValue(schema.String(METADATA))], [], [0], [], []))
    return schema.Program(
        version=0,
        execution_plan=plans,
        constant_buffer=[schema.Buffer(storage=b"")],
        backend_delegate_data=[schema.BackendDelegateInlineData(data=payloads[m]) for m in METHODS],
        segments=[],
        constant_segment=schema.SubsegmentOffsets(segment_index=0, offsets=[]),
    )


def write_program(name, payloads, data, in_segments):
    named = NamedDataStoreOutput(buffers=data.buffers, pte_data=data.pte_data, external_data={})
    file = PTEFile(program=program(payloads), named_data=named)
    path = FOLDER / f"{name}.pte"
    path.write_bytes(bytes(serialize_pte_binary(file, extract_delegate_segments=in_segments)))
    _, read, segments, _ = program_parts(path)
    for method, read_plan in zip(METHODS, read.execution_plan):
        assert delegate_payload(read, segments, read_plan.delegates[0]) == payloads[method]
    write_expected(path)


def write_data(name, data):
    path = FOLDER / f"{name}.ptd"
    path.write_bytes(bytes(FlatTensorSerializer().serialize(DataPayload(data.buffers, data.external_data[TAG]))))
    write_expected(path)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    weights = make_weights()

    payloads, data = fqn_form(weights)
    for method in METHODS:
        (FOLDER / f"{method}.manifest").write_bytes(payloads[method])
        write_manifest_expected(method, weights[method], payloads[method])
    write_program("fqn3_segment", payloads, data, in_segments=True)
    write_program("fqn3_inline", payloads, data, in_segments=False)
    write_data("fqn3", data)

    payloads, data = text_form(weights)
    write_program("text", payloads, data, in_segments=True)
    write_data("text", data)

    payloads, data = empty_form(weights)
    write_program("oldest", payloads, data, in_segments=True)
    write_data("oldest", data)
