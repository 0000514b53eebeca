//! A sample of the measured convolutions, and the share that the rules reproduce.
//!
//! One array of integers a line: op (10 forward, 11 weight gradient, 12 data gradient), n, ci, h, w,
//! co, filter, stride, padding, dilation (two each), groups, data type, channels last, then the first
//! deviceless plan's engine and workspace, the card's workspace, and the plan's knobs with values.
//! The plans are those of a cuDNN whose calls to cuBLASLt are answered (with no workspace).

use super::{Choice, Convolution, Op, workspace};

const SAMPLE: &str = include_str!("../../../tests/data/h200-cudnn-9.19-convolutions.jsonl");
const KNOBS: usize = 20;

struct Case {
    conv: Convolution,
    choice: Choice,
    card: u64,
}

impl Case {
    fn parse(line: &str) -> Case {
        let fields = line.trim_matches(['[', ']']).split(',').map(|field| field.parse().unwrap());
        let f: Vec<i64> = fields.collect();
        let pair = |at: usize| f[at..at + 2].to_vec();
        let (filter, stride, padding, dilation) = (pair(6), pair(8), pair(10), pair(12));
        let out = |axis: usize| {
            (f[3 + axis] + 2 * padding[axis] - dilation[axis] * (filter[axis] - 1) - 1) / stride[axis] + 1
        };
        let conv = Convolution {
            op: [Op::Forward, Op::WeightGradient, Op::DataGradient][f[0] as usize - 10],
            x: vec![f[1], f[2], f[3], f[4]],
            w: vec![f[5], f[2] / f[14], filter[0], filter[1]],
            y: vec![f[1], f[5], out(0), out(1)],
            stride,
            padding,
            data_type: f[15] as i32,
            channels_last: f[16] == 1,
        };
        let knobs = f[KNOBS..].chunks(2).map(|knob| (knob[0] as i32, knob[1])).collect();
        Case { conv, choice: Choice { engine: f[17], knobs, workspace: f[18] as u64 }, card: f[19] as u64 }
    }

    fn error(&self) -> u64 {
        workspace(&self.conv, &self.choice, 132, (9, 0)).abs_diff(self.card)
    }
}

fn share(cases: &[Case], within: u64) -> f64 {
    cases.iter().filter(|case| case.error() <= within).count() as f64 / cases.len() as f64
}

#[test]
fn most_measured_workspaces_are_reproduced() {
    let cases: Vec<Case> = SAMPLE.lines().map(Case::parse).collect();
    assert!(cases.len() >= 300);
    assert!(share(&cases, 0) >= 0.9, "equal to the byte: {}", share(&cases, 0));
    assert!(share(&cases, 512) >= 0.93, "within one of the allocator's units: {}", share(&cases, 512));
    assert!(share(&cases, 2 << 20) >= 0.96, "within 2 MiB: {}", share(&cases, 2 << 20));
}
