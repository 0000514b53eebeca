//! Which remedies can be used on this script at all, and why the others cannot.

use remedies::{Choice, Mathematics, Offer, Remedy, Script};

use crate::wish::Wish;

/// A remedy that is no part of any plan, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    pub remedy: String,
    pub why: String,
}

/// What the search may use.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    pub switches: Vec<Choice>,
    /// Each from its weakest to its strongest setting.
    pub dials: Vec<Vec<Choice>>,
    pub rejected: Vec<Rejected>,
}

impl Pool {
    /// `last_words`: also those that change what is trained.
    pub fn of(script: &Script, wish: &Wish, last_words: bool) -> Pool {
        let mut pool = Pool::default();
        for &remedy in remedies::all() {
            match admitted(remedy, wish, last_words).and_then(|()| remedy.offer(script)) {
                Ok(Offer::Switch(settings)) => pool.offer(vec![Choice { remedy, settings }], wish, last_words),
                Ok(Offer::Dial(settings)) => {
                    let dial = settings.into_iter().map(|settings| Choice { remedy, settings }).collect();
                    pool.offer(dial, wish, last_words);
                }
                Err(why) => pool.reject(remedy.about().id, why),
            }
        }
        pool
    }

    /// Takes up the settings of one remedy, unless they change on this script what they usually leave alone.
    fn offer(&mut self, settings: Vec<Choice>, wish: &Wish, last_words: bool) {
        let Some(first) = settings.first() else { return };
        let (id, mathematics) = (first.id(), first.mathematics());
        let allowed = wish.allow.iter().any(|allowed| allowed == id);
        let usual = first.remedy.about().mathematics;
        if wish.keep_math && mathematics != Mathematics::Same {
            self.reject(id, "on this script it changes the mathematics, which --keep-math forbids".into());
        } else if mathematics > usual && mathematics == Mathematics::Different && !last_words && !allowed {
            self.reject(
                id,
                format!(
                    "on this script it changes what is trained: a last word, only used if nothing else fits, or with --allow {id}"
                ),
            );
        } else if let Some((_, why)) =
            wish.unwritable.iter().find(|(one, _)| one == id).filter(|_| !last_words && !allowed)
        {
            self.reject(id, format!("it cannot be written into this code: {why}"));
        } else if settings.len() == 1 {
            self.switches.extend(settings);
        } else {
            self.dials.push(settings);
        }
    }

    pub fn reject(&mut self, remedy: &str, why: String) {
        if self.rejected.iter().all(|rejected| rejected.remedy != remedy) {
            self.rejected.push(Rejected { remedy: remedy.to_owned(), why });
        }
        self.switches.retain(|choice| choice.id() != remedy);
        self.dials.retain(|dial| dial.first().is_some_and(|choice| choice.id() != remedy));
    }

    pub fn is_empty(&self) -> bool {
        self.switches.is_empty() && self.dials.is_empty()
    }
}

fn admitted(remedy: &'static dyn Remedy, wish: &Wish, last_words: bool) -> Result<(), String> {
    let about = remedy.about();
    let named = |list: &[String]| list.iter().any(|id| id == about.id);
    if named(&wish.deny) {
        return Err("denied on the command line".into());
    }
    if !wish.allow.is_empty() && !named(&wish.allow) {
        return Err("not among the remedies allowed on the command line".into());
    }
    if wish.keep_math && about.mathematics != Mathematics::Same {
        return Err("it changes the mathematics, which --keep-math forbids".into());
    }
    if about.last_word && !last_words && !named(&wish.allow) {
        return Err(format!("a last word: only used if nothing else fits, or with --allow {}", about.id));
    }
    Ok(())
}
