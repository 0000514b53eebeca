"""What accelerate's `estimate-memory` and DeepSpeed's estimators say of the ten models. Prints JSON."""

from __future__ import annotations

import contextlib
import io
import json
from importlib.metadata import version

import torch
from cases import CASES, Case
from models import build, upper_part

GIB = 2**30


def on_the_hub(case: Case):
    """What `estimate-memory` would build without weights for a case, or nothing: it knows names on the hub only."""
    import timm
    from transformers import AutoModel, GPT2Config

    if case.name == "cnn":
        return timm.create_model("resnet50", pretrained=False)
    if case.name == "vit":
        return timm.create_model("vit_base_patch16_224", pretrained=False)
    if case.name == "llama-1b":
        return AutoModel.from_config(upper_part(case, "kw = ")["cfg"])
    if case.name == "trainer":
        return AutoModel.from_config(GPT2Config())
    if case.name == "lora":
        # The model below the adapters: what a person would ask it about.
        return AutoModel.from_config(build(case.name, "meta").models[0].get_base_model().config)
    return None


def accelerate_says(case: Case) -> dict:
    """`accelerate estimate-memory`, from the functions below its command: its column "Training using Adam"."""
    from accelerate import init_empty_weights
    from accelerate.commands.estimate import estimate_training_usage
    from accelerate.utils import calculate_maximum_sizes

    with init_empty_weights():
        model = on_the_hub(case)
    if model is None:
        return {"gib": None, "says": "not on the hub"}
    total, _ = calculate_maximum_sizes(model)
    full = max(estimate_training_usage(total, "float32").values()) / GIB
    half = max(estimate_training_usage(total, "float16").values()) / GIB
    return {"gib": round(full, 2), "float16_gib": round(half, 2), "says": verdict(full, case)}


def verdict(gib: float, case: Case) -> str:
    """An estimate held against the card, beside what the script really needs."""
    needs = case.as_is["reserved_bytes"] / GIB
    fits = "fits" if gib <= case.cap_gib else "does not fit"
    mark = "wrong" if fits == "fits" else "right"
    return f"{gib:.2f} GiB of {needs:.2f}: {fits} ({mark})"


def deepspeed_says(case: Case) -> dict:
    """`estimate_zero2/3_model_states_mem_needs` for one card, without and with offload."""
    from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs as zero3
    from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs as zero2

    model = torch.nn.ModuleList(build(case.name, "meta").models)
    total = sum(p.numel() for p in model.parameters())
    largest = max(sum(p.numel() for p in m.parameters(recurse=False)) for m in model.modules())
    answers = {
        "zero2": zero2(total, cpu_offload=False)[1],
        "zero2_offload": zero2(total, cpu_offload=True)[1],
        "zero3": zero3(total, largest, cpu_offload=False)[1],
        "zero3_offload": zero3(total, largest, cpu_offload=True, cpu_offload_params=True)[1],
    }
    gib = {name: round(bytes_ / GIB, 2) for name, bytes_ in answers.items()}
    says = f"ZeRO-2 {verdict(gib['zero2'], case)}; ZeRO-3 {gib['zero3']:.2f}, offloaded {gib['zero3_offload']:.2f}"
    return {"parameters": total, **gib, "says": says}


def main() -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        told = {
            case.name: {"estimate-memory": accelerate_says(case), "deepspeed": deepspeed_says(case)} for case in CASES
        }
    packages = ("torch", "transformers", "accelerate", "deepspeed", "timm", "pulp", "pwlf")
    print(json.dumps({"versions": {name: version(name) for name in packages}, "cases": told}))


if __name__ == "__main__":
    main()
