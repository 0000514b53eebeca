//! A plan as settings of a framework: arguments for Trainer, accelerate and Lightning.

use serde_json::{Map, Value, json};

use crate::remedy::Choice;
use crate::script::Framework;

/// What to give a framework, and what it has no argument for.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub framework: Framework,
    /// Arguments by name: of `TrainingArguments`, `Accelerator`, or Lightning's `Trainer`.
    pub arguments: Map<String, Value>,
    /// Variables to set before the script is run.
    pub environment: Vec<(String, String)>,
    /// Remedies of the plan that the framework has no argument for.
    pub left_out: Vec<&'static str>,
}

/// The settings of a framework that do what a plan says.
pub fn config(choices: &[Choice], framework: Framework) -> Config {
    let mut config = Config { framework, arguments: Map::new(), environment: Vec::new(), left_out: Vec::new() };
    for choice in choices {
        if choice.id() == "expandable-segments" {
            let value = "expandable_segments:True".to_owned();
            config.environment.push(("PYTORCH_CUDA_ALLOC_CONF".to_owned(), value));
            continue;
        }
        let found = match framework {
            Framework::Trainer => trainer(choice),
            Framework::Lightning => lightning(choice),
            Framework::Accelerate => accelerate(choice),
            Framework::Plain => None,
        };
        match found {
            Some(arguments) => config.arguments.extend(arguments),
            None => config.left_out.push(choice.id()),
        }
    }
    config
}

type Arguments = Vec<(String, Value)>;

fn one(name: &str, value: Value) -> Option<Arguments> {
    Some(vec![(name.to_owned(), value)])
}

fn setting(choice: &Choice, key: &str) -> Value {
    choice.settings.get(key).cloned().unwrap_or(Value::Null)
}

fn trainer(choice: &Choice) -> Option<Arguments> {
    match choice.id() {
        "bf16-autocast" => one("bf16", json!(true)),
        "fp16-autocast" => one("fp16", json!(true)),
        "checkpoint" => Some(vec![
            ("gradient_checkpointing".to_owned(), json!(true)),
            ("gradient_checkpointing_kwargs".to_owned(), json!({"use_reentrant": false})),
        ]),
        "micro-batch" => Some(vec![
            ("per_device_train_batch_size".to_owned(), setting(choice, "rows")),
            ("gradient_accumulation_steps".to_owned(), setting(choice, "parts")),
        ]),
        "eval-batch" => one("per_device_eval_batch_size", setting(choice, "rows")),
        "eval-accumulation" => one("eval_accumulation_steps", setting(choice, "steps")),
        "optimizer-fused" => one("optim", json!("adamw_torch_fused")),
        "optimizer-8bit" => match choice.settings.get("package").and_then(|p| p.as_str()) {
            Some("torchao") => one("optim", json!("adamw_torch_8bit")),
            _ => one("optim", json!("adamw_bnb_8bit")),
        },
        "optimizer-4bit" => one("optim", json!("adamw_torch_4bit")),
        "adafactor" => one("optim", json!("adafactor")),
        "sgd" => one("optim", json!("sgd")),
        _ => None,
    }
}

fn lightning(choice: &Choice) -> Option<Arguments> {
    match choice.id() {
        "bf16-autocast" => one("precision", json!("bf16-mixed")),
        "fp16-autocast" => one("precision", json!("16-mixed")),
        "bf16-pure" => one("precision", json!("bf16-true")),
        "micro-batch" => one("accumulate_grad_batches", setting(choice, "parts")),
        _ => None,
    }
}

fn accelerate(choice: &Choice) -> Option<Arguments> {
    match choice.id() {
        "bf16-autocast" => one("mixed_precision", json!("bf16")),
        "fp16-autocast" => one("mixed_precision", json!("fp16")),
        "micro-batch" => one("gradient_accumulation_steps", setting(choice, "parts")),
        _ => None,
    }
}

impl Config {
    /// As a file that people keep: JSON for Trainer, YAML for accelerate, keyword arguments for Lightning.
    pub fn text(&self) -> String {
        match self.framework {
            Framework::Accelerate => self.arguments.iter().map(|(k, v)| format!("{k}: {}\n", bare(v))).collect(),
            Framework::Lightning => {
                let all: Vec<String> = self.arguments.iter().map(|(k, v)| format!("{k}={}", python(v))).collect();
                format!("Trainer({})\n", all.join(", "))
            }
            _ => format!("{:#}\n", Value::Object(self.arguments.clone())),
        }
    }

    /// As options of a script that parses `TrainingArguments`: `--bf16 --per_device_train_batch_size 4`.
    pub fn flags(&self) -> Vec<String> {
        let flag = |(name, value): (&String, &Value)| match value {
            Value::Bool(true) => vec![format!("--{name}")],
            value => vec![format!("--{name}"), bare(value)],
        };
        self.arguments.iter().flat_map(flag).collect()
    }
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn python(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Vec<Choice> {
        let choice = |id: &str, settings: Value| Choice {
            remedy: crate::find(id).expect("a remedy"),
            settings: settings.as_object().cloned().unwrap_or_default(),
        };
        vec![
            choice("expandable-segments", json!({})),
            choice("sdpa", json!({})),
            choice("bf16-autocast", json!({})),
            choice("micro-batch", json!({"parts": 4, "batch": 8, "rows": 2})),
        ]
    }

    #[test]
    fn trainer_gets_fields_and_flags() {
        let config = config(&plan(), Framework::Trainer);
        assert_eq!(
            config.arguments,
            *json!({"bf16": true, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 4})
                .as_object()
                .unwrap()
        );
        let flags = "--bf16 --per_device_train_batch_size 2 --gradient_accumulation_steps 4";
        assert_eq!(config.flags().join(" "), flags);
        assert_eq!(config.left_out, ["sdpa"]);
        assert_eq!(config.environment[0].1, "expandable_segments:True");
    }

    #[test]
    fn other_frameworks_get_their_own_form() {
        assert_eq!(
            config(&plan(), Framework::Accelerate).text(),
            "mixed_precision: bf16\ngradient_accumulation_steps: 4\n"
        );
        let lightning = config(&plan(), Framework::Lightning).text();
        assert_eq!(lightning, "Trainer(precision=\"bf16-mixed\", accumulate_grad_batches=4)\n");
    }
}
