//! Plans through the command, on the ghost.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ran, Scratch, python};

/// A network of eight layers on batches of 64 rows: about 1.2 GiB as it is, most of it activations.
const TRAIN: &str = "\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(8))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(512, 128, 512)), batch_size=64)
for epoch in range(3):
    for (x,) in loader:
        x = x.cuda()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
";

fn plan(scratch: &Scratch, args: &[&str]) -> Command {
    let python = python();
    let mut all = vec!["plan", "--python", python.to_str().expect("a plain path")];
    all.extend(args);
    scratch.command(&all)
}

fn planned(scratch: &Scratch, args: &[&str]) -> Ran {
    Ran::of(plan(scratch, args).output().expect("oomph runs"))
}

fn ids(plan: &Value) -> Vec<&str> {
    plan["remedies"].as_array().unwrap().iter().map(|remedy| remedy["id"].as_str().unwrap()).collect()
}

#[test]
fn a_plan_is_found_written_and_verified() {
    let scratch = Scratch::new();
    scratch.write("train.py", TRAIN);
    let args = [
        "--gpu",
        "h200",
        "--memory",
        "1700MiB",
        "--json",
        "--allow",
        "micro-batch,checkpoint,bf16-autocast",
        "train.py",
    ];
    let ran = planned(&scratch, &args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let json = ran.json();
    assert_eq!((&json["schema"], &json["as_is"]["fits"]), (&Value::from(1), &Value::from(false)));
    let plans = json["plans"].as_array().unwrap();
    assert!(!plans.is_empty(), "{json:#}");
    for plan in plans {
        assert_eq!((&plan["fits"], &plan["verified"]), (&Value::from(true), &Value::from(true)), "{plan:#}");
        assert!(plan["peak"]["device_bytes"].as_u64().unwrap() <= 1700 << 20, "{plan:#}");
        assert!(plan["slowdown"]["factor"].as_f64().unwrap() > 0.0);
        assert!(plan["diff"].as_str().unwrap().contains("+++ train.py"), "{plan:#}");
    }
    assert!(plans.iter().any(|plan| plan["same_math"] == true), "{json:#}");
    assert_eq!(std::fs::read_to_string(scratch.path("train.py")).unwrap(), TRAIN, "nothing was asked to be written");
    let denied = json["rejected"].as_array().unwrap().iter().find(|one| one["remedy"] == "sgd").unwrap();
    assert!(denied["why"].as_str().unwrap().contains("not among"), "{denied}");
}

#[test]
fn the_patch_can_be_piped_and_the_patched_script_fits() {
    let scratch = Scratch::new();
    scratch.write("train.py", TRAIN);
    let ran =
        planned(&scratch, &["--gpu", "h200", "--memory", "1700MiB", "--diff", "--allow", "micro-batch", "train.py"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    scratch.write("plan.patch", &ran.stdout);
    let patch = scratch.command(&[]).get_current_dir().unwrap().to_owned();
    let applied = Command::new("git").args(["apply", "plan.patch"]).current_dir(patch).output().unwrap();
    assert!(applied.status.success(), "{}\n{}", ran.stdout, String::from_utf8_lossy(&applied.stderr));
    let tried = scratch.tried(&["--gpu", "h200", "--memory", "1700MiB", "train.py"]);
    assert_eq!(tried.code, Some(0), "{tried:#?}");
}

#[test]
fn what_fits_needs_no_plan() {
    let scratch = Scratch::new();
    scratch.write("train.py", TRAIN);
    let ran = planned(&scratch, &["--gpu", "h200", "train.py"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stdout.starts_with("Fits on NVIDIA H200"), "{ran:#?}");
}

#[test]
fn a_card_on_which_nothing_fits() {
    let scratch = Scratch::new();
    scratch.write("train.py", TRAIN);
    let ran =
        planned(&scratch, &["--gpu", "h200", "--memory", "900MiB", "--json", "--allow", "micro-batch", "train.py"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let infeasible = &ran.json()["infeasible"];
    assert!(infeasible["smallest_memory_bytes"].as_u64().unwrap() > 900 << 20, "{infeasible:#}");
    assert!(!infeasible["cards"].as_array().unwrap().is_empty(), "{infeasible:#}");
}

#[test]
fn apply_keeps_a_backup_and_refuses_what_git_has_not() {
    let scratch = Scratch::new();
    scratch.write("train.py", TRAIN);
    let folder = scratch.path("");
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
        let status =
            Command::new("git").args(who).args(args).current_dir(&folder).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "git {args:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "train.py"]);
    git(&["commit", "--quiet", "-m", "train"]);
    scratch.write("train.py", &format!("{TRAIN}# not committed\n"));
    let args = ["--gpu", "h200", "--memory", "1700MiB", "--apply", "--yes", "--allow", "micro-batch", "train.py"];
    let refused = planned(&scratch, &args);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.stderr.contains("changes that are not committed"), "{refused:#?}");

    scratch.write("train.py", TRAIN);
    let ran = planned(&scratch, &args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(std::fs::read_to_string(scratch.path("train.py.orig")).unwrap(), TRAIN);
    assert!(std::fs::read_to_string(scratch.path("train.py")).unwrap().contains("accumulate"), "{ran:#?}");
}

#[test]
fn a_marked_number_is_a_knob() {
    let scratch = Scratch::new();
    scratch.write(
        "train.py",
        &TRAIN
            .replace("import torch\n", "import sys\n\nimport torch\n")
            .replace("batch_size=64", "batch_size=int(sys.argv[1])"),
    );
    let args = ["--gpu", "h200", "--memory", "1700MiB", "--json", "--allow", "micro-batch", "train.py", "{batch:64}"];
    let ran = planned(&scratch, &args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let json = ran.json();
    let plan = &json["plans"][0];
    assert_eq!(ids(plan), ["micro-batch"]);
    assert!(plan["command"].as_str().unwrap().starts_with("python train.py "), "{plan:#}");
    assert_ne!(plan["command"], "python train.py 64");
}

#[test]
fn the_largest_batch() {
    let scratch = Scratch::new();
    scratch.write("train.py", TRAIN);
    let ran = planned(&scratch, &["--gpu", "h200", "--memory", "1700MiB", "--max-batch", "--json", "train.py"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let largest = &ran.json()["largest_batch"];
    let (batch, bound) = (largest["batch"].as_u64().unwrap(), largest["too_large"].as_u64().unwrap());
    assert!(batch < 64 && bound == batch + 1, "{largest:#}");
}

#[test]
fn bad_wishes_are_refused_before_anything_runs() {
    let scratch = Scratch::new();
    scratch.write("train.py", TRAIN);
    let cases: &[(&[&str], &str)] = &[
        (&["--deny", "bf16-autocst", "train.py"], "did you mean bf16-autocast"),
        (&["--allow", "micro-batch", "--fix", "batch", "train.py"], "allowed and denied at once"),
        (&["--fix", "wheel", "train.py"], "what can be kept fixed: batch"),
        (&["train.py", "{batch:many}"], "{batch:64}"),
        (&["--margin", "120", "train.py"], "0 to 100 percent"),
        (&["--apply", "train.py"], "nobody to ask"),
        (&["--", "torchrun", "train.py"], "plans are made for one process"),
        (&["nosuch.py"], "no script"),
    ];
    for (args, word) in cases {
        let began = Instant::now();
        let ran = planned(&scratch, args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:#?}");
        assert!(ran.stderr.contains(word), "{args:?}: {ran:#?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{args:?}");
    }
}

#[test]
fn a_script_without_a_knob_says_what_was_looked_for() {
    let scratch = Scratch::new();
    scratch.write("train.py", &format!("{}for _ in range(9): step()\n", crate::support::TRAIN));
    let ran = planned(&scratch, &["--gpu", "h200", "--max-batch", "--json", "train.py"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    let message = ran.json()["error"]["message"].to_string();
    assert!(message.contains("DataLoader") && message.contains("{batch:64}"), "{message}");
}

#[test]
fn a_script_that_fails_cannot_be_planned_for() {
    let scratch = Scratch::new();
    scratch.write("train.py", &format!("{}raise ValueError('no data')\n", crate::support::TRAIN));
    let ran = planned(&scratch, &["--json", "train.py"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.json()["error"]["message"].as_str().unwrap().contains("no data"), "{ran:#?}");
}

#[test]
fn a_script_that_is_killed_cannot_be_planned_for() {
    let scratch = Scratch::new();
    let killed = "import os, sys\nsys.stderr.write('\\rloading 10 %')\nsys.stderr.flush()\nos.kill(os.getpid(), 9)\n";
    scratch.write("train.py", &format!("{}{killed}", crate::support::TRAIN));
    let ran = planned(&scratch, &["--json", "train.py"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.json()["error"]["message"].as_str().unwrap().contains("it was killed"), "{ran:#?}");
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let scratch = Scratch::new();
    scratch.write("train.py", TRAIN);
    let temp = scratch.path("temp");
    std::fs::create_dir(&temp).unwrap();
    let mut command = plan(&scratch, &["--gpu", "h200", "--memory", "1700MiB", "train.py"]);
    let child = command.env("TMPDIR", &temp).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    // SAFETY: a signal to a child that is still ours.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:#?}");
    let left: Vec<_> = std::fs::read_dir(&temp).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}
