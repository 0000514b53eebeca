//! `allocator_settings`.

use trace::Settings;

use super::values::Values;
use crate::pickle::handle::Handle;

pub fn settings(values: Values, dict: Handle) -> Settings {
    Settings {
        text: values.text(dict, "PYTORCH_CUDA_ALLOC_CONF"),
        expandable_segments: values.get(dict, "expandable_segments").and_then(Handle::as_bool),
        // -1 is unlimited, and so no size.
        max_split_size: values.size(dict, "max_split_size"),
        garbage_collection_threshold: values.number(dict, "garbage_collection_threshold"),
        roundup_power2_divisions: values
            .get(dict, "roundup_power2_divisions")
            .map(|divisions| roundups(values, divisions))
            .unwrap_or_default(),
    }
}

/// Keys are mebibytes as text, "1" to "32768"; slot i is 2^i of them.
fn roundups(values: Values, divisions: Handle) -> Vec<u64> {
    let mut slots = Vec::new();
    for (key, value) in values.pairs(divisions) {
        let mebibytes = values.texts.get(key).and_then(|key| key.parse::<u64>().ok());
        let (Some(mebibytes), Some(division)) = (mebibytes, values.store.size(value)) else { continue };
        let Some(slot) = mebibytes.checked_ilog2() else { continue };
        slots.resize(slots.len().max(slot as usize + 1), 0);
        slots[slot as usize] = division;
    }
    slots
}
