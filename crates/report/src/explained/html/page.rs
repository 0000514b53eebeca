//! The frame of a page: everything it needs is in it.

/// Readable at any width, in light and dark, on paper too. No script, nothing loaded.
const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --dim: #6b6b6b; --rule: #ddd; --bad: #b3261e; \
--fill: #4c78a8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --dim: #9a9a9a; --rule: #333; \
--bad: #ff8a80; --fill: #7aa6d8; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem; \
margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.35rem; line-height: 1.35; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { color: var(--dim); }
dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; } table.wide { width: 100%; }
td, th { padding: .15rem .8rem .15rem 0; vertical-align: top; text-align: left; overflow-wrap: anywhere; }
.size { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.bar { width: 45%; vertical-align: middle; } .bar span { display: block; height: .8rem; background: var(--fill); }
.bar .parameter { background: #4c78a8; } .bar .gradient { background: #f58518; } \
.bar .optimizer-state { background: #72b7b2; } .bar .activation { background: #e45756; } \
.bar .temporary { background: #b279a2; } .bar .workspace { background: #9d755d; } .bar .input { background: #54a24b; } \
.bar .buffer { background: #eeca3b; } .bar .unknown { background: #8a8a8a; }
svg { width: 100%; height: auto; margin: 1rem 0; } svg text { font: 11px system-ui, sans-serif; fill: var(--dim); }
details { margin: .5rem 0; } footer { color: var(--dim); border-top: 1px solid var(--rule); margin-top: 2rem; \
padding-top: .5rem; }
";

/// A whole page; `body` is markup already.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(title)
    )
}

/// Text as markup that shows it. Names of files and functions come from anywhere.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let hostile = "<script>alert(\"x\")</script>&'\0";
        assert_eq!(escaped(hostile), "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;\u{fffd}");
        assert!(!page(hostile, "").contains("<script"));
    }
}
