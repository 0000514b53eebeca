//! One line a finding, as compilers write them: editors and `grep` know what to do with it.

use lint::Finding;

use super::place;

pub fn concise(findings: &[Finding]) -> String {
    findings.iter().map(line).collect()
}

fn line(finding: &Finding) -> String {
    format!("{}: {} {}\n", place(&finding.path, &finding.span), finding.code, finding.message)
}
