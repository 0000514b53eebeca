//! `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`: PyTorch's allocator grows its segments in place instead of making new
//! ones beside holes that are too small.
//!
//! It applies to every script. The numbers stay the same to the bit. It takes no time that can be measured; what it frees is
//! the gap between reserved and allocated memory.

use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::Script;
use crate::write::Draft;

pub struct ExpandableSegments;

const VARIABLE: &str = "PYTORCH_CUDA_ALLOC_CONF";

impl Remedy for ExpandableSegments {
    fn about(&self) -> &'static About {
        &About {
            id: "expandable-segments",
            title: "Let the allocator grow its segments in place",
            mathematics: Mathematics::Same,
            effort: Effort::Setting,
            cost: "Frees what fragmentation wastes (up to 43 % in arXiv 2507.16274, mostly far less); takes no time.",
            conflicts: &[],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        match &script.alloc_conf {
            Some(set) if set.to_lowercase().replace(' ', "").contains("expandable_segments:true") => {
                Err("expandable_segments is on already".to_owned())
            }
            _ => Ok(Offer::Switch(Settings::new())),
        }
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        let others = draft.script.alloc_conf.iter().flat_map(|set| set.split(','));
        let mut parts: Vec<String> = others
            .map(|part| part.trim().to_owned())
            .filter(|part| !part.is_empty() && !part.starts_with("expandable_segments"))
            .collect();
        parts.push("expandable_segments:True".to_owned());
        draft.set_environment(VARIABLE, &parts.join(","));
        Ok(())
    }
}
