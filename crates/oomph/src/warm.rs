//! The warm process: the user's Python with everything imported, which forks once for each candidate of a plan.
//!
//! Requests and replies are JSON lines over its stdin and stdout (`python/oomph/warm.py`). A candidate is a try like any other,
//! in its own session folder; only its imports are shared.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use crate::error::Error;
use crate::last_words::last_line;
use crate::payload::Payload;
use crate::session::{self, Event, Seen, Session, Tail, tree};

const POLL: Duration = Duration::from_millis(20);
/// Imports take seconds; minutes mean that something hangs.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// How long a candidate that passed its own time limit may take to say so.
const GRACE: Duration = Duration::from_secs(4);

#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Reply {
    Ready {
        seconds: f64,
    },
    Ended {
        id: u64,
        /// What it exited with; negative, the signal that ended it.
        status: i32,
    },
    #[serde(other)]
    Other,
}

/// Called with what the candidates said since the last time, each with its place; may end it all with a signal's number.
pub type Tick<'t> = dyn FnMut(&[(usize, &Event)]) -> Option<i32> + 't;

/// What became of one candidate.
#[derive(Debug)]
pub struct Run {
    pub session: Session,
    pub seen: Seen,
    pub end: End,
}

/// How a candidate's process came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited,
    Signal(i32),
    /// We ended it.
    Overdue,
}

/// Why waiting ended before everything was done.
#[derive(Debug)]
pub enum Interrupted {
    Signal(i32),
    /// The warm process is gone; these were its last words.
    Gone(String),
}

#[derive(Debug)]
pub struct Warm {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<Reply>,
    said: Arc<Mutex<Vec<u8>>>,
    next: u64,
    /// Seconds that importing took, once it is done.
    pub import_seconds: Option<f64>,
}

struct InFlight {
    place: usize,
    session: Session,
    tail: Tail,
    seen: Seen,
    deadline: Instant,
}

impl Warm {
    /// Starts the script's Python; it imports while we go on.
    pub fn start(command_line: &[OsString], payload: &Payload, folder: &std::path::Path) -> Result<Warm, Error> {
        tree::adopt_orphans();
        let program = &command_line[0];
        let mut command = Command::new(program);
        command.args(&command_line[1..]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in session::environment(payload, folder) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("OOMPH_WARM", "1").process_group(0);
        // SAFETY: prctl is a plain system call, safe between fork and exec.
        unsafe { command.pre_exec(session::die_with_parent) };
        let failed = |source| Error::CannotRun { path: program.into(), source };
        let mut child = command.spawn().map_err(failed)?;
        let (requests, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let said = gather(child.stderr.take().expect("piped"));
        let (tell, replies) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Ok(reply) = serde_json::from_str(&line)
                    && tell.send(reply).is_err()
                {
                    return;
                }
            }
        });
        Ok(Warm { child, requests, replies, said, next: 0, import_seconds: None })
    }

    /// Waits for the imports. `tick` is called while nothing happens, and may end it with a signal's number.
    pub fn ready(&mut self, tick: &mut dyn FnMut() -> Option<i32>) -> Result<(), Interrupted> {
        let deadline = Instant::now() + READY_WITHIN;
        while self.import_seconds.is_none() {
            if let Some(signal) = tick() {
                return Err(Interrupted::Signal(signal));
            }
            match self.replies.recv_timeout(POLL) {
                Ok(Reply::Ready { seconds }) => self.import_seconds = Some(seconds),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => return Err(self.gone()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Ok(())
    }

    /// Runs sessions, `width` at a time, and gives them back in their order.
    pub fn run(&mut self, sessions: Vec<Session>, width: usize, tick: &mut Tick<'_>) -> Result<Vec<Run>, Interrupted> {
        let mut waiting = sessions.into_iter().enumerate();
        let mut running: HashMap<u64, InFlight> = HashMap::new();
        let mut done: Vec<(usize, Run)> = Vec::new();
        loop {
            while running.len() < width
                && let Some((place, session)) = waiting.next()
            {
                let id = self.request(&session)?;
                running.insert(id, InFlight::new(place, session));
            }
            if running.is_empty() {
                break;
            }
            let news: Vec<(usize, Event)> = running.values_mut().flat_map(InFlight::read).collect();
            let news: Vec<(usize, &Event)> = news.iter().map(|(place, event)| (*place, event)).collect();
            if let Some(signal) = tick(&news) {
                return Err(Interrupted::Signal(signal));
            }
            self.end_overdue(&running)?;
            match self.replies.recv_timeout(POLL) {
                Ok(Reply::Ended { id, status }) => {
                    if let Some(ended) = running.remove(&id) {
                        done.push(ended.finish(status));
                    }
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
            }
        }
        done.sort_by_key(|(place, _)| *place);
        Ok(done.into_iter().map(|(_, run)| run).collect())
    }

    /// Modules that a run imported and the warm process has not: imported once there, they are shared from now on.
    pub fn import(&mut self, modules: &[String]) -> Result<(), Interrupted> {
        self.send(&json!({"import": modules}))
    }

    fn request(&mut self, session: &Session) -> Result<u64, Interrupted> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"id": id, "session": session.folder().display().to_string()}))?;
        Ok(id)
    }

    fn send(&mut self, message: &serde_json::Value) -> Result<(), Interrupted> {
        writeln!(self.requests, "{message}").and_then(|()| self.requests.flush()).map_err(|_| self.gone())
    }

    fn end_overdue(&mut self, running: &HashMap<u64, InFlight>) -> Result<(), Interrupted> {
        let now = Instant::now();
        for (id, _) in running.iter().filter(|(_, one)| now > one.deadline) {
            self.send(&json!({"kill": id}))?;
        }
        Ok(())
    }

    fn gone(&mut self) -> Interrupted {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said);
        Interrupted::Gone(last_line(&text).unwrap_or("it said nothing").to_owned())
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        tree::kill_all();
        let _ = self.child.wait();
    }
}

impl InFlight {
    fn new(place: usize, session: Session) -> InFlight {
        let tail = Tail::new(&session.folder().join("events"));
        let deadline = Instant::now() + Duration::from_secs_f64(session.time_limit()) + GRACE;
        InFlight { place, session, tail, seen: Seen::default(), deadline }
    }

    fn read(&mut self) -> Vec<(usize, Event)> {
        let mut news = Vec::new();
        for (process, event) in self.tail.poll() {
            news.push((self.place, event.clone()));
            self.seen.add(&process, event);
        }
        news
    }

    fn finish(mut self, status: i32) -> (usize, Run) {
        let end = match status {
            0.. => End::Exited,
            _ if Instant::now() > self.deadline => End::Overdue,
            _ => End::Signal(-status),
        };
        self.read();
        self.seen.unreadable = self.tail.unreadable;
        self.session.clear_away(&self.seen);
        (self.place, Run { session: self.session, seen: self.seen, end })
    }
}

/// Keeps what the process says of itself, for when it dies.
fn gather(mut output: impl Read + Send + 'static) -> Arc<Mutex<Vec<u8>>> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&said);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count) = output.read(&mut buffer)
            && count > 0
        {
            let mut said = into.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend_from_slice(&buffer[..count]);
            // A chatty library must not fill our memory; its last words are what counts.
            let surplus = said.len().saturating_sub(64 * 1024);
            said.drain(..surplus);
        }
    });
    said
}
