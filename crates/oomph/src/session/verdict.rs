//! From what was seen to an answer.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use gpus::Card;
use report::{Basis, Ended, Gpu, Mistakes, Oom, Rank, Try, Unknown, Verdict, Warning};
use units::{Bytes, Elapsed};

use super::seen::{Process, Seen, Versions};
use super::watch::Stop;
use crate::last_words;
use crate::mistakes;

/// What is known without the script's help.
#[derive(Debug, Clone)]
pub struct Known {
    pub card: Card,
    /// As the installed packages tell it, for scripts that never got to use the card.
    pub versions: Versions,
    pub time_limit: f64,
    pub seconds: f64,
    pub snapshot: Option<String>,
    /// Where the script ran.
    pub directory: Option<String>,
}

/// The finished try.
pub fn conclude(seen: &Seen, stop: Stop, known: &Known) -> Try {
    let told = seen.fullest();
    let versions = told.and_then(|process| process.versions.clone());
    let versions = versions.as_ref().unwrap_or(&known.versions);
    let or_known = |seen: &Option<String>, known: &Option<String>| seen.clone().or_else(|| known.clone());
    Try {
        verdict: verdict(seen, stop, known),
        gpu: Gpu { id: known.card.id.clone(), name: known.card.name.clone(), memory_bytes: known.card.memory_bytes },
        torch: or_known(&versions.torch, &known.versions.torch),
        cuda: or_known(&versions.cuda, &known.versions.cuda),
        cudnn: or_known(&versions.cudnn, &known.versions.cudnn),
        peak: told.and_then(Process::peak),
        steps: told.map(|process| process.steps.clone()).unwrap_or_default(),
        oom: told.and_then(|process| process.fatal_oom().cloned()),
        warnings: warnings(seen),
        saved: seen.processes().flat_map(|process| process.saved.clone()).collect(),
        ranks: ranks(seen),
        ended: ended(told.or_else(|| seen.talkative()), stop),
        basis: basis(told, &known.card),
        seconds: known.seconds,
        snapshot: known.snapshot.clone(),
        mistakes: mistakes(told),
        directory: known.directory.clone(),
    }
}

/// What is wrong with the line that ran out of memory, if that can be read.
fn mistakes(told: Option<&Process>) -> Mistakes {
    let oom = told.and_then(Process::fatal_oom);
    let blamed = oom.and_then(|oom| oom.location.as_ref());
    mistakes::at(blamed.map(|place| (place.file.as_str(), place.line)))
}

fn verdict(seen: &Seen, stop: Stop, known: &Known) -> Verdict {
    let told = seen.fullest();
    if told.is_some_and(|process| process.fatal_oom().is_some()) {
        return Verdict::DoesNotFit;
    }
    match unknown(seen, told, stop, known) {
        Some(why) => Verdict::Unknown(why),
        None => Verdict::Fits,
    }
}

/// Why there is no answer; `None` if the script did all that was asked, and it fitted.
fn unknown(seen: &Seen, told: Option<&Process>, stop: Stop, known: &Known) -> Option<Unknown> {
    let failed = told.or_else(|| seen.talkative());
    match ended(failed, stop) {
        Ended::Interrupted => Some(plain(format!("interrupted {}", so_far(failed)))),
        Ended::TimeLimit => Some(out_of_time(failed, known.time_limit)),
        Ended::Error => Some(raised(failed)),
        Ended::Died => Some(died(failed, stop)),
        Ended::Oom => Some(plain("the script ran out of memory, but not the card's".into())),
        Ended::Steady | Ended::Steps => None,
        Ended::Finished => unfinished(seen, told, stop),
    }
}

fn unfinished(seen: &Seen, told: Option<&Process>, stop: Stop) -> Option<Unknown> {
    if let Stop::Exited(status) = stop
        && !status.success()
    {
        return Some(plain(format!("the script ended with {} {}", in_words(status), so_far(told))));
    }
    if told.is_some() {
        return None;
    }
    Some(if seen.processes().next().is_some() {
        hinted(
            "the script imported torch but never used the GPU",
            "does it choose its device from an argument or a config? pass the one for cuda",
        )
    } else {
        hinted(
            "the script ended without importing torch",
            "Python's -I and -E switch off what a try needs; a launcher may also have started another Python",
        )
    })
}

fn raised(process: Option<&Process>) -> Unknown {
    let failure = process.and_then(|process| process.failure.as_ref());
    // The rest of a long message is in the traceback, which Python has already shown.
    let message = failure.and_then(|failure| failure.message.lines().next()).unwrap_or("an error");
    Unknown {
        message: format!("the script raised {message}"),
        hint: None,
        traceback: failure.and_then(|failure| failure.traceback.clone()),
    }
}

fn out_of_time(process: Option<&Process>, limit: f64) -> Unknown {
    let limit = Elapsed(Duration::from_secs_f64(limit));
    let stepped = process.is_some_and(|process| !process.steps.is_empty());
    let message = if stepped {
        format!("the peak was still moving after {limit}, {}", so_far(process))
    } else {
        format!("no optimizer step in {limit}, {}", so_far(process))
    };
    hinted(&message, "give it longer with --time-limit, or settle for fewer steps with --steps")
}

fn died(process: Option<&Process>, stop: Stop) -> Unknown {
    let Stop::Exited(status) = stop else {
        return plain(format!("the script went away without a word {}", so_far(process)));
    };
    let message = format!("the script ended with {} {}", in_words(status), so_far(process));
    match status.signal() {
        Some(libc::SIGKILL) => hinted(&message, "this machine may be out of host memory"),
        _ => plain(message),
    }
}

/// `after 2 steps, peak 3 GiB reserved`, or what it was doing if it never stepped.
fn so_far(process: Option<&Process>) -> String {
    let Some(process) = process else {
        return "before it used the GPU".into();
    };
    let peak = process
        .peak()
        .filter(|_| process.used_card())
        .map(|peak| format!(", peak so far {} reserved", Bytes(peak.reserved_bytes)));
    let peak = peak.unwrap_or_default();
    match (process.steps.len(), &process.doing) {
        (0, Some(doing)) => format!("while {doing}{peak}"),
        (0, None) => format!("before the first step{peak}"),
        (1, _) => format!("after 1 step{peak}"),
        (steps, _) => format!("after {steps} steps{peak}"),
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => last_words::signal(signal),
        (None, None) => "no status".into(),
    }
}

/// How the try ended: as the process says, unless we ended it or it could not say.
fn ended(process: Option<&Process>, stop: Stop) -> Ended {
    let said = process.and_then(Process::ended);
    match (said, stop) {
        // Whatever else a script says once it was told to stop, it says because of that.
        (Some(said @ (Ended::Steady | Ended::Steps | Ended::Oom)), Stop::Signal(_)) => said,
        (_, Stop::Signal(_)) => Ended::Interrupted,
        (Some(said), _) => said,
        (None, Stop::TimeLimit) => Ended::TimeLimit,
        (None, Stop::RanksEnded) => Ended::Finished,
        // A script may leave without a word (`os._exit`); its status then has to do.
        (None, Stop::Exited(status)) if status.code().is_some() => Ended::Finished,
        (None, Stop::Exited(_)) => Ended::Died,
    }
}

/// Measured only if the card was, and everything on the way.
fn basis(process: Option<&Process>, card: &Card) -> Basis {
    let said = process.and_then(|process| process.end.as_ref()).and_then(|end| end.basis);
    match said {
        Some(Basis::Measured) if card.is_measured() => Basis::Measured,
        _ => Basis::Derived,
    }
}

fn ranks(seen: &Seen) -> Vec<Rank> {
    seen.users().into_iter().map(Process::as_rank).collect()
}

/// Each warning once: ranks run the same code and warn of the same lines.
fn warnings(seen: &Seen) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in seen.processes().flat_map(|process| &process.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    warnings.extend(seen.processes().filter_map(Process::recovered_oom).map(caught));
    if seen.unreadable > 0 {
        let message = format!("{} lines from the script's process could not be read", seen.unreadable);
        warnings.push(Warning { code: "events".into(), message, file: None, line: None });
    }
    warnings
}

fn caught(oom: &Oom) -> Warning {
    Warning {
        code: "caught-oom".into(),
        message: format!(
            "the script ran out of memory in step {}, {}, caught it and went on",
            oom.step,
            oom.phase.name()
        ),
        file: oom.location.as_ref().map(|location| location.file.clone()),
        line: oom.location.as_ref().map(|location| location.line),
    }
}

fn plain(message: String) -> Unknown {
    Unknown { message, hint: None, traceback: None }
}

fn hinted(message: &str, hint: &str) -> Unknown {
    Unknown { message: message.into(), hint: Some(hint.into()), traceback: None }
}

#[cfg(test)]
mod tests {
    use super::super::seen::tests::seen;
    use super::*;

    const HELLO: &str = r#"{"event":"hello","pid":1,"rank":null,"world":null}"#;
    const BUILDING: &str = r#"{"event":"progress","what":"building","detail":null}"#;
    const CUDA: &str = r#"{"event":"cuda","torch":"2.11.0","cuda":"13.0","cudnn":null}"#;
    const STEP: &str = r#"{"event":"step","step":1,"allocated_bytes":1,"reserved_bytes":1,"peak_allocated_bytes":1,"peak_reserved_bytes":3221225472,"seconds":0}"#;
    const OOM: &str = r#"{"event":"oom","step":1,"phase":"forward","requested_bytes":9,"message":"m","location":null,"traceback":"t","caught":true}"#;

    fn end(reason: &str) -> String {
        format!(r#"{{"event":"end","reason":"{reason}","steps":1,"peak":null,"used_cuda":true,"basis":"measured"}}"#)
    }

    fn concluded(lines: &[&str], stop: Stop) -> Try {
        let lines: Vec<(u32, &str)> = lines.iter().map(|line| (1, *line)).collect();
        let known = Known {
            card: gpus::find("h200").unwrap().clone(),
            versions: Versions { torch: None, cuda: None, cudnn: Some("9.19.0".into()) },
            time_limit: 300.0,
            seconds: 1.0,
            snapshot: None,
            directory: None,
        };
        conclude(&seen(&lines), stop, &known)
    }

    fn why(lines: &[&str], stop: Stop) -> String {
        match concluded(lines, stop).verdict {
            Verdict::Unknown(why) => why.message,
            other => panic!("{other:?}"),
        }
    }

    fn exited(status: i32) -> Stop {
        Stop::Exited(ExitStatus::from_raw(status))
    }

    #[test]
    fn a_steady_script_fits_and_a_stopped_one_is_steady_still() {
        let lines = [HELLO, CUDA, STEP, &end("steady")];
        let tried = concluded(&lines, exited(0));
        assert_eq!((tried.fits(), tried.basis), (Some(true), Basis::Measured));
        assert_eq!(tried.cudnn.as_deref(), Some("9.19.0"), "what the script did not say, its packages do");
        assert_eq!(concluded(&lines, Stop::Signal(2)).fits(), Some(true));
    }

    #[test]
    fn an_error_that_was_caught_and_made_good_is_a_warning() {
        let given_up = concluded(&[HELLO, CUDA, OOM, &end("oom")], exited(256));
        assert_eq!(given_up.fits(), Some(false));
        let recovered = concluded(&[HELLO, CUDA, OOM, STEP, &end("steady")], exited(0));
        assert_eq!((recovered.fits(), recovered.oom), (Some(true), None));
        assert_eq!(recovered.warnings[0].code, "caught-oom");
    }

    #[test]
    fn without_an_answer_it_says_what_was_seen() {
        let stopped = "after 1 step, peak so far 3 GiB reserved";
        assert_eq!(why(&[HELLO, CUDA, STEP], Stop::Signal(2)), format!("interrupted {stopped}"));
        assert_eq!(why(&[HELLO, CUDA, STEP], exited(9)), format!("the script ended with signal SIGKILL {stopped}"));
        assert_eq!(why(&[HELLO, BUILDING, CUDA], Stop::TimeLimit), "no optimizer step in 5 min 0 s, while building");
        assert_eq!(why(&[], exited(3 << 8)), "the script ended with status 3 before it used the GPU");
        assert_eq!(why(&[HELLO], exited(0)), "the script imported torch but never used the GPU");
        assert_eq!(why(&[], exited(0)), "the script ended without importing torch");
    }

    #[test]
    fn what_we_ended_is_not_the_scripts_error() {
        let error = r#"{"event":"error","kind":"interrupt","message":"KeyboardInterrupt","traceback":""}"#;
        let lines = [HELLO, CUDA, STEP, error, &end("error")];
        assert_eq!(concluded(&lines, Stop::Signal(2)).ended, Ended::Interrupted);
        assert_eq!(why(&lines, exited(256)), "the script raised KeyboardInterrupt");
    }
}
