//! The torch in it, as its files tell it: nothing is imported.

use super::check::{Check, Found, Place, fail};
use crate::error::Error;
use crate::python::{Subject, Torch};

pub const INSTALLED: Check = Check { id: "torch.installed", title: "torch", run: installed };
pub const BUILD: Check = Check { id: "torch.cuda", title: "CUDA build", run: build };
pub const VERSION: Check = Check { id: "torch.version", title: "torch version", run: version };
pub const CUDNN: Check = Check { id: "torch.cudnn", title: "cuDNN", run: cudnn };

/// The first cuDNN whose heuristics answer without a device (release notes of 9.8, "deviceless").
const DEVICELESS_CUDNN: (u64, u64) = (9, 8);

fn installed(place: &Place) -> Found {
    match &place.python {
        Err(_) => Found::Skip("no Python to look in".into()),
        Ok(python) => match &python.torch {
            Some(torch) => Found::Pass(torch.version()),
            None => fail(&Error::NoTorch { python: python.executable.clone() }),
        },
    }
}

fn build(place: &Place) -> Found {
    about(
        place,
        |error| matches!(error, Error::NoCuda { .. }),
        |torch| format!("CUDA {}", torch.cuda.as_deref().unwrap_or("unknown")),
    )
}

fn version(place: &Place) -> Found {
    about(place, |error| matches!(error, Error::OldTorch { .. }), |torch| format!("{} is supported", torch.version()))
}

/// Passes unless `Python::check` refuses this torch for the reason at hand.
fn about(place: &Place, is_mine: fn(&Error) -> bool, pass: fn(&Torch) -> String) -> Found {
    let (Ok(python), Ok(torch)) = (&place.python, place.torch()) else {
        return Found::Skip("no torch to look at".into());
    };
    match python.check(Subject::Nothing) {
        Err(error) if is_mine(&error) => fail(&error),
        _ => Found::Pass(pass(torch)),
    }
}

fn cudnn(place: &Place) -> Found {
    let torch = match place.torch() {
        Ok(torch) => torch,
        Err(skip) => return skip,
    };
    let Some(version) = torch.cudnn() else {
        return Found::Skip("torch did not come with a cuDNN package".into());
    };
    if crate::python::parse_version(&version).is_some_and(|version| version < DEVICELESS_CUDNN) {
        return Found::Warn(
            format!("{version} cannot plan convolutions without a card, so their workspaces are derived"),
            "use a torch that comes with cuDNN 9.8 or newer for exact ones".into(),
        );
    }
    Found::Pass(version)
}
