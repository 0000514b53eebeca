//! `oomph view`: the timeline of one or more snapshots, in a browser.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use axum::http::StatusCode;
use snapshot::Input;
use trace::{History, Recording};
use units::{Bytes, Elapsed};
use view::{Run, View};

use crate::args::ViewArgs;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::output;
use crate::progress::Progress;
use crate::serve::{Answer, Content, Server};

pub fn run(options: &ViewArgs) -> ExitStatus {
    match show(options) {
        Ok(()) => ExitStatus::Fits,
        Err(error) => {
            output::complain(&error);
            ExitStatus::CouldNotTell
        }
    }
}

fn show(options: &ViewArgs) -> Result<(), Error> {
    let limit = options.memory.as_deref().map(str::parse::<Bytes>).transpose().map_err(Error::BadMemory)?;
    let view = View::new(runs(&options.files, limit)?);
    if view.is_empty() {
        return Err(Error::EmptySnapshot);
    }
    match &options.save {
        Some(path) => save(&view, path),
        None => serve(view, options),
    }
}

/// All files side by side: ranks of one job are read in the time of the slowest.
fn runs(paths: &[PathBuf], limit: Option<Bytes>) -> Result<Vec<Run>, Error> {
    let progress = &Progress::new(paths.len());
    let read: Vec<Result<Run, Error>> = std::thread::scope(|scope| {
        let start = |(index, path): (usize, &PathBuf)| {
            let path = path.clone();
            scope.spawn(move || read(&path, limit, |done, of| progress.report(index, done, of)))
        };
        let workers: Vec<_> = paths.iter().enumerate().map(start).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    progress.finish();
    read.into_iter().collect()
}

fn read(path: &Path, limit: Option<Bytes>, progress: impl Fn(u64, Option<u64>)) -> Result<Run, Error> {
    let started = Instant::now();
    let input =
        snapshot::read_path(path, &progress).map_err(|source| Error::Snapshot { path: path.to_owned(), source })?;
    let Input::Recording(recording) = input else { return Err(Error::NoTimeline(path.to_owned())) };
    let events: usize = recording.devices.iter().map(|device| device.events.len()).sum();
    eprintln!("Read {}: {events} events in {}", path.display(), Elapsed(started.elapsed()));
    let histories = histories(&recording);
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Run { name, recording, histories, limit: limit.map(|bytes| bytes.0) })
}

fn histories(recording: &Recording) -> Vec<History> {
    (0..recording.devices.len()).map(|device| History::of(recording, device)).collect()
}

fn save(view: &View, path: &Path) -> Result<(), Error> {
    let page = view.save();
    std::fs::write(path, &page).map_err(|source| Error::Io { doing: "write", path: path.to_owned(), source })?;
    output::answer(&format!("Wrote {}, {}\n", path.display(), Bytes(page.len() as u64)));
    Ok(())
}

fn serve(view: View, options: &ViewArgs) -> Result<(), Error> {
    let failed = |source| Error::Serve { port: options.port, source };
    let server = Server::bind(options.port).map_err(failed)?;
    let (url, port) = (server.url().map_err(failed)?, server.port().map_err(failed)?);
    eprintln!("{url}");
    eprintln!("Open it in a browser; Ctrl-C ends it.{}", from_elsewhere(port));
    if options.open {
        open(&url);
    }
    server.run(move |path, query| answer(&view, path, query)).map_err(failed)
}

fn answer(view: &View, path: &str, query: &str) -> Answer {
    let response = view.respond(path, query).map_err(|error| (StatusCode::NOT_FOUND, error.to_string()))?;
    Ok(Content { content_type: response.content_type, bytes: response.bytes.into_owned() })
}

/// Someone who came by ssh has the browser at the other end of it.
fn from_elsewhere(port: u16) -> String {
    let Some(connection) = std::env::var("SSH_CONNECTION").ok() else { return String::new() };
    let user = std::env::var("USER").map(|user| format!("{user}@")).unwrap_or_default();
    let host = own_address(&connection).map_or("HOST".to_owned(), |address| address.to_string());
    format!("\nFrom where you sit, first: ssh -N -L {port}:127.0.0.1:{port} {user}{host}")
}

/// `client-address client-port server-address server-port`, as sshd sets it.
fn own_address(connection: &str) -> Option<IpAddr> {
    connection.split(' ').nth(2)?.parse().ok()
}

/// A desktop that cannot open it is no reason to stop: the address is on the screen.
fn open(url: &str) {
    let quiet =
        |command: &mut Command| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(error) = quiet(Command::new("xdg-open").arg(url)) {
        output::warn(&format!("cannot open a browser: xdg-open: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_end_of_an_ssh_connection() {
        assert_eq!(own_address("10.0.0.5 51000 10.0.0.9 22"), "10.0.0.9".parse().ok());
        assert_eq!(own_address("nonsense"), None);
    }
}
