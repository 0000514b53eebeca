//! Bad input that is refused before anything is started: what was wrong, and what to do.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Ran, Scratch, python};

const FINE: &str = "import torch\n";

/// A torch that is only its version file: refusals come from reading it, never from importing it.
fn fake_torch(scratch: &Scratch, version: &str, cuda: &str, hip: &str) {
    scratch.write("site/torch/__init__.py", "raise RuntimeError('imported')");
    let text = format!("__version__ = '{version}'\ncuda: Optional[str] = {cuda}\nhip: Optional[str] = {hip}\n");
    scratch.write("site/torch/version.py", &text);
}

fn tried_with_fake(scratch: &Scratch) -> Ran {
    let mut command = scratch.try_command(&["train.py"]);
    command.env("PYTHONPATH", scratch.path("site"));
    Ran::of(command.output().unwrap())
}

#[test]
fn no_torch() {
    let scratch = Scratch::new();
    scratch.write("train.py", FINE);
    let bare = scratch.path("bare");
    let made = Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(&bare).status().unwrap();
    assert!(made.success());
    let bare = bare.join("bin/python");
    let output = scratch.command(&["try", "--json", "--python", bare.to_str().unwrap(), "train.py"]).output().unwrap();
    Ran::of(output).could_not_tell(&["torch is not installed", "pip install torch"]);
}

#[test]
fn a_cpu_only_torch() {
    let scratch = Scratch::new();
    scratch.write("train.py", FINE);
    fake_torch(&scratch, "2.11.0+cpu", "None", "None");
    tried_with_fake(&scratch).could_not_tell(&["2.11.0+cpu", "without CUDA", "no GPU is needed"]);
}

#[test]
fn a_rocm_torch() {
    let scratch = Scratch::new();
    scratch.write("train.py", FINE);
    fake_torch(&scratch, "2.11.0+rocm6.4", "None", "'6.4'");
    tried_with_fake(&scratch).could_not_tell(&["without CUDA", "AMD"]);
}

#[test]
fn a_torch_that_is_too_old() {
    let scratch = Scratch::new();
    scratch.write("train.py", FINE);
    fake_torch(&scratch, "2.5.1+cu124", "'12.4'", "None");
    tried_with_fake(&scratch).could_not_tell(&["torch 2.5.1+cu124 is not supported", "2.6"]);
}

#[test]
fn no_such_python() {
    let scratch = Scratch::new();
    scratch.write("train.py", FINE);
    let ran = scratch.command(&["try", "--json", "--python", "/no/such/python", "train.py"]).output().unwrap();
    Ran::of(ran).could_not_tell(&["cannot run /no/such/python"]);
    let ran = scratch.command(&["try", "--json", "--python", "/bin/false", "train.py"]).output().unwrap();
    Ran::of(ran).could_not_tell(&["/bin/false did not answer as a Python does"]);
}

#[test]
fn an_unknown_card() {
    let ran = Scratch::new().tried(&["--gpu", "rtx-4091", "train.py"]);
    ran.could_not_tell(&["no card named 'rtx-4091'", "did you mean rtx-4090"]);
    assert!(ran.stderr.starts_with("error: "), "{ran:#?}");
    assert!(ran.stderr.contains("\nhint: "), "{ran:#?}");
}

#[test]
fn a_card_too_small_for_the_context() {
    let ran = Scratch::new().tried(&["--gpu", "h200", "--memory", "200MiB", "train.py"]);
    ran.could_not_tell(&["NVIDIA H200 with 200 MiB is too small", "--memory"]);
}

#[test]
fn a_memory_size_that_is_none() {
    Scratch::new().tried(&["--memory", "lots", "train.py"]).could_not_tell(&["--memory", "found `lots`"]);
}

#[test]
fn a_syntax_error_is_shown_with_its_line() {
    let scratch = Scratch::new();
    scratch.write("train.py", "import torch\n\nx = (1,\nprint(x\n");
    let ran = scratch.tried(&["train.py"]);
    ran.could_not_tell(&["train.py:", "syntax error"]);
}

#[test]
fn things_that_are_not_there() {
    let scratch = Scratch::new();
    scratch.tried(&["nowhere.py"]).could_not_tell(&["no script nowhere.py"]);
    scratch.tried(&["-m", "no_such_module.train"]).could_not_tell(&["no module named 'no_such_module.train'"]);
    scratch.tried(&["--", "no-such-launcher", "x.py"]).could_not_tell(&["no command 'no-such-launcher'"]);
    scratch.tried(&["--gpuu", "h200", "train.py"]).could_not_tell(&["no option '--gpuu'"]);
    scratch.write("train.py", FINE);
    scratch.tried(&["--save", "no/folder/x.pickle", "train.py"]).could_not_tell(&["its folder does not exist"]);
}

/// The checks come before every try and must not import torch, which alone takes longer than this.
#[test]
fn refusing_is_quick() {
    let scratch = Scratch::new();
    scratch.write("train.py", "x = (\n");
    let tries = (0..3).map(|_| {
        let began = Instant::now();
        scratch.tried(&["train.py"]);
        began.elapsed()
    });
    let fastest = tries.min().unwrap();
    assert!(fastest < Duration::from_secs(1), "{fastest:?}");
}
