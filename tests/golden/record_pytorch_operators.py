#!/usr/bin/env python3
"""Record what PyTorch's dispatcher is asked for in one training step of a timm ViT.

Each file in pytorch_operators/ holds one step: operators in order with the sizes and types of their
tensors, and the bytes that autograd saves.  Operators whose results share memory with an argument
(views) or have no elements launch nothing and are left out.  See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import timm
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

CASES = [
    (model, batch, precision, checkpointing)
    for model in ("vit_tiny_patch16_224", "vit_base_patch16_224")
    for batch in (2, 3)
    for precision in ("fp32", "amp_bf16")
    for checkpointing in ("none", "full")
]
HALF = {"amp_bf16": torch.bfloat16, "amp_fp16": torch.float16}


def signature(tensor: torch.Tensor) -> str:
    """Type and shape, as "float32[2,197,192]"."""
    return f"{str(tensor.dtype)[6:]}{list(tensor.shape)}".replace(" ", "")


class Recorder(TorchDispatchMode):
    """Notes each operator that is no view, with the phase it belongs to."""

    def __init__(self) -> None:
        super().__init__()
        self.phase = "forward"
        self.operators: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        inputs = [t for t in tree_leaves((args, kwargs or {})) if isinstance(t, torch.Tensor)]
        outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
        storages = {t.untyped_storage().data_ptr() for t in inputs}
        in_place = any(r.alias_info and r.alias_info.is_write for r in func._schema.returns)
        views = outputs and all(t.untyped_storage().data_ptr() in storages for t in outputs)
        empty = outputs and all(t.numel() == 0 for t in outputs)
        launches = not empty and (in_place or not views)
        if str(func).startswith("aten.") and launches:
            most = 8
            shown = [signature(t) for t in inputs[:most]] + (["…"] if len(inputs) > most else [])
            made = [signature(t) for t in outputs if t.numel()]
            if in_place or len(made) > most:
                made = []
            self.operators.append(
                f"{self.phase} {func} ({' '.join(shown)}) -> ({' '.join(made)})")
        return result


def record(case: tuple[str, int, str, str], device: str, optimizer: str) -> dict[str, Any]:
    """One step after a first one, so that optimizer state and gradients are as in every later step."""
    name, batch, precision, checkpointing = case
    torch.manual_seed(0)
    model = timm.create_model(name).to(device).train()
    model.set_grad_checkpointing(checkpointing == "full")
    update = torch.optim.AdamW(model.parameters(), **{optimizer: True})
    size = model.patch_embed.img_size[0]
    images = torch.randn(batch, 3, size, size, device=device)
    labels = torch.randint(0, 1000, (batch,), device=device)
    half = HALF.get(precision)
    autocast = torch.autocast(device, dtype=half or torch.bfloat16, enabled=half is not None)
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    own |= {images.untyped_storage().data_ptr(), labels.untyped_storage().data_ptr()}
    for _ in range(2):
        recorder = Recorder()
        saved: dict[int, int] = {}

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in own:
                saved[storage.data_ptr()] = storage.nbytes()
            return tensor

        update.zero_grad(set_to_none=True)
        with recorder:
            with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
                with autocast:
                    loss = torch.nn.functional.cross_entropy(model(images), labels)
            recorder.phase = "backward"
            loss.backward()
            recorder.phase = "optimizer"
            update.step()
    table = sorted(set(recorder.operators))
    index = {text: i for i, text in enumerate(table)}
    return {
        "model": name, "micro_batch": batch, "precision": precision,
        "activation_checkpointing": checkpointing, "optimizer_kernels": optimizer,
        "device": device, "torch": torch.__version__, "timm": timm.__version__,
        "saved_bytes": None if checkpointing == "full" else sum(saved.values()),
        "operators": table, "order": [index[text] for text in recorder.operators],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "pytorch_operators")
    parser.add_argument("--optimizer", default="fused", choices=("fused", "foreach"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        result = record(case, arguments.device, arguments.optimizer)
        name, batch, precision, checkpointing = case
        file = f"{name}_{batch}_{precision}_{checkpointing}_{arguments.device}.json"
        (arguments.out / file).write_text(json.dumps(result, separators=(",", ":")) + "\n")
        print(file, len(result["order"]), result["saved_bytes"])


if __name__ == "__main__":
    main()
