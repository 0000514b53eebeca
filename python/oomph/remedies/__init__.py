"""Remedies: changes to an unmodified script's run, as if a person had written them into it.

One file a remedy, named after its id. Each has `install(wish)`, which hooks what it must (see hooks/) and says through
the wish whether it took effect. A remedy keeps no tensor and copies none beyond what it is, so that what is measured is
the script with the remedy in it.
"""

from importlib import import_module

# Remedy id -> its module in this package.
TABLE = {
    "expandable-segments": "expandable_segments",
    "set-to-none": "set_to_none",
    "no-grad-eval": "no_grad_eval",
    "eval-batch": "eval_batch",
    "eval-accumulation": "eval_accumulation",
    "optimizer-fused": "optimizer_fused",
    "optimizer-loop": "optimizer_loop",
    "sdpa": "sdpa",
    "channels-last": "channels_last",
    "chunked-loss": "chunked_loss",
    "bf16-autocast": "bf16_autocast",
    "fp16-autocast": "fp16_autocast",
    "bf16-pure": "bf16_pure",
    "checkpoint": "checkpoint",
    "micro-batch": "micro_batch",
    "activation-offload": "activation_offload",
    "step-in-backward": "step_in_backward",
    "optimizer-offload": "optimizer_offload",
    "optimizer-8bit": "optimizer_8bit",
    "optimizer-4bit": "optimizer_4bit",
    "adafactor": "adafactor",
    "sgd": "sgd",
    "lora": "lora",
    "qlora": "qlora",
    "weights-8bit": "weights_8bit",
    "weights-4bit": "weights_4bit",
    "freeze": "freeze",
    "shorter-input": "shorter_input",
}


def install(session) -> None:
    """Hook everything that this session wishes for, in its order."""
    from oomph.guard import guarded
    from oomph.remedies.wish import Wish

    for one in session.remedies:
        wish = Wish(one["id"], one.get("settings") or {})
        module = TABLE.get(wish.id)
        if module is None:
            wish.refused("this version of oomph does not know it")
            continue
        guarded(import_module(f"oomph.remedies.{module}").install)(wish)
