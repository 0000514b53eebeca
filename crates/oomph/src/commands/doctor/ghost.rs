//! A try of the smallest script there is.

use report::Verdict;

use super::check::{Check, Found, Place, fail};
use crate::args::DEFAULT_CARD;
use crate::error::Error;
use crate::python::{Python, Subject};
use crate::session::{self, Known, Session, Versions, Wish};

pub const STARTS: Check = Check { id: "ghost.starts", title: "ghost GPU", run: starts };

const SCRIPT: &str = "import torch; torch.ones(8, device='cuda').sum().item()";
const TIME_LIMIT: f64 = 120.0;

fn starts(place: &Place) -> Found {
    let Ok(python) = &place.python else {
        return Found::Skip("no Python to start it in".into());
    };
    if python.check(Subject::Nothing).is_err() {
        return Found::Skip("this torch cannot use it".into());
    }
    match small_try(python) {
        Ok(found) => found,
        Err(error) => fail(&error),
    }
}

fn small_try(python: &Python) -> Result<Found, Error> {
    let card = gpus::find(DEFAULT_CARD).expect("the catalogue has the default").clone();
    let name = card.name.clone();
    let wish = Wish {
        card: card.clone(),
        steps: None,
        full: false,
        time_limit: TIME_LIMIT,
        keep_files: false,
        save: None,
        experiment: None,
    };
    let command_line = [python.executable.clone().into(), "-c".into(), SCRIPT.into()];
    let (seen, stop) = Session::prepare(wish)?.run(&command_line)?;
    let versions = Versions { torch: None, cuda: None, cudnn: None };
    let known = Known { card, versions, time_limit: TIME_LIMIT, seconds: 0.0, snapshot: None, directory: None };
    Ok(match session::conclude(&seen, stop, &known).verdict {
        Verdict::Fits => Found::Pass(format!("torch computed on a {name}")),
        Verdict::DoesNotFit => Found::Fail("eight numbers did not fit".into(), REPORT_IT.into()),
        Verdict::Unknown(why) => Found::Fail(why.message, why.hint.unwrap_or_else(|| REPORT_IT.into())),
    })
}

const REPORT_IT: &str = "run it again with GHOST_LOG=1 in the environment and report what it says";
