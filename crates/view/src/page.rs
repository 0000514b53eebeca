//! The page, as it is in `page/`: plain modules, put together into one script without any tool.

pub const INDEX: &str = include_str!("../page/index.html");
pub const STYLE: &str = include_str!("../page/style.css");

/// In the order in which they use each other.
const MODULES: [(&str, &str); 19] = [
    ("format.js", include_str!("../page/format.js")),
    ("palette.js", include_str!("../page/palette.js")),
    ("source.js", include_str!("../page/source.js")),
    ("search.js", include_str!("../page/search.js")),
    ("tile.js", include_str!("../page/tile.js")),
    ("paint.js", include_str!("../page/paint.js")),
    ("tiles.js", include_str!("../page/tiles.js")),
    ("axis.js", include_str!("../page/axis.js")),
    ("frame.js", include_str!("../page/frame.js")),
    ("chart.js", include_str!("../page/chart.js")),
    ("minimap.js", include_str!("../page/minimap.js")),
    ("map.js", include_str!("../page/map.js")),
    ("panel.js", include_str!("../page/panel.js")),
    ("tip.js", include_str!("../page/tip.js")),
    ("controls.js", include_str!("../page/controls.js")),
    ("pointer.js", include_str!("../page/pointer.js")),
    ("shown.js", include_str!("../page/shown.js")),
    ("moving.js", include_str!("../page/moving.js")),
    ("main.js", include_str!("../page/main.js")),
];

/// All modules as one: imports go, exports become plain names. Names are therefore unique over all files.
pub fn script() -> String {
    let mut script = String::from("'use strict';\n");
    for (name, text) in MODULES {
        script.push_str(&format!("\n// {name}\n"));
        let kept = text.lines().filter(|line| !line.starts_with("import "));
        kept.for_each(|line| {
            script.push_str(line.strip_prefix("export ").unwrap_or(line));
            script.push('\n');
        });
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_page_is_in_it() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let scripts: BTreeSet<String> = files.filter(|name| name.ends_with(".js")).collect();
        let known: BTreeSet<String> = MODULES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(scripts, known);
    }

    /// Put together, two files with the same name at the top would be a syntax error or, worse, none.
    #[test]
    fn names_at_the_top_are_unique() {
        let mut seen = BTreeSet::new();
        for line in script().lines() {
            let rest = ["const ", "let ", "function ", "async function ", "class "]
                .iter()
                .find_map(|it| line.strip_prefix(it));
            let name = rest.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(""));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                assert!(seen.insert(name.to_owned()), "`{name}` is defined twice");
            }
        }
        assert!(seen.len() > 20);
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for text in [INDEX, STYLE, &script()] {
            assert!(!text.contains("http://") && !text.contains("https://"));
        }
    }
}
