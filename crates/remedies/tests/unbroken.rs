//! Whatever the script, writing a remedy answers, and never breaks a file: every remedy on the scripts that the rules of
//! `oomph check` are tested with, and on mutations of them.

use std::fs;
use std::path::{Path, PathBuf};

use remedies::{Block, Choice, Files, Loader, Loop, Loss, Model, Offer, Optimizer, Place, Role, Script};

struct One {
    path: PathBuf,
    text: String,
}

impl Files for One {
    fn read(&self, path: &Path) -> Option<String> {
        (path == self.path).then(|| self.text.clone())
    }

    fn script(&self) -> &Path {
        &self.path
    }

    fn arguments(&self) -> &[String] {
        &[]
    }
}

/// The Python pieces of the rules' specifications.
fn pieces() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lint/tests/rules");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the rules' specifications").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a specification");
        let mut rest = text.as_str();
        while let Some((_, behind)) = rest.split_once("```python\n") {
            let Some((piece, next)) = behind.split_once("```") else { break };
            found.push(piece.to_owned());
            rest = next;
        }
    }
    found
}

/// A script of which everything was seen, on the lines where such things stand.
fn seen(one: &One) -> Script {
    let at = |part: &str| {
        let line = one.text.lines().position(|line| line.contains(part))?;
        Some(Place { file: one.path.to_string_lossy().into_owned(), line: line as u64 + 1 })
    };
    let model = |huggingface| Model {
        class: "Net".to_owned(),
        made_at: at("model = ").or_else(|| at("Net(")),
        parameters: 10,
        trainable: 10,
        huggingface,
        attention: Some("eager".to_owned()),
        batch_norm: true,
        blocks: vec![Block {
            class: "Block".to_owned(),
            module: "nets".to_owned(),
            container: "blocks".to_owned(),
            count: 4,
            defined_at: at("class "),
            ..Block::default()
        }],
        ..Model::default()
    };
    let optimizer = |class: &str| Optimizer {
        class: class.to_owned(),
        module: "torch.optim".to_owned(),
        made_at: at(&format!("{class}(")),
        ..Optimizer::default()
    };
    let loader = Loader {
        batch_size: Some(8),
        made_at: at("DataLoader("),
        items: Some(80),
        training: true,
        ..Loader::default()
    };
    let packages = ["torchao", "bitsandbytes", "peft"].map(|name| (name.to_owned(), Some("1".to_owned())));
    Script {
        models: vec![model(one.text.contains("transformers"))],
        optimizers: vec![optimizer(if one.text.contains("AdamW(") { "AdamW" } else { "Adam" })],
        loaders: vec![loader.clone(), Loader { training: false, ..loader }],
        arguments: vec![remedies::Argument {
            flag: "--seq".to_owned(),
            name: "seq".to_owned(),
            value: 128,
            role: Some(Role::Sequence),
            given: false,
        }],
        training: Loop {
            backward_at: at(".backward("),
            step_at: at(".step("),
            zero_grad_at: at("zero_grad("),
            backwards_per_step: 1,
            set_to_none: Some(false),
            no_grad_eval: Some(false),
            ..Loop::default()
        },
        loss: Some(Loss {
            cross_entropy: true,
            logits: Some((64, 50_000)),
            at: at("cross_entropy(").or_else(|| at("criterion(")),
        }),
        packages: packages.into_iter().collect(),
        ..Script::default()
    }
}

/// Writes every remedy alone, then those that go together. Says how many were written.
fn write_all(text: &str) -> usize {
    let one = One { path: PathBuf::from("train.py"), text: text.to_owned() };
    let mut script = seen(&one);
    remedies::look(&mut script, &one);
    let strongest = |offer: Offer| match offer {
        Offer::Switch(settings) => settings,
        Offer::Dial(mut dial) => dial.remove(0),
    };
    let offered: Vec<Choice> = remedies::all()
        .iter()
        .filter_map(|remedy| Some(Choice { remedy: *remedy, settings: strongest(remedy.offer(&script).ok()?) }))
        .collect();
    let mut together: Vec<Choice> = Vec::new();
    let mut written = 0;
    for choice in offered {
        let clash = together.iter().any(|other| other.remedy.about().conflicts.contains(&choice.id()));
        for choices in [vec![choice.clone()], together.iter().cloned().chain([choice.clone()]).collect()] {
            if choices.len() > 1 && clash {
                continue;
            }
            let Ok(patch) = remedies::write(&choices, &script, &one) else { continue };
            for (_, old, new) in &patch.files {
                assert!(!lint::parse::script(new).has_errors(), "{choices:?} broke\n{old}\ninto\n{new}");
            }
            written += 1;
            together = choices;
        }
    }
    written
}

#[test]
fn every_remedy_answers_on_every_piece() {
    let written: usize = pieces().iter().map(|piece| write_all(piece)).sum();
    assert!(written > 1000, "only {written} were written: the pieces were not read");
}

/// Lines deleted, doubled and moved deeper, tabs and Windows line ends.
fn mutated(piece: &str, seed: u64) -> String {
    let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let mut lines: Vec<String> = piece.lines().map(str::to_owned).collect();
    for _ in 0..2 {
        if lines.is_empty() {
            break;
        }
        let at = next(lines.len());
        match next(4) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines[at].insert_str(0, "    "),
            _ => lines[at] = lines[at].replace("    ", "\t"),
        }
    }
    lines.join(if next(3) == 0 { "\r\n" } else { "\n" })
}

#[test]
fn mutations_never_break() {
    let pieces = pieces();
    for (number, piece) in pieces.iter().enumerate() {
        for seed in 0..1 {
            write_all(&mutated(piece, number as u64 * 31 + seed));
        }
    }
}
