//! Tries of whole scripts, through the command, on the ghost.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Ran, Scratch, TRAIN};
use serde_json::Value;

fn training(rest: &str) -> String {
    format!("{TRAIN}{rest}")
}

#[test]
fn a_script_that_fits() {
    let scratch = Scratch::new();
    scratch.write("train.py", &training("import sys\nprint('args', sys.argv)\nfor _ in range(50): step()\n"));
    let ran = scratch.tried(&["--gpu", "h200", "train.py", "--json", "-m", "--", "x"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let json = ran.json();
    assert_eq!(json["fits"], true);
    assert_eq!(json["ended"], "steady");
    assert_eq!(json["gpu"]["id"], "h200");
    assert_eq!(json["basis"], "measured");
    assert!(json["steps"].as_array().unwrap().len() >= 3);
    let peak = |name: &str| json["peak"][name].as_u64().unwrap();
    // Weight and bias, their gradients and two moments: four times 1024 × 1025 floats at least.
    assert!(peak("allocated_bytes") >= 4 * 1024 * 1025 * 4);
    assert!(peak("reserved_bytes") >= peak("allocated_bytes"));
    assert!(peak("device_bytes") > peak("reserved_bytes"), "the context counts too");
    assert!(
        ran.stderr.contains("args ['train.py', '--json', '-m', '--', 'x']"),
        "the script's own words are on stderr"
    );
}

#[test]
fn a_script_that_does_not_fit() {
    let scratch = Scratch::new();
    scratch.write("train.py", &training("step()\nx = torch.empty(1 << 36, device='cuda')\n"));
    let ran = scratch.tried(&["--gpu", "rtx-4090", "train.py"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let json = ran.json();
    assert_eq!(json["fits"], false);
    let oom = &json["oom"];
    assert_eq!(oom["requested_bytes"], (1_u64 << 36) * 4);
    assert!(oom["message"].as_str().unwrap().contains("CUDA out of memory"), "{oom}");
    assert!(oom["location"]["file"].as_str().unwrap().ends_with("train.py"), "{oom}");
    assert_eq!(oom["location"]["line"], 9);
    assert_eq!(oom["location"]["code"], "x = torch.empty(1 << 36, device='cuda')");
}

#[test]
fn the_mistake_at_the_line_that_died_is_told() {
    let scratch = Scratch::new();
    let kept = "kept = []\n\
                for _ in range(50):\n    \
                    loss = model(torch.randn(1 << 16, 1024).cuda()).sum()\n    \
                    kept.append(loss)\n    \
                    loss.backward(retain_graph=True)\n    \
                    optimizer.step()\n";
    scratch.write("train.py", &training(kept));
    let ran = scratch.tried(&["--gpu", "rtx-4090", "--memory", "2GiB", "train.py"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let json = ran.json();
    let (here, elsewhere) = (&json["mistakes"]["here"], &json["mistakes"]["elsewhere"]);
    let told = here.as_array().unwrap().len() + elsewhere.as_array().unwrap().len();
    assert!(told > 0, "{json:#}");
    if json["oom"]["location"]["line"] == 12 {
        assert_eq!(here[0]["code"], "L11", "{json:#}");
    }
}

#[test]
fn the_text_says_the_same_in_one_line() {
    let scratch = Scratch::new();
    scratch.write("train.py", &training("for _ in range(50): step()\n"));
    let python = crate::support::python();
    let ran = Ran::of(scratch.command(&["try", "--python", python.to_str().unwrap(), "train.py"]).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stdout.starts_with("Fits on NVIDIA GeForce RTX 4090 (23.5 GiB): peak "), "{ran:#?}");
    assert!(ran.stderr.contains("oomph: step 1, peak "), "progress in a log: {ran:#?}");
    assert!(!ran.stderr.contains('\x1b'), "no escapes without a terminal");
}

#[test]
fn a_script_that_raises_keeps_its_own_traceback() {
    let scratch = Scratch::new();
    scratch.write("train.py", "import torch\ndef load():\n    raise ValueError('no such file: data.bin')\nload()\n");
    let ran = scratch.tried(&["train.py"]);
    ran.could_not_tell(&["the script raised ValueError: no such file: data.bin"]);
    assert!(ran.stderr.contains("line 3, in load\n    raise ValueError('no such file: data.bin')"), "{ran:#?}");
    assert!(!ran.stderr.contains("sitecustomize"), "nothing of ours in it: {ran:#?}");
    assert!(ran.json()["error"]["traceback"].as_str().unwrap().contains("in load"));
}

#[test]
fn a_script_that_exits_with_a_status() {
    let scratch = Scratch::new();
    scratch.write("train.py", "import sys\nsys.exit(3)\n");
    scratch.tried(&["train.py"]).could_not_tell(&["ended with status 3"]);
}

#[test]
fn a_script_that_never_uses_the_gpu() {
    let scratch = Scratch::new();
    scratch.write("train.py", "import torch\ntorch.ones(3).sum()\n");
    scratch.tried(&["train.py"]).could_not_tell(&["never used the GPU"]);
}

#[test]
fn a_script_that_never_steps_is_stopped() {
    let scratch = Scratch::new();
    let script = "import torch, time\nx = torch.ones(1 << 20).cuda()\nprint('USED')\nwhile True: time.sleep(0.1)\n";
    scratch.write("train.py", script);
    // Long enough to get to the card, however slow this machine is just now.
    let mut tries = ["15", "60", "240"].into_iter().map(|limit| scratch.tried(&["--time-limit", limit, "train.py"]));
    let ran = tries.find(|ran| ran.stderr.contains("USED")).expect("it got to the card");
    ran.could_not_tell(&["no optimizer step in ", "peak so far", "--time-limit"]);
    assert_eq!(ran.json()["ended"], "time-limit");
    assert!(ran.json()["peak"]["allocated_bytes"].as_u64().unwrap() >= 4 << 20);
}

/// A script that holds the interpreter and swallows exceptions can only be stopped from outside.
#[test]
fn a_script_that_cannot_be_asked_is_killed() {
    let scratch = Scratch::new();
    scratch.write(
        "train.py",
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)\n",
    );
    let began = Instant::now();
    scratch.tried(&["--time-limit", "1", "train.py"]).could_not_tell(&["no optimizer step in 1.0 s"]);
    assert!(began.elapsed() < Duration::from_secs(30));
}

fn signalled(number: i32) -> (Option<i32>, Value) {
    let scratch = Scratch::new();
    scratch.write("train.py", &training("import time\nstep()\nprint('STEPPED')\ntime.sleep(600)\n"));
    let child = scratch.start_until(&["train.py"], "STEPPED");
    // SAFETY: a signal to a child that is still ours.
    assert_eq!(unsafe { libc::kill(child.id() as i32, number) }, 0);
    let ran = Ran::of(child.wait_with_output().unwrap());
    (ran.code, ran.json())
}

#[test]
fn ctrl_c_says_what_was_seen() {
    let (code, json) = signalled(libc::SIGINT);
    assert_eq!(code, Some(130), "{json:#}");
    assert_eq!(json["ended"], "interrupted");
    assert!(json["fits"].is_null());
    let message = json["error"]["message"].as_str().unwrap();
    assert!(message.contains("interrupted after 1 step, peak so far"), "{message}");
}

#[test]
fn being_terminated_is_no_different() {
    let (code, json) = signalled(libc::SIGTERM);
    assert_eq!(code, Some(143), "{json:#}");
    assert_eq!(json["steps"].as_array().unwrap().len(), 1);
}

#[test]
fn a_script_that_reads_stdin() {
    let scratch = Scratch::new();
    scratch.write("train.py", &training("n = int(input('how many? '))\nprint('got', n)\nfor _ in range(n): step()\n"));
    let mut command = scratch.try_command(&["train.py"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"2\n").unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(ran.json()["ended"], "finished");
    assert!(ran.stderr.contains("got 2"));
}

#[test]
fn a_script_that_forks() {
    let scratch = Scratch::new();
    let workers = "from torch.utils.data import DataLoader\n\
                   loader = DataLoader(torch.randn(512, 1024), batch_size=8, num_workers=2)\n\
                   import os\n\
                   pid = os.fork()\n\
                   if pid == 0: os._exit(7)\n\
                   print('child', os.waitpid(pid, 0)[1] >> 8)\n\
                   for x in loader: step()\n";
    scratch.write("train.py", &training(workers));
    let ran = scratch.tried(&["train.py"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(ran.json()["ranks"].as_array().unwrap().len(), 1, "workers do not count: {ran:#?}");
    assert!(ran.stderr.contains("child 7"), "{ran:#?}");
}

#[test]
fn nothing_outlives_the_try() {
    let scratch = Scratch::new();
    let daemon = "import subprocess, os\n\
                  child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n\
                  open('pid', 'w').write(str(child.pid))\n\
                  print('PID', child.pid, flush=True)\n\
                  for _ in range(9): step()\n";
    scratch.write("train.py", &training(daemon));
    let ran = scratch.tried(&["train.py"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let pid = ran.stderr.lines().find_map(|line| line.strip_prefix("PID "));
    let pid = pid.unwrap_or_else(|| panic!("it printed the pid: {ran:#?}"));
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "still there: {stat}");
}

#[test]
fn what_it_saves_is_measured_and_gone() {
    let scratch = Scratch::new();
    scratch.write(
        "train.py",
        &training("step()\nimport os\nos.makedirs('out/deep')\ntorch.save(model.state_dict(), 'out/deep/model.pt')\n"),
    );
    let ran = scratch.tried(&["train.py"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let saved = &ran.json()["saved"][0];
    assert!(saved["bytes"].as_u64().unwrap() >= 1024 * 1024 * 4, "{ran:#?}");
    assert!(!scratch.path("out").exists());

    let ran = scratch.tried(&["--keep-files", "train.py"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(scratch.path("out/deep/model.pt").exists());
}

#[test]
fn what_was_there_stays() {
    let scratch = Scratch::new();
    scratch.write("model.pt", "precious").write("log.txt", "old\n");
    let script = "step()\ntorch.save(model.state_dict(), 'model.pt')\nopen('log.txt', 'a').write('new')\nopen('log.txt', 'w').write('')\n";
    scratch.write("train.py", &training(script));
    let ran = scratch.tried(&["train.py"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(std::fs::read_to_string(scratch.path("model.pt")).unwrap(), "precious");
    assert_eq!(std::fs::read_to_string(scratch.path("log.txt")).unwrap(), "old\n");
}

#[test]
fn a_module_and_a_launcher() {
    let scratch = Scratch::new();
    scratch
        .write("pkg/__init__.py", "")
        .write("pkg/train.py", &training("print('as', __name__)\nfor _ in range(9): step()\n"));
    let ran = scratch.tried(&["-m", "pkg.train", "--lr", "1"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stderr.contains("as __main__"), "{ran:#?}");

    let ran = scratch.tried(&["--", "torchrun", "--nproc-per-node", "2", "pkg/train.py"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(ran.json()["ranks"].as_array().unwrap().len(), 2, "{ran:#?}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let scratch = Scratch::new();
    let mut child = scratch.command(&["gpus"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn doctor_is_content_with_the_checkouts_python() {
    let scratch = Scratch::new();
    let python = crate::support::python();
    let ran = Ran::of(scratch.command(&["doctor", "--json", "--python", python.to_str().unwrap()]).output().unwrap());
    let json = ran.json();
    assert_eq!(json["schema"], 1);
    let status = |id: &str| {
        let checks = json["checks"].as_array().unwrap().iter();
        checks.filter(|check| check["id"] == id).map(|check| check["status"].clone()).next().unwrap()
    };
    for id in [
        "system.linux",
        "python.found",
        "torch.installed",
        "torch.cuda",
        "torch.version",
        "ghost.symbols",
        "ghost.starts",
    ] {
        assert_eq!(status(id), "ok", "{id}: {json:#}");
    }
    assert_eq!(ran.code, Some(0), "{json:#}");
}
