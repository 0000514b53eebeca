//! The processes a try starts, all of them: nothing of it outlives the try.
//!
//! Process groups are not enough, because launchers put their workers into groups and sessions of
//! their own. Instead we adopt every orphan below us (`PR_SET_CHILD_SUBREAPER`) and walk `/proc`.

use std::fs;
use std::time::{Duration, Instant};

/// From now on, a descendant whose parent dies becomes our child instead of init's.
pub fn adopt_orphans() {
    // SAFETY: prctl with integer arguments touches no memory of ours. Failing only means that a
    // daemonised leftover is missed, so the result does not matter.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Sends a signal to every living descendant.
pub fn signal(number: i32) {
    for pid in descendants() {
        // SAFETY: kill takes integers; a process that is already gone is an error we want to ignore.
        unsafe { libc::kill(pid, number) };
    }
}

/// Kills every descendant and waits until they are gone, which a moment should be enough for.
pub fn kill_all() {
    let deadline = Instant::now() + Duration::from_secs(2);
    while !descendants().is_empty() && Instant::now() < deadline {
        signal(libc::SIGKILL);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Living processes below this one, by following parents in `/proc`.
fn descendants() -> Vec<i32> {
    let processes = processes();
    let mut found = vec![std::process::id() as i32];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(processes.iter().filter(|process| process.parent == parent).map(|process| process.pid));
        next += 1;
    }
    let alive = |pid: &i32| processes.iter().any(|process| process.pid == *pid && !process.zombie);
    found.into_iter().skip(1).filter(alive).collect()
}

struct Process {
    pid: i32,
    parent: i32,
    zombie: bool,
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            parse_stat(pid, &fs::read_to_string(entry.path().join("stat")).ok()?)
        })
        .collect()
}

/// `pid (name) state ppid …`; the name may hold anything, parentheses too (proc(5)).
fn parse_stat(pid: i32, stat: &str) -> Option<Process> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X");
    Some(Process { pid, parent: fields.next()?.parse().ok()?, zombie })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses_do_not_confuse() {
        let process = parse_stat(7, "7 (a) b (c) S 3 7 7 0").unwrap();
        assert_eq!((process.parent, process.zombie), (3, false));
        assert!(parse_stat(8, "8 (x) Z 3 7").unwrap().zombie);
    }

    #[test]
    fn a_grandchild_is_found() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 30 & wait"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let processes = processes();
        let of = |parent: i32| processes.iter().filter(move |process| process.parent == parent);
        let grandchild = of(child.id() as i32).next().expect("sh has a child").pid;
        assert!(descendants().contains(&grandchild));
        // SAFETY: a pid we have just seen below our own child.
        unsafe { libc::kill(grandchild, libc::SIGKILL) };
        child.wait().unwrap();
    }
}
