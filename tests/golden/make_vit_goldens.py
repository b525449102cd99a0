#!/usr/bin/env python3
"""Make golden numbers for Vision Transformer training with the real timm and PyTorch.

See README.md beside this file.  Everything runs in fp32 on one CPU thread with deterministic
algorithms; gradients are computed once more in fp64 from the same parameters and inputs.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import timm
import torch
from timm.layers import set_fused_attn
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn
from torch.nn import functional

STEPS = 10
NOISE_STD = 0.05
ADAMW = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05}
SGD = {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.05}
CLIP_NORM = 1.0
DTYPE_NAMES = {torch.float32: "float32", torch.float64: "float64", torch.int32: "int32"}
COUNTS_FILE = "timm_parameter_counts.json"
COUNTED_CLASSES = 1000
COUNTED_MODELS = (
    "vit_tiny_patch16_224",
    "vit_small_patch16_224",
    "vit_small_patch32_224",
    "vit_base_patch8_224",
    "vit_base_patch16_224",
    "vit_base_patch16_384",
    "vit_base_patch32_224",
    "vit_large_patch14_224",
    "vit_large_patch16_224",
    "vit_large_patch16_384",
    "vit_large_patch32_224",
    "vit_huge_patch14_224",
    "vit_giant_patch14_224",
    "vit_gigantic_patch14_224",
    "deit_tiny_patch16_224",
    "deit_small_patch16_224",
    "deit_base_patch16_224",
    "deit_base_patch16_384",
)


class Golden(NamedTuple):
    name: str
    image_size: int
    patch_size: int
    width: int
    depth: int
    heads: int
    classes: int
    batch: int
    seed: int
    class_token: bool = True  # without: mean over tokens, after the last norm
    sgd: bool = False  # SGD with momentum and clipped gradients instead of AdamW


GOLDENS = (
    Golden(
        name="tiny_erf",
        image_size=16,
        patch_size=4,
        width=32,
        depth=2,
        heads=2,
        classes=10,
        batch=4,
        seed=1,
    ),
    Golden(
        name="odd_shapes",
        image_size=24,
        patch_size=8,
        width=24,
        depth=1,
        heads=3,
        classes=7,
        batch=3,
        seed=2,
    ),
    Golden(
        name="sgd_clipped",
        image_size=24,
        patch_size=8,
        width=24,
        depth=1,
        heads=3,
        classes=7,
        batch=3,
        seed=3,
        sgd=True,
    ),
    Golden(
        name="mean_pool",
        image_size=16,
        patch_size=8,
        width=24,
        depth=2,
        heads=3,
        classes=5,
        batch=3,
        seed=4,
        class_token=False,
    ),
)


def make_model(golden: Golden, generator: torch.Generator) -> VisionTransformer:
    """Build the model with timm's initialisation and add noise to every parameter."""
    torch.manual_seed(golden.seed)
    model = VisionTransformer(
        img_size=golden.image_size,
        patch_size=golden.patch_size,
        in_chans=3,
        num_classes=golden.classes,
        embed_dim=golden.width,
        depth=golden.depth,
        num_heads=golden.heads,
        mlp_ratio=4.0,
        qkv_bias=True,
        class_token=golden.class_token,
        global_pool="token" if golden.class_token else "avg",
        fc_norm=False,
        act_layer=nn.GELU,
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += NOISE_STD * torch.randn(parameter.shape, generator=generator)
    return model.train()


def layer_norm_epsilon(model: nn.Module) -> float:
    """Return the one epsilon that all layer norms of the model share."""
    (epsilon,) = {m.eps for m in model.modules() if isinstance(m, nn.LayerNorm)}
    return epsilon


def mlp_activation(model: VisionTransformer) -> str:
    """Name the activation: `gelu_erf` (exact), `gelu_tanh`, or the class's name."""
    activation = model.blocks[0].mlp.act
    if isinstance(activation, nn.GELU):
        return "gelu_erf" if activation.approximate == "none" else "gelu_tanh"
    return type(activation).__name__


def backward(model: nn.Module, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Fill the gradients; return the logits and the mean cross entropy."""
    model.zero_grad(set_to_none=True)
    logits = model(images)
    loss = functional.cross_entropy(logits, labels)
    loss.backward()
    return logits.detach(), loss.detach()


def parameters_of(model: nn.Module, prefix: str) -> dict[str, Tensor]:
    return {prefix + name: p.detach().clone() for name, p in model.named_parameters()}


def gradients_of(model: nn.Module, prefix: str) -> dict[str, Tensor]:
    return {prefix + name: p.grad.clone() for name, p in model.named_parameters()}


def train(golden: Golden, model: nn.Module, images: Tensor, labels: Tensor) -> list[float]:
    """Take STEPS optimizer steps on one batch; return the loss before each step."""
    optimizer = (
        torch.optim.SGD(model.parameters(), **SGD)
        if golden.sgd
        else torch.optim.AdamW(model.parameters(), **ADAMW)
    )
    losses, norms = [], []
    for _ in range(STEPS):
        _, loss = backward(model, images, labels)
        losses.append(loss.item())
        if golden.sgd:
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM).item())
        optimizer.step()
    if golden.sgd and not min(norms) < CLIP_NORM < max(norms):
        raise RuntimeError(f"the steps must be clipped and not clipped, norms are {norms}")
    return losses


def optimizer_settings(golden: Golden) -> dict[str, Any]:
    if golden.sgd:
        return {
            "name": "sgd",
            "learning_rate": SGD["lr"],
            "momentum": SGD["momentum"],
            "weight_decay": SGD["weight_decay"],
            "weight_decay_on": "all parameters",
            "clip_norm": CLIP_NORM,
            "steps": STEPS,
        }
    return {
        "name": "adamw",
        "learning_rate": ADAMW["lr"],
        "beta1": ADAMW["betas"][0],
        "beta2": ADAMW["betas"][1],
        "epsilon": ADAMW["eps"],
        "weight_decay": ADAMW["weight_decay"],
        "weight_decay_on": "all parameters",
        "steps": STEPS,
    }


def compute(golden: Golden) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the description, without the list of tensors, and the tensors by name."""
    generator = torch.Generator().manual_seed(golden.seed)
    model = make_model(golden, generator)
    image_shape = (golden.batch, 3, golden.image_size, golden.image_size)
    images = torch.randn(image_shape, generator=generator)
    labels = torch.randint(golden.classes, (golden.batch,), generator=generator)

    tensors = {"images": images, "labels": labels.to(torch.int32)}
    tensors |= parameters_of(model, "parameters/")
    double_model = copy.deepcopy(model).double()
    tensors["logits"], loss = backward(model, images, labels)
    tensors |= gradients_of(model, "gradients/")
    backward(double_model, images.double(), labels)
    tensors |= gradients_of(double_model, "gradients_fp64/")
    losses = train(golden, model, images, labels)
    tensors |= parameters_of(model, f"after_{STEPS}_steps/")
    return describe(golden, model, loss.item(), losses), tensors


def describe(
    golden: Golden, model: VisionTransformer, loss: float, losses: list[float]
) -> dict[str, Any]:
    return {
        "schema": "paceline/golden/1",
        "name": golden.name,
        "made_with": {"torch": torch.__version__, "timm": timm.__version__, "seed": golden.seed},
        "model": {
            "image_size": golden.image_size,
            "patch_size": golden.patch_size,
            "channels": 3,
            "width": golden.width,
            "depth": golden.depth,
            "heads": golden.heads,
            "mlp_hidden": model.blocks[0].mlp.fc1.out_features,
            "classes": golden.classes,
            "class_token": golden.class_token,
            "layer_norm_epsilon": layer_norm_epsilon(model),
            "activation": mlp_activation(model),
        },
        "batch": golden.batch,
        "optimizer": optimizer_settings(golden),
        "loss": loss,
        "losses": losses,
    }


def pack(tensors: dict[str, Tensor]) -> tuple[list[dict[str, Any]], bytes]:
    """Lay the tensors end to end, float64 ones first so that each is aligned to its size."""
    entries: list[dict[str, Any]] = []
    content = bytearray()
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        entries.append(
            {
                "name": name,
                "shape": list(tensor.shape),
                "dtype": DTYPE_NAMES[tensor.dtype],
                "offset_bytes": len(content),
            }
        )
        array = tensor.contiguous().numpy()
        content += array.astype(array.dtype.newbyteorder("<")).tobytes()
    return entries, bytes(content)


def to_json(head: dict[str, Any], list_name: str, lines: list[Any]) -> str:
    """Render `head` and, as its last member, a list with one element a line."""
    body = json.dumps(head, indent=2).removesuffix("\n}")
    rows = ",\n".join("    " + json.dumps(line) for line in lines)
    return f'{body},\n  "{list_name}": [\n{rows}\n  ]\n}}\n'


def write_atomically(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)


def write_golden(golden: Golden, out: Path) -> None:
    description, tensors = compute(golden)
    entries, content = pack(tensors)
    head = description | {"data": {"file": f"{golden.name}.bin", "bytes": len(content)}}
    write_atomically(out / f"{golden.name}.bin", content)
    text = to_json(head, "tensors", entries)
    write_atomically(out / f"{golden.name}.json", text.encode("ascii"))
    print(f"{golden.name}: {len(entries)} tensors, {len(content)} bytes, loss {head['loss']:.6f}")


def count_parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def model_facts(model: VisionTransformer) -> dict[str, Any]:
    block = model.blocks[0]
    (image_size,) = set(model.patch_embed.img_size)
    (patch_size,) = set(model.patch_embed.patch_size)
    return {
        "parameters": count_parameters(model),
        "image_size": image_size,
        "patch_size": patch_size,
        "channels": model.patch_embed.proj.in_channels,
        "embed_dim": model.embed_dim,
        "depth": len(model.blocks),
        "num_heads": block.attn.num_heads,
        "mlp_hidden": block.mlp.fc1.out_features,
        "num_classes": model.num_classes,
        "layer_norm_epsilon": layer_norm_epsilon(model),
        "activation": mlp_activation(model),
        "activation_class": type(block.mlp.act).__name__,
        "global_pool": model.global_pool,
        "fc_norm": isinstance(model.fc_norm, nn.LayerNorm),
        "class_token": model.has_class_token,
        "qkv_bias": block.attn.qkv.bias is not None,
    }


def named_model_facts(name: str) -> dict[str, Any]:
    """Facts of the 1000-class model, and what timm makes when not told the classes.

    timm's own default is no head (0 classes) for some models.
    """
    with torch.device("meta"):
        model = timm.create_model(name, pretrained=False, num_classes=COUNTED_CLASSES)
        default = timm.create_model(name, pretrained=False)
    return model_facts(model) | {
        "timm_default_num_classes": default.num_classes,
        "timm_default_parameters": count_parameters(default),
    }


def write_counts(out: Path) -> None:
    facts = {name: named_model_facts(name) for name in COUNTED_MODELS}
    document = {
        "schema": "paceline/golden_counts/1",
        "timm": timm.__version__,
        "counts": {name: fact.pop("parameters") for name, fact in facts.items()},
        "models": facts,
    }
    write_atomically(out / COUNTS_FILE, (json.dumps(document, indent=2) + "\n").encode("ascii"))
    print(f"{COUNTS_FILE}: {len(facts)} models")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make golden numbers with timm and PyTorch.")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        default=Path(__file__).resolve().parent,
        help="existing output folder (default: the folder of this script)",
    )
    parser.add_argument(
        "--counts", action="store_true", help=f"write only {COUNTS_FILE}, not the goldens"
    )
    parser.add_argument(
        "--only", metavar="NAME", choices=[g.name for g in GOLDENS], help="write only this golden"
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    set_fused_attn(False)  # the written-out attention, not a kernel that torch may change
    if arguments.counts:
        write_counts(arguments.out)
        return 0
    for golden in GOLDENS:
        if arguments.only not in (None, golden.name):
            continue
        write_golden(golden, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
