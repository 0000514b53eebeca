//! The whole model in bfloat16.

use super::{Draft, made, names};
use crate::cannot::CannotWrite;
use crate::remedies::main_model;

/// Casts the model where it is made; a model that is fed with floating-point input casts that too.
pub fn write(draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
    let takes_numbers = main_model(draft.script).is_some_and(|model| model.huggingface);
    draft.note("updates smaller than 1/256 of a weight are lost to rounding: watch that the loss still falls");
    made::after_model(draft, |facts, model| {
        let (torch, import) = names::module(facts, "torch");
        let cast = format!("{model} = {model}.to({torch}.bfloat16)");
        let inputs = format!(
            "{model}.register_forward_pre_hook(\n    lambda module, inputs: tuple(\n        x.to({torch}.bfloat16) if {torch}.is_tensor(x) and x.is_floating_point() else x for x in inputs\n    )\n)"
        );
        let code = if takes_numbers { cast } else { format!("{cast}\n{inputs}") };
        (code, import.into_iter().collect())
    })
}
