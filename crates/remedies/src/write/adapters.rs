//! Adapters (peft) on Hugging Face models, and frozen weights in few bits (bitsandbytes).

use super::{Draft, made, names};
use crate::cannot::CannotWrite;

/// Puts LoRA adapters on the model where it is made.
pub fn add(draft: &mut Draft<'_>, rank: u64, quantised: bool) -> Result<(), CannotWrite> {
    let wanted = ["LoraConfig", "get_peft_model", "prepare_model_for_kbit_training"];
    made::after_model(draft, |facts, model| {
        let (spelled, import) = names::several(facts, "peft", if quantised { &wanted } else { &wanted[..2] });
        let config = format!("{}(r={rank}, lora_alpha={}, target_modules=\"all-linear\")", spelled[0], 2 * rank);
        let adapt = format!("{model} = {}({model}, {config})", spelled[1]);
        let code = match spelled.get(2) {
            // Checkpointing, which it would switch on, is a remedy of its own.
            Some(prepare) => {
                format!("{model} = {prepare}({model}, use_gradient_checkpointing=False)\n{adapt}")
            }
            None => adapt,
        };
        (code, import.into_iter().collect())
    })
}

/// Loads the model with its weights in 4 or 8 bits.
pub fn quantise(draft: &mut Draft<'_>, bits: u64) -> Result<(), CannotWrite> {
    let config = match bits {
        4 => {
            "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_compute_dtype=torch.bfloat16)"
        }
        _ => "BitsAndBytesConfig(load_in_8bit=True)",
    };
    made::load_with(draft, "quantization_config", config, ("transformers", "BitsAndBytesConfig"))
}
