//! What `oomph check` says of the lines that another command blames, where the code is at hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use report::{Mistake, Mistakes};

/// Findings of the files that these lines are in. A file that cannot be read or checked has none.
pub fn at<'a>(lines: impl IntoIterator<Item = (&'a str, u64)>) -> Mistakes {
    let mut blamed: BTreeMap<PathBuf, Vec<u64>> = BTreeMap::new();
    for (file, line) in lines {
        blamed.entry(PathBuf::from(file)).or_default().push(line);
    }
    let mut mistakes = Mistakes::default();
    for (path, lines) in blamed {
        // A relative name of another machine's log may mean anything here.
        if path.is_absolute()
            && path.is_file()
            && path.extension().is_some_and(|end| end == "py")
            && !is_installed(&path)
        {
            look_into(&path, &lines, &mut mistakes);
        }
    }
    mistakes
}

/// Libraries are not the user's to mend.
fn is_installed(path: &Path) -> bool {
    path.components().any(|part| matches!(part.as_os_str().to_str(), Some("site-packages" | "dist-packages")))
}

fn look_into(path: &Path, lines: &[u64], mistakes: &mut Mistakes) {
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let Ok(report) = lint::check_paths(&[path.to_owned()], &lint::Options::default()) else { return };
    let mut others = 0;
    for finding in &report.findings {
        let (first, last) = (line_of(&text, finding.span.start), line_of(&text, finding.span.end));
        if !lines.iter().any(|line| (first..=last).contains(line)) {
            others += u64::from(finding.severity > lint::Severity::Note);
            continue;
        }
        mistakes.here.push(Mistake {
            code: finding.code.into(),
            name: finding.name.into(),
            message: finding.message.clone(),
            file: path.display().to_string(),
            line: first,
        });
    }
    if others > 0 {
        mistakes.elsewhere.push((path.display().to_string(), others));
    }
}

fn line_of(text: &str, offset: usize) -> u64 {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAK: &str = "\
import torch

model = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for x in torch.utils.data.DataLoader(data):
    loss = model(x).sum()
    losses.append(loss)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
";

    #[test]
    fn the_mistake_at_a_blamed_line_is_told_and_others_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.py");
        std::fs::write(&path, LEAK).unwrap();
        let file = path.to_str().unwrap();
        let all = lint::check_paths(std::slice::from_ref(&path), &lint::Options::default()).unwrap().findings;
        let line = line_of(LEAK, all.first().expect("the list of losses is found").span.start);
        let found = at([(file, line)]);
        assert_eq!((found.here[0].line, found.here[0].code.as_str()), (line, all[0].code));
        let counted = at([(file, 1)]);
        assert!(counted.here.is_empty() && counted.elsewhere.len() <= 1);
    }

    #[test]
    fn what_is_not_here_has_no_mistakes() {
        assert!(at([("/no/such/train.py", 3), ("train.py", 1), ("/usr/lib/python3/site-packages/a.py", 1)]).is_empty());
    }
}
