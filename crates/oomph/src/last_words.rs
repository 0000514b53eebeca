//! What is told of a process that has ended: the last that it said, or the signal that ended it.

/// The last line that says something. A progress bar is one line with many beginnings.
pub fn last_line(text: &str) -> Option<&str> {
    text.split(['\n', '\r']).map(str::trim).rfind(|line| !line.is_empty())
}

pub fn signal(number: i32) -> String {
    match signal_hook::low_level::signal_name(number) {
        Some(name) => format!("signal {name}"),
        None => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_progress_bar_counts() {
        assert_eq!(last_line("begun\n\rloading 10 %\rloading 20 % \n\n"), Some("loading 20 %"));
        assert_eq!(last_line(" \n"), None);
    }
}
