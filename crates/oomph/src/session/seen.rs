//! What the processes of a try said, gathered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use report::{Ended, Oom, Peak, Rank, Saved, Step, Warning};

use super::events::{End, Event, Failure, Injected};

/// All that was seen, process by process.
#[derive(Debug, Default)]
pub struct Seen {
    processes: BTreeMap<PathBuf, Process>,
    created: Vec<PathBuf>,
    /// Lines of events that could not be read.
    pub unreadable: usize,
}

/// One process that imported torch.
#[derive(Debug, Default)]
pub struct Process {
    pub pid: u32,
    pub rank: Option<u64>,
    world: Option<u64>,
    pub versions: Option<Versions>,
    pub steps: Vec<Step>,
    pub saved: Vec<Saved>,
    pub warnings: Vec<Warning>,
    pub oom: Option<Oom>,
    pub failure: Option<Failure>,
    pub script: Option<remedies::Script>,
    pub injected: Vec<Injected>,
    pub end: Option<End>,
    /// The last thing it said it was doing.
    pub doing: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Versions {
    pub torch: Option<String>,
    pub cuda: Option<String>,
    pub cudnn: Option<String>,
}

impl Seen {
    pub fn add(&mut self, process: &Path, event: Event) {
        if let Event::Created { path } = event {
            self.created.push(path.into());
            return;
        }
        self.processes.entry(process.to_owned()).or_default().add(event);
    }

    /// Files and folders that did not exist before.
    pub fn created(&self) -> &[PathBuf] {
        &self.created
    }

    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.processes.values()
    }

    /// Processes that used the card, or tried to.
    pub fn users(&self) -> Vec<&Process> {
        let mut users: Vec<&Process> = self.processes().filter(|process| process.used_card()).collect();
        users.sort_by_key(|process| (process.rank, process.pid));
        users
    }

    /// The process whose story is told: the one that ran out of memory, else the one that failed,
    /// else the fullest.
    pub fn fullest(&self) -> Option<&Process> {
        let users = self.users();
        let first_best = |best: &'_ Process, next: &'_ Process| next.weight() > best.weight();
        users.into_iter().reduce(|best, next| if first_best(best, next) { next } else { best })
    }

    /// Where none used the card: the one that failed, else any that said anything.
    pub fn talkative(&self) -> Option<&Process> {
        let failed = self.processes().find(|process| process.failure.is_some());
        failed.or_else(|| self.processes().next())
    }

    /// Several ranks were started, all of them, and each has said its last word.
    pub fn all_ranks_ended(&self) -> bool {
        let ranks: Vec<&Process> = self.processes().filter(|process| process.rank.is_some()).collect();
        let world = ranks.iter().filter_map(|process| process.world).max().unwrap_or(0);
        world > 1 && ranks.len() as u64 >= world && ranks.iter().all(|process| process.end.is_some())
    }
}

impl Process {
    fn add(&mut self, event: Event) {
        match event {
            Event::Hello { pid, rank, world } => (self.pid, self.rank, self.world) = (pid, rank, world),
            Event::Progress { what, detail } => {
                self.doing = Some(detail.map_or(what.clone(), |detail| format!("{what} {detail}")))
            }
            Event::Cuda { torch, cuda, cudnn } => self.versions = Some(Versions { torch, cuda, cudnn }),
            Event::Step(step) => self.steps.push(step),
            Event::Saved(saved) => self.saved.push(saved),
            Event::Warning(warning) => self.warnings.push(warning),
            Event::Oom(oom) => self.oom = Some(oom),
            Event::Error(failure) => self.failure = Some(failure),
            Event::Script(script) => self.script = Some(*script),
            Event::Remedy(injected) => self.injected.push(injected),
            Event::End(end) => self.end = Some(end),
            Event::Created { .. } | Event::Unknown => {}
        }
    }

    pub fn used_card(&self) -> bool {
        self.versions.is_some()
            || !self.steps.is_empty()
            || self.oom.is_some()
            || self.end.as_ref().is_some_and(|end| end.used_cuda)
    }

    pub fn ended(&self) -> Option<Ended> {
        self.end.as_ref().map(|end| end.reason)
    }

    /// The highest marks: final ones if it could say them, else those of its last step.
    pub fn peak(&self) -> Option<Peak> {
        let last = self.steps.last().map(|step| Peak {
            allocated_bytes: step.peak_allocated_bytes,
            reserved_bytes: step.peak_reserved_bytes,
            requested_bytes: None,
            device_bytes: None,
        });
        self.end.as_ref().and_then(|end| end.peak).or(last)
    }

    /// An out-of-memory error that no later step made good.
    pub fn fatal_oom(&self) -> Option<&Oom> {
        self.oom.as_ref().filter(|oom| !self.made_good(oom))
    }

    pub fn recovered_oom(&self) -> Option<&Oom> {
        self.oom.as_ref().filter(|oom| self.made_good(oom))
    }

    fn made_good(&self, oom: &Oom) -> bool {
        oom.caught && self.steps.last().is_some_and(|step| step.step >= oom.step)
    }

    fn weight(&self) -> (u8, u64) {
        let trouble = match self.ended() {
            _ if self.fatal_oom().is_some() => 3,
            Some(Ended::Error) => 2,
            None => 1,
            Some(_) => 0,
        };
        (trouble, self.peak().map_or(0, |peak| peak.reserved_bytes))
    }

    pub fn as_rank(&self) -> Rank {
        Rank {
            rank: self.rank,
            pid: self.pid,
            steps: self.steps.len() as u64,
            peak: self.peak(),
            ended: self.ended().unwrap_or(Ended::Died),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Events as the Python side writes them, process by process.
    pub fn seen(lines: &[(u32, &str)]) -> Seen {
        let mut seen = Seen::default();
        for (pid, line) in lines {
            let event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            seen.add(Path::new(&format!("{pid}.jsonl")), event);
        }
        seen
    }

    const OOM: &str = r#"{"event":"oom","step":2,"phase":"forward","requested_bytes":9,"message":"m","location":null,"traceback":"t","caught":true}"#;

    fn step(number: u64, reserved: u64) -> String {
        format!(
            r#"{{"event":"step","step":{number},"allocated_bytes":1,"reserved_bytes":1,"peak_allocated_bytes":1,"peak_reserved_bytes":{reserved},"seconds":0}}"#
        )
    }

    #[test]
    fn the_rank_that_ran_out_is_the_one_to_tell_of() {
        let seen = seen(&[
            (1, &step(1, 900)),
            (2, &step(1, 100)),
            (2, OOM),
            (3, r#"{"event":"warning","code":"c","message":"m"}"#),
        ]);
        assert!(seen.fullest().unwrap().oom.is_some());
        assert_eq!(seen.users().len(), 2, "a launcher that only imports torch does not count");
    }

    #[test]
    fn of_equals_the_fullest_is_told_of() {
        let seen = seen(&[(1, &step(1, 100)), (2, &step(1, 900)), (3, &step(1, 900))]);
        let told = seen.fullest().unwrap();
        assert_eq!(told.peak().unwrap().reserved_bytes, 900);
    }

    #[test]
    fn a_caught_error_is_made_good_by_the_step_after_it() {
        let caught = seen(&[(1, &step(1, 1)), (1, OOM)]);
        assert!(caught.fullest().unwrap().fatal_oom().is_some());
        let recovered = seen(&[(1, &step(1, 1)), (1, OOM), (1, &step(2, 1))]);
        assert!(recovered.fullest().unwrap().fatal_oom().is_none());
    }

    #[test]
    fn launchers_are_not_waited_for_once_every_rank_ended() {
        let hello = |rank: u64| format!(r#"{{"event":"hello","pid":{rank},"rank":{rank},"world":2}}"#);
        let end = r#"{"event":"end","reason":"steady","steps":3,"peak":null,"used_cuda":true}"#;
        let mut lines = vec![(1, hello(0)), (2, hello(1)), (1, end.to_owned())];
        let ended = |lines: &[(u32, String)]| {
            let lines: Vec<(u32, &str)> = lines.iter().map(|(pid, line)| (*pid, line.as_str())).collect();
            seen(&lines).all_ranks_ended()
        };
        assert!(!ended(&lines));
        lines.push((2, end.to_owned()));
        assert!(ended(&lines));
    }
}
