# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""Exports a small two-method transformer and a training graph with external constants, on the CPU.

Made with executorch 1.5.1 and torch 2.15.0 (CPU), Python 3.11, portable operators only:
    python make_exports.py                               # the committed files, in export/
    python make_exports.py --size larger --out DIRECTORY # tens of megabytes, not committed

One model, seeded weights (bfloat16). Its methods prefill and decode share the embedding (tied with
the output head), the layers and a key and a value cache per layer; each has an adapter and a final
norm of its own. Written: model.pte + model.ptd (both methods in one program), and prefill.pte/.ptd
and decode.pte/.ptd (the same model, one method a file pair).
"""
import argparse
import json
import pathlib

import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch.export import export
from torch.export.experimental import _export_forward_backward

from readback import MUTABLE_LIST_METHOD, sha256, write_expected

SIZES = {
    "small": dict(dim=64, layers=2, heads=4, hidden=96, vocab=256, rank=4, length=16),
    "larger": dict(dim=512, layers=8, heads=8, hidden=1536, vocab=8192, rank=16, length=128),
}
PROMPT = 8


class Norm(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(1 + 0.1 * torch.randn(dim))

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.weight


class Cache(torch.nn.Module):
    def __init__(self, heads, length, size):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, heads, length, size))
        self.register_buffer("v", torch.zeros(1, heads, length, size))

    def update(self, positions, k, v):
        self.k[:, :, positions] = k
        self.v[:, :, positions] = v
        return self.k, self.v


class Attention(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c["heads"]
        self.qkv = torch.nn.Linear(c["dim"], 3 * c["dim"], bias=False)
        self.out = torch.nn.Linear(c["dim"], c["dim"], bias=False)
        self.kv_cache = Cache(c["heads"], c["length"], c["dim"] // c["heads"])

    def forward(self, x, positions):
        batch, count, dim = x.shape
        q, k, v = self.qkv(x).view(batch, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        k, v = self.kv_cache.update(positions, k, v)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        visible = torch.arange(k.shape[2]) <= positions.unsqueeze(1)
        scores = torch.where(visible, scores, torch.full_like(scores, -1e9))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, count, dim))


class Layer(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm1, self.norm2 = Norm(c["dim"]), Norm(c["dim"])
        self.attention = Attention(c)
        self.up = torch.nn.Linear(c["dim"], c["hidden"], bias=False)
        self.down = torch.nn.Linear(c["hidden"], c["dim"], bias=False)

    def forward(self, x, positions):
        x = x + self.attention(self.norm1(x), positions)
        return x + self.down(torch.sigmoid(self.up(self.norm2(x))))


class Adapter(torch.nn.Module):
    def __init__(self, dim, rank):
        super().__init__()
        self.a = torch.nn.Linear(dim, rank, bias=False)
        self.b = torch.nn.Linear(rank, dim, bias=False)

    def forward(self, x):
        return x + self.b(self.a(x))


class Model(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed = torch.nn.Embedding(c["vocab"], c["dim"])
        self.layers = torch.nn.ModuleList(Layer(c) for _ in range(c["layers"]))
        self.prefill_adapter, self.decode_adapter = (Adapter(c["dim"], c["rank"]) for _ in "pd")
        self.prefill_norm, self.decode_norm = Norm(c["dim"]), Norm(c["dim"])
        self.head = torch.nn.Linear(c["dim"], c["vocab"], bias=False)
        self.head.weight = self.embed.weight

    def run(self, tokens, positions, adapter, norm):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, positions)
        return self.head(norm(adapter(x)))

    def prefill(self, tokens, positions):
        return self.run(tokens, positions, self.prefill_adapter, self.prefill_norm)

    def decode(self, tokens, positions):
        return self.run(tokens, positions, self.decode_adapter, self.decode_norm)


def inputs(method):
    if method == "prefill":
        return torch.arange(PROMPT).unsqueeze(0) * 3 + 1, torch.arange(PROMPT)
    return torch.tensor([[42]]), torch.tensor([PROMPT])


def export_method(model, method):
    model.forward = getattr(model, method)
    try:
        return export(model, inputs(method), strict=False)
    finally:
        del model.forward


def write(program, folder, name, config):
    program = program.to_executorch(config)
    (folder / f"{name}.pte").write_bytes(program.buffer)
    program.write_tensor_data_to_file(str(folder))


def run(folder, name, methods):
    """The outputs of the package's own runtime, each method on the fixed inputs in a fresh load."""
    from executorch.runtime import Runtime

    results = []
    for method in methods:
        program = Runtime.get().load_program(folder / f"{name}.pte", data_path=folder / f"{name}.ptd")
        (logits,) = program.load_method(method).execute(inputs(method))
        results.append(
            {
                "method": method,
                "inputs": [t.tolist() for t in inputs(method)],
                "output_shape": list(logits.shape),
                "output_sha256": sha256(logits.contiguous().view(torch.uint8).numpy().tobytes()),
                "last_argmax": int(logits[0, -1].float().argmax()),
            }
        )
    return results


def make_transformer(folder, size):
    torch.manual_seed(20260101)
    model = Model(SIZES[size]).eval().to(torch.bfloat16).requires_grad_(False)
    mutable = [n for n, _ in model.named_buffers() if ".kv_cache." in n]
    metadata = json.dumps({"version": 1, "mutable_buffers": mutable})
    for name, methods in {
        "model": ["prefill", "decode"],
        "prefill": ["prefill"],
        "decode": ["decode"],
    }.items():
        program = to_edge(
            {m: export_method(model, m) for m in methods},
            constant_methods={MUTABLE_LIST_METHOD: metadata},
        )
        config = ExecutorchBackendConfig(
            external_constants=lambda node: name,
            emit_mutable_buffer_names=True,
            memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=len(methods) > 1),
            passes=[InitializedMutableBufferPass(["kv_cache"])],
        )
        write(program, folder, name, config)
        write_expected(folder / f"{name}.pte", runs=run(folder, name, methods))
        write_expected(folder / f"{name}.ptd")


class Training(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 3)
        self.register_buffer("frozen", torch.randn(4))
        self.loss = torch.nn.CrossEntropyLoss()

    def forward(self, x, label):
        return self.loss(self.net(x * self.frozen), label)


def make_training(folder):
    torch.manual_seed(20260102)
    program = export(Training(), (torch.randn(2, 4), torch.tensor([0, 2])), strict=True)
    program = to_edge(_export_forward_backward(program))
    program = program.to_executorch(ExecutorchBackendConfig(external_mutable_weights=True))
    (folder / "training.pte").write_bytes(program.buffer)
    program.write_tensor_data_to_file(str(folder))
    (folder / "_default_external_constant.ptd").rename(folder / "training.ptd")
    write_expected(folder / "training.pte")
    write_expected(folder / "training.ptd")


class Scale(torch.nn.Module):
    def __init__(self, value):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((4,), value), requires_grad=False)

    def forward(self, x):
        return x * self.weight


def make_small(folder):
    """A channels-last weight, and two methods whose weights have one name and different bytes."""
    torch.manual_seed(20260103)
    conv = torch.nn.Conv2d(3, 2, 3).to(memory_format=torch.channels_last).requires_grad_(False)
    image = torch.ones(1, 3, 8, 8).to(memory_format=torch.channels_last)
    programs = {
        "channels_last": {"forward": export(conv, (image,))},
        "clash": {m: export(Scale(v), (torch.ones(4),)) for m, v in {"ones": 1.0, "twos": 2.0}.items()},
    }
    for name, methods in programs.items():
        write(to_edge(methods), folder, name, ExecutorchBackendConfig(external_constants=lambda node: name))
        write_expected(folder / f"{name}.pte")
        write_expected(folder / f"{name}.ptd")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "export")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    make_transformer(arguments.out, arguments.size)
    if arguments.size == "small":
        make_training(arguments.out)
        make_small(arguments.out)
