//! The query of a request, read.

use std::str::FromStr;

use crate::Error;
use crate::axis::AxisKind;

/// The parameters of a request; the last one of a name wins.
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn read(query: &str) -> Query {
        Query(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    pub fn text(&self, name: &str) -> &str {
        self.0.iter().rev().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// 0 where it is not given.
    pub fn number<N: FromStr + Default>(&self, name: &'static str) -> Result<N, Error> {
        let found = self.text(name);
        if found.is_empty() {
            return Ok(N::default());
        }
        found.parse().map_err(|_| Error::BadParameter { name, expected: "a number", found: found.to_owned() })
    }

    /// By events where it is not given.
    pub fn axis(&self) -> Result<AxisKind, Error> {
        let found = self.text("axis");
        let kind = if found.is_empty() { Some(AxisKind::Events) } else { AxisKind::named(found) };
        kind.ok_or_else(|| Error::BadParameter {
            name: "axis",
            expected: "events, time or steps",
            found: found.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_refuses() {
        let query = Query::read("series=2&q=size%3E1G%20attn&level=x&axis=space");
        assert_eq!(query.number::<usize>("series"), Ok(2));
        assert_eq!(query.number::<usize>("index"), Ok(0));
        assert_eq!(query.text("q"), "size>1G attn");
        assert!(query.number::<u32>("level").is_err());
        assert!(query.axis().is_err());
    }
}
