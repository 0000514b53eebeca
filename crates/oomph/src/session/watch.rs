//! Starts the command and watches it until it ends, is told to, or takes too long.

use std::ffi::OsString;
use std::io::{self, IsTerminal, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::environment::Environment;
use super::live::Live;
use super::seen::Seen;
use super::tail::Tail;
use super::tree;
use crate::error::Error;

const POLL: Duration = Duration::from_millis(20);
/// How long a script may take to end after it was asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(4);

/// Why watching ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The command ended by itself.
    Exited(ExitStatus),
    /// Every rank said it was done, so its launcher was not waited for.
    RanksEnded,
    TimeLimit,
    /// We were told to stop by this signal.
    Signal(i32),
}

pub fn run(
    command_line: &[OsString],
    environment: Environment,
    session: &Path,
    time_limit: f64,
) -> Result<(Seen, Stop), Error> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|source| Error::Io {
        doing: "watch signals for",
        path: session.to_owned(),
        source,
    })?;
    tree::adopt_orphans();
    let live = Arc::new(Live::new());
    // A terminal lets only its foreground group read from it: a script that may ask there has to stay in ours.
    let own_group = !io::stdin().is_terminal();
    let (child, output) = start(command_line, environment, own_group)?;
    let passed_on = pass_on(output, Arc::clone(&live));
    let mut watch = Watch {
        child,
        own_group,
        tail: Tail::new(&session.join("events")),
        seen: Seen::default(),
        deadline: Instant::now() + Duration::from_secs_f64(time_limit),
        live,
    };
    let stop = watch.until_stopped(&mut signals);
    tree::kill_all();
    let _ = watch.child.wait();
    // Everyone who could write is gone, so the pipe is at its end; should one have survived, do not wait for it.
    let _ = passed_on.recv_timeout(Duration::from_secs(1));
    watch.read_events();
    watch.live.finish();
    watch.seen.unreadable = watch.tail.unreadable;
    Ok((watch.seen, stop))
}

fn start(command_line: &[OsString], environment: Environment, own_group: bool) -> Result<(Child, PipeReader), Error> {
    let program = &command_line[0];
    let failed = |source| Error::CannotRun { path: program.into(), source };
    let (output, writer) = io::pipe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(&command_line[1..]);
    // Our stdout carries the answer, so all the script says goes to stderr, in the order it said it.
    command.stdout(writer.try_clone().map_err(failed)?).stderr(writer);
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if own_group {
        command.process_group(0);
    }
    // SAFETY: prctl is a plain system call, safe between fork and exec.
    unsafe { command.pre_exec(die_with_parent) };
    let child = command.spawn().map_err(failed)?;
    Ok((child, output))
}

/// Even if we are killed outright, the script does not go on alone.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: prctl with integer arguments touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    Ok(())
}

/// Copies the script's output to stderr in a thread; the receiver hears when it is all through.
fn pass_on(mut output: PipeReader, live: Arc<Live>) -> Receiver<()> {
    let (done, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        loop {
            match output.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => live.pass(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = done.send(());
    });
    receiver
}

struct Watch {
    child: Child,
    own_group: bool,
    tail: Tail,
    seen: Seen,
    deadline: Instant,
    live: Arc<Live>,
}

impl Watch {
    fn until_stopped(&mut self, signals: &mut Signals) -> Stop {
        loop {
            self.read_events();
            self.live.tick();
            // First: Ctrl-C reaches the script too, which then has ended because of it.
            if let Some(number) = signals.pending().next() {
                self.ask_to_end(number, signals);
                return Stop::Signal(number);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Stop::Exited(status);
            }
            if self.seen.all_ranks_ended() {
                return Stop::RanksEnded;
            }
            // The Python side knows the limit too and ends with its numbers; we are for when it cannot.
            if Instant::now() > self.deadline + GRACE {
                return Stop::TimeLimit;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Asks the script to end and gives it a moment to say what it saw, or until the next signal.
    fn ask_to_end(&mut self, number: i32, signals: &mut Signals) {
        let from_terminal = number == SIGINT && !self.own_group;
        if !from_terminal {
            // Whatever we were told: Python turns this one into an exception, and any other into a sudden death.
            tree::signal(SIGINT);
        }
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline && signals.pending().next().is_none() {
            self.read_events();
            self.live.tick();
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(POLL);
        }
    }

    fn read_events(&mut self) {
        for (process, event) in self.tail.poll() {
            self.live.event(&event);
            self.seen.add(&process, event);
        }
    }
}
