//! The Python that scripts will run in.

use super::check::{Check, Found, Place, fail};

pub const FOUND: Check = Check { id: "python.found", title: "Python", run: found };

fn found(place: &Place) -> Found {
    match &place.python {
        Ok(python) => Found::Pass(format!("{}, {}", python.version, python.executable.display())),
        Err(error) => fail(error),
    }
}
