//! The script's command line, with the knobs that stand in it: `--batch-size {batch:64}`.

use std::path::{Path, PathBuf};

use remedies::{Choice, Placeholder};

/// What is run, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// The script's file, absolute.
    script: PathBuf,
    /// As it was typed: the script or module, for `sys.argv[0]`.
    name: String,
    /// With the values of the placeholders.
    plain: Vec<String>,
    pub placeholders: Vec<Placeholder>,
    /// Where the user's own code is: the script's folder.
    folder: PathBuf,
}

impl Command {
    pub fn new(script: PathBuf, name: String, typed: Vec<String>) -> Result<Command, String> {
        let (mut plain, mut placeholders) = (Vec::new(), Vec::new());
        for (argument, word) in typed.iter().enumerate() {
            match placeholder(word)? {
                Some((name, value, template)) => {
                    plain.push(template.replacen("{}", &value.to_string(), 1));
                    placeholders.push(Placeholder { name, value, argument, template });
                }
                None => plain.push(word.clone()),
            }
        }
        let folder = script.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Command { script, name, plain, placeholders, folder })
    }

    pub fn script_path(&self) -> &Path {
        &self.script
    }

    pub fn arguments_given(&self) -> &[String] {
        &self.plain
    }

    /// Only files beside or below the script are the user's to change; an environment may lie there too.
    pub fn is_users(&self, path: &Path) -> bool {
        let foreign = |part: std::path::Component<'_>| {
            matches!(part.as_os_str().to_str(), Some("site-packages" | "dist-packages"))
        };
        path == self.script || (path.starts_with(&self.folder) && !path.components().any(foreign))
    }

    /// `sys.argv` with what the choices change of it.
    pub fn argv(&self, choices: &[Choice]) -> Vec<String> {
        let text =
            |choice: &Choice, name: &str| choice.settings.get(name).and_then(|value| value.as_str()).map(str::to_owned);
        let number = |choice: &Choice, name: &str| choice.settings.get(name).and_then(serde_json::Value::as_u64);
        let mut arguments = self.plain.clone();
        for choice in choices {
            match text(choice, "by").as_deref() {
                Some("argument" | "flags") => {
                    let values = [("flag", number(choice, "rows")), ("accumulate_flag", accumulated(choice))];
                    for (flag, value) in values {
                        if let (Some(flag), Some(value)) = (text(choice, flag), value) {
                            set(&mut arguments, &flag, &value.to_string());
                        }
                    }
                }
                Some("placeholder") => {
                    self.fill(&mut arguments, "batch", &|_| number(choice, "rows"));
                    self.fill(&mut arguments, "accumulate", &|old| Some(old * number(choice, "parts")?));
                }
                _ => {}
            }
            if let Some(value) = number(choice, "value") {
                if let Some(name) = text(choice, "placeholder") {
                    self.fill(&mut arguments, &name, &|_| Some(value));
                } else if let Some(flag) = text(choice, "flag") {
                    set(&mut arguments, &flag, &value.to_string());
                }
            }
        }
        self.with(&arguments)
    }

    fn fill(&self, arguments: &mut [String], name: &str, value: &dyn Fn(u64) -> Option<u64>) {
        for placeholder in self.placeholders.iter().filter(|placeholder| placeholder.name == name) {
            if let Some(value) = value(placeholder.value) {
                arguments[placeholder.argument] = placeholder.template.replacen("{}", &value.to_string(), 1);
            }
        }
    }

    /// `sys.argv` with these arguments.
    pub fn with(&self, arguments: &[String]) -> Vec<String> {
        std::iter::once(self.name.clone()).chain(arguments.iter().cloned()).collect()
    }
}

/// The script's own accumulation, times ours.
fn accumulated(choice: &Choice) -> Option<u64> {
    let number = |name: &str| choice.settings.get(name).and_then(serde_json::Value::as_u64);
    Some(number("accumulated")? * number("parts")?)
}

/// `--flag value`, `--flag=value`, or added at the end.
fn set(arguments: &mut Vec<String>, flag: &str, value: &str) {
    if let Some(place) = arguments.iter().position(|word| word == flag)
        && place + 1 < arguments.len()
    {
        arguments[place + 1] = value.to_owned();
    } else if let Some(word) =
        arguments.iter_mut().find(|word| word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
    {
        *word = format!("{flag}={value}");
    } else {
        arguments.extend([flag.to_owned(), value.to_owned()]);
    }
}

/// `--bs={batch:64}` is `batch`, 64 and `--bs={}`. Braces that are no placeholder are the script's own.
fn placeholder(word: &str) -> Result<Option<(String, u64, String)>, String> {
    let parts = word.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inside, after))) = parts else { return Ok(None) };
    let Some((name, number)) = inside.split_once(':') else { return Ok(None) };
    if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_lowercase()) {
        return Ok(None);
    }
    let number: u64 = number.parse().ok().filter(|&number| number > 0).ok_or_else(|| {
        format!("'{{{inside}}}' is no placeholder: write a whole number behind the colon, as in {{batch:64}}")
    })?;
    Ok(Some((name.to_owned(), number, format!("{before}{{}}{after}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &str) -> Command {
        let typed = words.split_whitespace().map(str::to_owned).collect();
        Command::new("/home/me/train.py".into(), "train.py".into(), typed).unwrap()
    }

    #[test]
    fn placeholders_are_numbers_in_the_command() {
        let command = command("--bs {batch:64} --name={seq:1024}x {a}");
        assert_eq!(command.arguments_given(), ["--bs", "64", "--name=1024x", "{a}"]);
        assert_eq!(command.placeholders.len(), 2);
        assert_eq!(command.argv(&[])[0], "train.py");
    }

    #[test]
    fn a_placeholder_needs_a_number() {
        let error = Command::new("/t.py".into(), "t.py".into(), vec!["{batch:many}".into()]).unwrap_err();
        assert!(error.contains("{batch:64}"), "{error}");
    }

    #[test]
    fn flags_are_set_wherever_they_stand() {
        let mut arguments: Vec<String> = ["--a", "1", "--b=2"].map(String::from).to_vec();
        set(&mut arguments, "--a", "3");
        set(&mut arguments, "--b", "4");
        set(&mut arguments, "--c", "5");
        assert_eq!(arguments, ["--a", "3", "--b=4", "--c", "5"]);
    }

    #[test]
    fn packages_are_not_the_users() {
        let command = command("");
        assert!(command.is_users(Path::new("/home/me/model.py")));
        assert!(!command.is_users(Path::new("/home/me/.venv/lib/python3.12/site-packages/torch/a.py")));
        assert!(!command.is_users(Path::new("/usr/lib/python3/abc.py")));
    }
}
