//! Small damage to Python text: lines and words deleted, doubled, exchanged, indented, cut off.

/// A reproducible stream of numbers (xorshift64*, Vigna 2016).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit.max(1)
    }
}

/// Words that matter to the rules, thrown in anywhere.
const SPICE: &[&str] = &[
    "loss.backward()",
    "optimizer.zero_grad()",
    "optimizer.step()",
    "torch.no_grad()",
    "model.eval",
    "total += loss",
    "\t",
    "    ",
    "if x:",
    "for x in loader:",
    "'''",
    "(",
    ")",
    ",",
    "\\",
    "\r\n",
    "# oomph: ignore",
    "é",
    "\u{feff}",
    "scaler.step(optimizer)",
    "with torch.autocast('cuda'):",
    "lambda: model(x)",
    "*",
    "async ",
    "; ",
    "def f(model):",
    "return model(x)",
    "{",
    "f'{loss}'",
];

/// One to four changes.
pub fn mutate(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(4) {
        change(&mut lines, random);
    }
    let mut out = lines.concat();
    if random.below(16) == 0 {
        let mut end = random.below(out.len());
        while !out.is_char_boundary(end) {
            end -= 1;
        }
        out.truncate(end);
    }
    if random.below(16) == 0 {
        out = out.replace('\n', "\r\n");
    }
    out
}

fn change(lines: &mut Vec<String>, random: &mut Random) {
    if lines.is_empty() {
        lines.push("x = 1\n".to_owned());
    }
    let at = random.below(lines.len());
    match random.below(8) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = random.below(lines.len());
            lines.swap(at, other);
        }
        3 => lines[at].insert_str(0, "    "),
        4 => lines[at] = lines[at].trim_start().to_owned(),
        5 => {
            let indent: String = lines[at].chars().take_while(|c| *c == ' ').collect();
            lines.insert(at, format!("{indent}{}\n", SPICE[random.below(SPICE.len())]));
        }
        6 => {
            let spots: Vec<usize> = lines[at].char_indices().map(|(i, _)| i).collect();
            let spot = spots.get(random.below(spots.len())).copied().unwrap_or(0);
            lines[at].insert_str(spot, SPICE[random.below(SPICE.len())]);
        }
        _ => {
            let words: Vec<&str> = lines[at].split(' ').collect();
            let gone = random.below(words.len());
            lines[at] =
                words.iter().enumerate().filter(|(i, _)| *i != gone).map(|(_, w)| *w).collect::<Vec<_>>().join(" ");
        }
    }
}
