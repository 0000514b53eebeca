//! How long something took.

use std::fmt;
use std::time::Duration;

/// A duration, written for people: "35 ms", "0.8 s", "42 s", "2 min 5 s", "1 h 4 min", "3 d 2 h".
///
/// ```
/// use std::time::Duration;
/// use units::Elapsed;
/// assert_eq!(Elapsed(Duration::from_secs(125)).to_string(), "2 min 5 s");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Elapsed(pub Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&written(self.0))
    }
}

fn written(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 0.001 {
        return "under 1 ms".to_owned();
    }
    if seconds < 0.0995 {
        return format!("{:.0} ms", seconds * 1000.0);
    }
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    in_two_units(seconds.round() as u64)
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The two largest units that say something. The seconds are cut, not rounded, once hours count.
fn in_two_units(seconds: u64) -> String {
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min {} s", seconds / MINUTE, seconds % MINUTE),
        HOUR..DAY => format!("{} h {} min", seconds / HOUR, seconds % HOUR / MINUTE),
        _ => format!("{} d {} h", seconds / DAY, seconds % DAY / HOUR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_for_people() {
        let cases = [
            (0.0, "under 1 ms"),
            (0.0004, "under 1 ms"),
            (0.035, "35 ms"),
            (0.0999, "0.1 s"),
            (0.8, "0.8 s"),
            (1.0, "1.0 s"),
            (9.94, "9.9 s"),
            (9.96, "10 s"),
            (41.6, "42 s"),
            (59.6, "1 min 0 s"),
            (125.0, "2 min 5 s"),
            (3599.9, "1 h 0 min"),
            (3840.0, "1 h 4 min"),
            (266_400.0, "3 d 2 h"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(Elapsed(Duration::from_secs_f64(seconds)).to_string(), expected, "{seconds}");
        }
    }

    #[test]
    fn the_longest_duration_can_be_written() {
        assert_eq!(Elapsed(Duration::MAX).to_string(), "213503982334601 d 7 h");
    }

    #[test]
    fn pads_like_any_text() {
        assert_eq!(format!("[{:>7}]", Elapsed(Duration::from_millis(800))), "[  0.8 s]");
    }
}
