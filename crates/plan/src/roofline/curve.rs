//! What kernels of one kind take, by what they would take at the peak.

use serde::Deserialize;

/// Points of ideal and real microseconds, rising. Between them logarithms are interpolated; a shorter kernel than the
/// first takes as long as that, a longer one than the last is as efficient as that.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Curve(Vec<(f64, f64)>);

impl Curve {
    pub fn us(&self, ideal: f64) -> f64 {
        let (first, last) = (self.0[0], self.0[self.0.len() - 1]);
        if ideal <= first.0 {
            return if ideal > 0.0 { first.1 } else { 0.0 };
        }
        if ideal >= last.0 {
            return ideal * last.1 / last.0;
        }
        let above = self.0.partition_point(|point| point.0 < ideal);
        let (low, high) = (self.0[above - 1], self.0[above]);
        let share = (ideal / low.0).ln() / (high.0 / low.0).ln();
        (low.1.ln() + share * (high.1 / low.1).ln()).exp()
    }

    /// What the shortest kernel takes.
    pub fn least_us(&self) -> f64 {
        self.0[0].1
    }

    #[cfg(test)]
    pub fn rises(&self) -> bool {
        !self.0.is_empty() && self.0.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_between_points_and_holds_beyond_them() {
        let curve = Curve(vec![(1.0, 4.0), (100.0, 200.0)]);
        assert_eq!(curve.us(0.0), 0.0);
        assert_eq!(curve.us(0.1), 4.0);
        assert!((curve.us(10.0) - (4.0_f64 * 200.0).sqrt()).abs() < 1e-9);
        assert!((curve.us(1000.0) - 2000.0).abs() < 1e-9);
    }
}
