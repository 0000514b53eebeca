//! How much of each list a format shows.

/// A cut of every list: one screen, or everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    pub evidence: usize,
    pub categories: usize,
    pub modules: usize,
    pub lines: usize,
    pub fixes: usize,
    pub also: usize,
    pub warnings: usize,
}

impl Shown {
    /// About forty lines in all.
    pub const SCREEN: Shown =
        Shown { evidence: 5, categories: 5, modules: 3, lines: 4, fixes: 4, also: 2, warnings: 3 };

    pub const PAGE: Shown =
        Shown { evidence: 12, categories: 9, modules: 20, lines: 30, fixes: 12, also: 16, warnings: 40 };

    pub const ALL: Shown = Shown {
        evidence: usize::MAX,
        categories: usize::MAX,
        modules: usize::MAX,
        lines: usize::MAX,
        fixes: usize::MAX,
        also: usize::MAX,
        warnings: usize::MAX,
    };
}

/// The first rows, and how many are left out.
pub fn cut<T>(rows: &[T], most: usize) -> (&[T], usize) {
    let shown = rows.len().min(most);
    (&rows[..shown], rows.len() - shown)
}
