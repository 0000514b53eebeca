//! Findings of some rules over files and folders, one a line: `cargo run -p lint --example findings A,P01 DIR…`.

use std::path::PathBuf;

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() {
    let mut args = std::env::args().skip(1);
    let rules: Vec<String> = args.next().unwrap_or_default().split(',').map(str::to_owned).collect();
    let paths: Vec<PathBuf> = args.map(PathBuf::from).collect();
    let mut options = lint::Options::default();
    // `default` is what runs when nothing is selected.
    if rules != ["default"] {
        options.config.select = Some(rules);
    }
    let report = lint::check_paths(&paths, &options).expect("the rules exist");
    for finding in &report.findings {
        let (path, line) = (finding.path.display(), finding.span.line);
        // In a notebook lines count inside the cell: `x.ipynb#3:5` is line 5 of the third.
        let cell = finding.span.cell.map(|c| format!("#{c}")).unwrap_or_default();
        println!("{path}{cell}:{line}: {} {} {}", finding.code, finding.severity.as_str(), finding.message);
    }
}
