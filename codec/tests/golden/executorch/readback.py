# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""What the executorch package reads back from a FlatTensor .ptd or a .pte file, as plain JSON data.

Made with executorch 1.5.1 and torch 2.15.0 (CPU), Python 3.11. A library of the other scripts here;
by itself it prints one file's description:  python readback.py FILE
"""
import hashlib
import json
import pathlib
import sys

from executorch.exir._serialize._cord import Cord
from executorch.exir._serialize._flatbuffer_program import _flatbuffer_to_program
from executorch.exir._serialize._program import _get_extended_header as program_header
from executorch.exir.scalar_type import ScalarType
from executorch.exir.schema import DataLocation, String, Tensor, TensorDataLocation
from executorch.extension.flat_tensor.serialize import serialize as flat

MUTABLE_LIST_METHOD = "get_mutable_buffer_metadata"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def layout(tensor):
    if tensor is None:
        return None
    return {
        "scalar_type": ScalarType(tensor.scalar_type).name,
        "scalar_type_number": int(tensor.scalar_type),
        "sizes": list(tensor.sizes),
        "dim_order": list(tensor.dim_order),
    }


def describe_flat_tensor(path):
    data = pathlib.Path(path).read_bytes()
    header = flat.FlatTensorHeader.from_bytes(data[8:])
    assert header.is_valid()
    raw = flat._deserialize_to_flat_tensor(data[: header.flatbuffer_offset + header.flatbuffer_size])
    payload = flat.FlatTensorSerializer().deserialize(Cord(data))
    entries = []
    for key, entry in payload.named_data.items():
        blob = bytes(payload.buffers[entry.buffer_index])
        entries.append(
            {
                "key": key,
                "segment_index": entry.buffer_index,
                "size": len(blob),
                "sha256": sha256(blob),
                "tensor_layout": layout(entry.tensor_layout),
            }
        )
    return {
        "file": pathlib.Path(path).name,
        "size": len(data),
        "sha256": sha256(data),
        "identifier": data[4:8].decode(),
        "header": {
            "length": header.length,
            "flatbuffer_offset": header.flatbuffer_offset,
            "flatbuffer_size": header.flatbuffer_size,
            "segment_base_offset": header.segment_base_offset,
            "segment_data_size": header.segment_data_size,
        },
        "version": raw.version,
        "segments": [{"offset": s.offset, "size": s.size} for s in raw.segments],
        "entries": entries,
    }


def program_parts(path):
    """The Program as written (delegates not inlined), the segments' bytes and the header, if any."""
    data = pathlib.Path(path).read_bytes()
    header = program_header(data)
    program = _flatbuffer_to_program(data[: header.program_size] if header else data)
    base = header.segment_base_offset if header else 0
    segments = [data[base + s.offset : base + s.offset + s.size] for s in program.segments]
    return data, program, segments, header


def delegate_payload(program, segments, delegate):
    if delegate.processed.location == DataLocation.INLINE:
        return bytes(program.backend_delegate_data[delegate.processed.index].data)
    return segments[delegate.processed.index]


def describe_program(path):
    data, program, segments, header = program_parts(path)
    methods, mutable_list = [], None
    for plan in program.execution_plan:
        external, buffers = [], []
        for value in plan.values:
            tensor = value.val
            info = tensor.extra_tensor_info if isinstance(tensor, Tensor) else None
            if info is None or not info.fully_qualified_name:
                continue
            mutable = tensor.allocation_info is not None
            row = {"fqn": info.fully_qualified_name, **layout(tensor), "mutable": mutable}
            if info.location == TensorDataLocation.EXTERNAL:
                external.append(row)
            else:
                row["memory_id"] = tensor.allocation_info.memory_id if mutable else None
                row["memory_offset"] = tensor.allocation_info.memory_offset if mutable else None
                row["data_buffer_idx"] = tensor.data_buffer_idx
                buffers.append(row)
        delegates = []
        for delegate in plan.delegates:
            blob = delegate_payload(program, segments, delegate)
            delegates.append(
                {
                    "id": delegate.id,
                    "location": delegate.processed.location.name,
                    "index": delegate.processed.index,
                    "payload_size": len(blob),
                    "payload_sha256": sha256(blob),
                    "compile_specs": {s.key: bytes(s.value).hex() for s in delegate.compile_specs},
                }
            )
        if plan.name == MUTABLE_LIST_METHOD:
            result = plan.values[plan.outputs[0]].val
            assert isinstance(result, String)
            mutable_list = result.string_val
        methods.append(
            {
                "name": plan.name,
                "external_tensors": external,
                "named_internal_tensors": buffers,
                "delegates": delegates,
            }
        )
    return {
        "file": pathlib.Path(path).name,
        "size": len(data),
        "sha256": sha256(data),
        "identifier": data[4:8].decode(),
        "header": header
        and {
            "length": header.length,
            "program_size": header.program_size,
            "segment_base_offset": header.segment_base_offset,
            "segment_data_size": header.segment_data_size,
        },
        "version": program.version,
        "segments": [{"offset": s.offset, "size": s.size} for s in program.segments],
        "named_data": [
            {
                "key": n.key,
                "segment_index": n.segment_index,
                "size": len(segments[n.segment_index]),
                "sha256": sha256(segments[n.segment_index]),
            }
            for n in program.named_data or []
        ],
        "methods": methods,
        "mutable_buffer_metadata": mutable_list,
    }


def describe(path):
    return describe_flat_tensor(path) if str(path).endswith(".ptd") else describe_program(path)


def write_expected(path, **more):
    """Writes NAME.EXT.expected.json beside NAME.EXT."""
    path = pathlib.Path(path)
    expected = {**describe(path), **more}
    path.with_name(path.name + ".expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    return expected


if __name__ == "__main__":
    print(json.dumps(describe(sys.argv[1]), indent=1))
