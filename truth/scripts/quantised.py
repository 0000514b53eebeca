"""Training with bitsandbytes: a Llama of 0.2 G parameters, three steps. `python quantised.py CASE`; cases below."""

import sys
import tempfile

import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

CONFIG = LlamaConfig(
    vocab_size=16000,
    hidden_size=1024,
    intermediate_size=2816,
    num_hidden_layers=12,
    num_attention_heads=16,
    num_key_value_heads=16,
    use_cache=False,
)
FOUR_BITS = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": torch.bfloat16}
EIGHT_BITS = {"load_in_8bit": True}


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        ids = torch.randint(0, CONFIG.vocab_size, (512,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


def loaded(bits, **options):
    """The model saved in bfloat16 and loaded quantised."""
    with tempfile.TemporaryDirectory() as folder:
        LlamaForCausalLM(CONFIG).to(torch.bfloat16).save_pretrained(folder)
        quantization = BitsAndBytesConfig(**bits)
        return LlamaForCausalLM.from_pretrained(folder, quantization_config=quantization, device_map={"": 0}, **options)


def loop(model, optimizer, batch=4):
    for _ in range(3):
        ids = torch.randint(0, CONFIG.vocab_size, (batch, 512), device="cuda")
        # Kept until the next one is there, as in most loops: what 8-bit products hold on to goes with it.
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def with_adapters(model, batch=4, training=False):
    """As loaded, in evaluation mode, unless it has to be in training mode for its checkpoints."""
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear")).train(training)
    loop(model, torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4), batch)


def adamw8bit():
    import bitsandbytes

    model = LlamaForCausalLM(CONFIG).cuda()
    loop(model, bitsandbytes.optim.AdamW8bit(model.parameters(), lr=1e-4))


def trainer_adamw8bit():
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=4,
        max_steps=3,
        optim="adamw_bnb_8bit",
        bf16=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    Trainer(model=LlamaForCausalLM(CONFIG), args=arguments, train_dataset=Tokens()).train()


CASES = {
    "adamw8bit": adamw8bit,
    "trainer-adamw8bit": trainer_adamw8bit,
    "qlora": lambda: with_adapters(
        prepare_model_for_kbit_training(loaded(FOUR_BITS), use_gradient_checkpointing=False)
    ),
    "qlora-checkpointed": lambda: with_adapters(
        prepare_model_for_kbit_training(loaded(FOUR_BITS)), batch=8, training=True
    ),
    "lora-8bit": lambda: with_adapters(
        prepare_model_for_kbit_training(loaded(EIGHT_BITS), use_gradient_checkpointing=False)
    ),
    "weights-4bit": lambda: with_adapters(loaded(FOUR_BITS, dtype=torch.bfloat16)),
    "weights-8bit": lambda: with_adapters(loaded(EIGHT_BITS, dtype=torch.bfloat16)),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    CASES[sys.argv[1]]()
    torch.cuda.synchronize()
    print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
