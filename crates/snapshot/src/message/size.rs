//! Sizes as PyTorch's `format_size` prints them: `512 bytes`, `2.00 KiB`, `1024.00 MiB`, `15.18 GiB`.

use trace::Approx;

const UNITS: [(&str, u64); 5] = [("bytes", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// NVML answers 2^64 - 1 where it may not look into a process; that prints as 17179869184.00 GiB.
const NOT_AVAILABLE: u128 = 1 << 63;

/// A whole text that is a size.
pub fn size(text: &str) -> Option<Approx> {
    let (value, length) = leading(text)?;
    value.filter(|_| text[length..].trim().is_empty())
}

/// The size at the start of `text`, and how long it is. The inner `None` is a size that says "not available".
pub fn leading(text: &str) -> Option<(Option<Approx>, usize)> {
    let number = text.trim_start_matches(' ');
    let (whole, decimals, length) = decimal(number)?;
    let after = number[length..].trim_start_matches(' ');
    let &(unit, factor) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
    let consumed = text.len() - after.len() + unit.len();
    Some((approximate(whole, decimals, factor), consumed))
}

/// The digits without the point, how many of them are decimals, and the length of all.
fn decimal(text: &str) -> Option<(u128, u32, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let decimals = text[whole..].strip_prefix('.').map_or(0, digits);
    // More digits than any size has would overflow below.
    if whole == 0 || whole > 20 || decimals > 9 {
        return None;
    }
    let fraction = if decimals == 0 { "" } else { &text[whole + 1..whole + 1 + decimals] };
    let value = format!("{}{fraction}", &text[..whole]).parse().ok()?;
    let length = if decimals == 0 { whole } else { whole + 1 + decimals };
    Some((value, decimals as u32, length))
}

fn approximate(value: u128, decimals: u32, factor: u64) -> Option<Approx> {
    let scale = 10_u128.pow(decimals);
    let bytes = (value * u128::from(factor) + scale / 2) / scale;
    if bytes >= NOT_AVAILABLE {
        return None;
    }
    // Half a unit of the last digit; whole bytes are exact.
    let plus_minus = if factor == 1 { 0 } else { u128::from(factor).div_ceil(2 * scale) };
    Some(Approx { bytes: bytes as u64, plus_minus: plus_minus as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_stands_for_a_range() {
        let read = size("1.23 GiB").unwrap();
        assert_eq!(read.bytes, 1_320_702_444);
        for bytes in [1_320_702_444 - 5_000_000, 1_320_702_444 + 5_000_000] {
            assert!(read.holds(bytes));
            assert_eq!(format!("{:.2}", bytes as f64 / (1_u64 << 30) as f64), "1.23");
        }
        assert!(!read.holds(1_320_702_444 + 6_000_000));
    }

    #[test]
    fn every_unit() {
        assert_eq!(size("512 bytes"), Some(Approx::exact(512)));
        assert_eq!(size("2.00 KiB"), Some(Approx { bytes: 2048, plus_minus: 6 }));
        assert_eq!(size("1024.00 MiB"), Some(Approx { bytes: 1 << 30, plus_minus: 5243 }));
        assert_eq!(size("139.80 GiB").unwrap().bytes, 150_109_106_995);
        assert!(size("139.80 GiB").unwrap().holds(150_109_880_320), "the H200 it was printed for");
    }

    #[test]
    fn what_is_no_size() {
        for text in ["", "GiB", "1.2", "1.2 Gib", "x 1 GiB", "1 GiB more", "17179869184.00 GiB", "-1.00 GiB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
