//! The largest batch that fits: two sizes are measured, a line is laid through them, and what it says is tried.

use remedies::Choice;

use crate::bench::{Bench, Candidate, Outcome, Ran, Stopped};
use crate::wish::Wish;

/// Tries after the first two: each halves what is left between a size that fits and one that does not.
const TRIES: usize = 12;

/// The largest batch that was seen to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Largest {
    pub batch: u64,
    pub ran: Ran,
    /// The smallest that was seen not to fit; `None` if the line was never left.
    pub too_large: Option<u64>,
}

/// `with` makes the choices of a batch size. `batch` is the script's own, `as_is` what it took.
pub fn largest_batch(
    batch: u64,
    as_is: &Ran,
    wish: &Wish,
    bench: &mut dyn Bench,
    with: &dyn Fn(u64) -> Vec<Choice>,
) -> Result<Option<Largest>, Stopped> {
    let mut points = vec![(batch, as_is.peak.device_bytes as f64)];
    let second = if batch > 1 { batch / 2 } else { 2 };
    if let Some(Outcome::Ran(ran)) = bench.measure(&[Candidate::uncapped(with(second))])?.pop() {
        points.push((second, ran.peak.device_bytes as f64));
    }
    let mut best: Option<(u64, Ran)> = None;
    let mut too_large: Option<u64> = None;
    let mut next = on_the_line(&points, wish).unwrap_or(second);
    for _ in 0..TRIES {
        next = next.max(best.as_ref().map_or(1, |best| best.0 + 1)).min(too_large.map_or(u64::MAX, |bound| bound - 1));
        if next == 0 || best.as_ref().is_some_and(|best| best.0 >= next) || !bench.goes_on() {
            break;
        }
        match bench.measure(&[Candidate::capped(with(next))])?.pop() {
            Some(Outcome::Ran(ran)) => {
                best = Some((next, ran));
                next = match too_large {
                    Some(bound) => next + (bound - next) / 2,
                    None => next + (next / 64).max(1),
                };
            }
            _ => {
                let below = best.as_ref().map_or(0, |best| best.0);
                too_large = Some(next);
                next = below + (next - below) / 2;
            }
        }
        if too_large.is_some_and(|bound| best.as_ref().is_some_and(|best| best.0 + 1 >= bound)) {
            break;
        }
    }
    Ok(best.map(|(batch, ran)| Largest { batch, ran, too_large }))
}

/// Where the line through the first and last point meets the limit.
fn on_the_line(points: &[(u64, f64)], wish: &Wish) -> Option<u64> {
    let ((x0, y0), (x1, y1)) = (points.first()?, points.last()?);
    let slope = (y1 - y0) / (*x1 as f64 - *x0 as f64);
    (slope.is_finite() && slope > 0.0)
        .then(|| (*x0 as f64 + (wish.limit_bytes as f64 - y0) / slope).floor().max(1.0) as u64)
}
