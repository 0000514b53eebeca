//! A number of bytes.
//!
//! # What people may type
//!
//! | written | means |
//! |---|---|
//! | `24GiB`, `24 GiB`, `24gib` | 24 × 2³⁰ bytes |
//! | `24G`, `24g` | the same: a bare letter is binary, as in `ulimit`, `dd` and Java's `-Xmx` |
//! | `24GB`, `24 GB` | 24 × 10⁹ bytes: the decimal unit, as the SI defines it |
//! | `1.5GiB`, `.5G` | fractions, rounded to the nearest byte |
//! | `11811160064`, `11_811_160_064`, `512 B` | bytes |
//!
//! K, M, G and T work alike. Upper and lower case do not matter. A data sheet's "24 GB" of GPU memory is 24 GiB:
//! type `24G`.

use std::fmt;
use std::str::FromStr;

/// A number of bytes.
///
/// ```
/// use units::Bytes;
/// assert_eq!("11GiB".parse(), Ok(Bytes(11 << 30)));
/// assert_eq!(Bytes(18_575_699_968).to_string(), "17.3 GiB");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    pub const KIB: Bytes = Bytes(1 << 10);
    pub const MIB: Bytes = Bytes(1 << 20);
    pub const GIB: Bytes = Bytes(1 << 30);
    pub const TIB: Bytes = Bytes(1 << 40);
}

/// Below 10 of a unit two decimals, from 10 on one, and no trailing zeros: "512 B", "1.5 GiB", "9.75 GiB", "139.8 GiB".
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&written(self.0))
    }
}

/// Display units, from the smallest. Nobody has a GPU with a PiB.
const DISPLAYED: [(&str, Bytes); 4] =
    [("KiB", Bytes::KIB), ("MiB", Bytes::MIB), ("GiB", Bytes::GIB), ("TiB", Bytes::TIB)];

fn written(bytes: u64) -> String {
    if bytes < Bytes::KIB.0 {
        return format!("{bytes} B");
    }
    let largest = DISPLAYED.len() - 1;
    for (unit, size) in &DISPLAYED[..largest] {
        let number = digits(bytes as f64 / size.0 as f64);
        // 1023.96 MiB rounds to 1024 MiB, which is written 1 GiB.
        if bytes < size.0 << 10 && number != "1024" {
            return format!("{number} {unit}");
        }
    }
    let (unit, size) = DISPLAYED[largest];
    format!("{} {unit}", digits(bytes as f64 / size.0 as f64))
}

fn digits(value: f64) -> String {
    let decimals = if value < 9.995 { 2 } else { 1 };
    let number = format!("{value:.decimals$}");
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Bytes, ParseBytesError> {
        read(text.trim()).map_err(|problem| ParseBytesError { text: text.to_owned(), problem })
    }
}

fn read(text: &str) -> Result<Bytes, Problem> {
    let (number, unit) = split(text);
    if number.is_empty() {
        return Err(Problem::NoNumber);
    }
    let size = unit_size(unit).ok_or_else(|| Problem::UnknownUnit(unit.to_owned()))?;
    Number::read(number)?.times(size)
}

/// The number is everything up to the first letter.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    (text[..end].trim_end(), &text[end..])
}

/// What one of this unit is in bytes.
fn unit_size(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 1,
        "k" | "ki" | "kib" => 1 << 10,
        "m" | "mi" | "mib" => 1 << 20,
        "g" | "gi" | "gib" => 1 << 30,
        "t" | "ti" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    })
}

/// A decimal number as typed: `digits / 10^decimals`. Integers all the way, so that every size is exact.
struct Number {
    digits: u128,
    decimals: u32,
}

impl Number {
    /// A further decimal of a TiB is less than a byte.
    const MOST_DECIMALS: usize = 15;

    fn read(text: &str) -> Result<Number, Problem> {
        let not_a_number = || Problem::NotANumber(text.to_owned());
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let whole = whole.replace('_', "");
        if whole.len() + fraction.len() == 0 || !whole.bytes().chain(fraction.bytes()).all(|c| c.is_ascii_digit()) {
            return Err(not_a_number());
        }
        let fraction = &fraction[..fraction.len().min(Self::MOST_DECIMALS)];
        let digits = format!("{whole}{fraction}").parse().map_err(|_| Problem::TooLarge)?;
        Ok(Number { digits, decimals: fraction.len() as u32 })
    }

    /// This number of units in bytes, rounded to the nearest.
    fn times(&self, unit: u64) -> Result<Bytes, Problem> {
        let scaled = self.digits.checked_mul(u128::from(unit)).ok_or(Problem::TooLarge)?;
        let divisor = 10_u128.pow(self.decimals);
        if unit == 1 && scaled % divisor != 0 {
            return Err(Problem::PartOfAByte);
        }
        let bytes = (scaled + divisor / 2) / divisor;
        u64::try_from(bytes).map(Bytes).map_err(|_| Problem::TooLarge)
    }
}

/// Why a text is not a number of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseBytesError {
    text: String,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    NoNumber,
    NotANumber(String),
    UnknownUnit(String),
    PartOfAByte,
    TooLarge,
}

impl fmt::Display for ParseBytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a size such as 11GiB, 24G, 24GB or 512MiB, found `{}`", self.text)?;
        match &self.problem {
            Problem::NoNumber => write!(f, ": it has no number"),
            Problem::NotANumber(number) => write!(f, ": `{number}` is not a number"),
            Problem::UnknownUnit(unit) => {
                write!(
                    f,
                    ": `{unit}` is not a unit (B, KiB, MiB, GiB, TiB; K, M, G, T mean the same; KB, MB, GB, TB are decimal)"
                )
            }
            Problem::PartOfAByte => write!(f, ": it is not a whole number of bytes"),
            Problem::TooLarge => write!(f, ": it is more than 16 EiB"),
        }
    }
}

impl std::error::Error for ParseBytesError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(text: &str) -> u64 {
        text.parse::<Bytes>().unwrap_or_else(|error| panic!("{error}")).0
    }

    fn refused(text: &str) -> String {
        text.parse::<Bytes>().expect_err(text).to_string()
    }

    #[test]
    fn reads_what_people_type() {
        assert_eq!(bytes("11GiB"), 11 << 30);
        assert_eq!(bytes("24G"), 24 << 30);
        assert_eq!(bytes("24g"), 24 << 30);
        assert_eq!(bytes("24 GB"), 24_000_000_000);
        assert_eq!(bytes("24gb"), 24_000_000_000);
        assert_eq!(bytes("512MiB"), 512 << 20);
        assert_eq!(bytes("1.5GiB"), 3 << 29);
        assert_eq!(bytes(".5G"), 1 << 29);
        assert_eq!(bytes("5.G"), 5 << 30);
        assert_eq!(bytes("  80 Gi "), 80 << 30);
        assert_eq!(bytes("2T"), 2 << 40);
        assert_eq!(bytes("64k"), 64 << 10);
        assert_eq!(bytes("11811160064"), 11_811_160_064);
        assert_eq!(bytes("11_811_160_064"), 11_811_160_064);
        assert_eq!(bytes("0"), 0);
        assert_eq!(bytes("512 B"), 512);
        assert_eq!(bytes("512 bytes"), 512);
        assert_eq!(bytes("18446744073709551615"), u64::MAX);
    }

    #[test]
    fn fractions_round_to_the_nearest_byte() {
        assert_eq!(bytes("23.64GiB"), 25_383_256_719); // 23.64 × 2³⁰ = 25 383 256 719.36
        assert_eq!(bytes("0.0001K"), 0);
        assert_eq!(bytes("0.0005K"), 1);
        assert_eq!(bytes("0.33333333333333333333333333333333333G"), 357_913_941);
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(refused(""), "expected a size such as 11GiB, 24G, 24GB or 512MiB, found ``: it has no number");
        assert_eq!(refused("GiB"), "expected a size such as 11GiB, 24G, 24GB or 512MiB, found `GiB`: it has no number");
        assert!(refused("24 gigs").ends_with(
            "found `24 gigs`: `gigs` is not a unit (B, KiB, MiB, GiB, TiB; K, M, G, T mean the same; KB, MB, GB, TB are decimal)"
        ));
        assert!(refused("-3G").ends_with("found `-3G`: `-3` is not a number"));
        assert!(refused("1.2.3G").ends_with(": `1.2.3` is not a number"));
        assert!(refused(".G").ends_with(": `.` is not a number"));
        assert!(refused("1,5G").ends_with(": `1,5` is not a number"));
        assert!(refused("1.5").ends_with(": it is not a whole number of bytes"));
        assert!(refused("20000000T").ends_with(": it is more than 16 EiB"));
        assert!(refused("99999999999999999999999999999999999999999").ends_with(": it is more than 16 EiB"));
        assert!(refused("24G 5").contains("`G 5` is not a unit"));
        assert!(refused("nan").ends_with(": it has no number"));
    }

    #[test]
    fn writes_for_people() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (518 << 20, "518 MiB"),
            (25_250_758_656, "23.5 GiB"),
            (18_575_699_968, "17.3 GiB"),
            (10_468_982_784, "9.75 GiB"),
            (8 << 30, "8 GiB"),
            (150_109_880_320, "139.8 GiB"),
            (3 << 40, "3 TiB"),
            (u64::MAX, "16777216 TiB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Bytes(bytes).to_string(), expected, "{bytes}");
        }
    }

    #[test]
    fn never_writes_1024_of_a_unit() {
        assert_eq!(Bytes((1 << 20) - 1).to_string(), "1 MiB");
        assert_eq!(Bytes((1 << 30) - 1).to_string(), "1 GiB");
        assert_eq!(Bytes((1 << 40) - 1).to_string(), "1 TiB");
        assert_eq!(Bytes((1 << 30) - (1 << 20)).to_string(), "1023 MiB");
    }

    #[test]
    fn pads_like_any_text() {
        assert_eq!(format!("[{:>10}]", Bytes(8 << 30)), "[     8 GiB]");
    }

    proptest! {
        #[test]
        fn a_number_of_bytes_reads_back_exactly(count: u64) {
            prop_assert_eq!(bytes(&count.to_string()), count);
            prop_assert_eq!(bytes(&format!("{count} B")), count);
        }

        #[test]
        fn what_is_written_reads_back_within_its_last_digit(count in 0_u64..1 << 60) {
            let back = bytes(&Bytes(count).to_string());
            // Two decimals below 10 and one above: never off by more than half of 0.1 in 10 of a unit.
            prop_assert!(back.abs_diff(count) as f64 <= count as f64 * 0.005 + 0.5, "{} read back as {}", count, back);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Bytes>();
        }

        #[test]
        fn whole_units_are_exact(count in 0_u64..1 << 20) {
            prop_assert_eq!(bytes(&format!("{count}GiB")), count << 30);
            prop_assert_eq!(bytes(&format!("{count}G")), count << 30);
            prop_assert_eq!(bytes(&format!("{count}GB")), count * 1_000_000_000);
        }
    }
}
