//! The words of the format: keys of its dicts and names of its actions.

use trace::{Action, NameId, Names};

use crate::pickle::Stop;
use crate::pickle::handle::{Handle, Tag};

macro_rules! keys {
    ($($name:ident $text:literal,)*) => {
        /// A key that some dict of a snapshot has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Key { $($name,)* Unknown }

        impl Key {
            const ALL: &[(&str, Key)] = &[$(($text, Key::$name),)*];
        }
    };
}

// (`torch/csrc/cuda/memory_snapshot.cpp` and `torch/csrc/cuda/Module.cpp`, 2.0 to 2.15)
keys! {
    Action "action", Addr "addr", DeviceFree "device_free", Size "size", Stream "stream", TimeUs "time_us",
    Frames "frames", CompileContext "compile_context", UserMetadata "user_metadata", ForwardFrames "forward_frames",
    PoolId "pool_id", Category "category",
    Name "name", Filename "filename", Line "line", FxNodeOp "fx_node_op", FxNodeName "fx_node_name",
    FxNodeTarget "fx_node_target", FxOriginalTrace "fx_original_trace",
    Device "device", Address "address", TotalSize "total_size", AllocatedSize "allocated_size",
    ActiveSize "active_size", RequestedSize "requested_size", SegmentType "segment_type",
    SegmentPoolId "segment_pool_id", IsExpandable "is_expandable", Blocks "blocks", Registered "registered",
    State "state", History "history", RealSize "real_size", CppFrames "cpp_frames",
    Stage "stage",
}

pub const KEYS: usize = Key::Unknown as usize + 1;

const ACTIONS: &[(&str, Action)] = &[
    ("alloc", Action::Alloc),
    ("free_requested", Action::FreeRequested),
    ("free_completed", Action::FreeCompleted),
    ("segment_alloc", Action::SegmentAlloc),
    ("segment_free", Action::SegmentFree),
    ("segment_map", Action::SegmentMap),
    ("segment_unmap", Action::SegmentUnmap),
    ("snapshot", Action::Snapshot),
    ("oom", Action::Oom),
    ("annotate", Action::Annotate),
];

/// All texts of a pickle, and which of them are words of the format: looked up once a text, not once a use.
pub struct Texts {
    pub names: Names,
    keys: Vec<Key>,
    actions: Vec<Option<Action>>,
    bytes: u64,
    latest: (Vec<u8>, NameId),
}

impl Default for Texts {
    fn default() -> Self {
        let mut texts = Texts {
            names: Names::default(),
            keys: Vec::new(),
            actions: Vec::new(),
            bytes: 0,
            latest: (Vec::new(), NameId::EMPTY),
        };
        texts.learn();
        texts
    }
}

/// Ids into `Names` count bytes with 32 bits; distinct texts of a real file take a few megabytes.
const MOST_TEXT: u64 = 1 << 30;

impl Texts {
    pub fn intern(&mut self, text: &[u8]) -> Result<NameId, Stop> {
        // Each event brings its own copy of the same few words ("N/A").
        if self.latest.0 == text {
            return Ok(self.latest.1);
        }
        let id = self.names.intern(&String::from_utf8_lossy(text));
        if text.len() < 32 {
            self.latest.0.clear();
            self.latest.0.extend_from_slice(text);
            self.latest.1 = id;
        }
        if id.index() < self.keys.len() {
            return Ok(id);
        }
        self.bytes += text.len() as u64;
        self.learn();
        if self.bytes > MOST_TEXT { Err(Stop::TooMuch) } else { Ok(id) }
    }

    /// Looks at names that are new.
    fn learn(&mut self) {
        for index in self.keys.len()..self.names.len() {
            let name = self.names.get(NameId::from_index(index));
            let key = Key::ALL.iter().find(|(text, _)| *text == name);
            self.keys.push(key.map_or(Key::Unknown, |&(_, key)| key));
            self.actions.push(ACTIONS.iter().find(|(text, _)| *text == name).map(|&(_, action)| action));
        }
    }

    #[inline]
    pub fn key(&self, handle: Handle) -> Key {
        handle.place_of(Tag::Text).map_or(Key::Unknown, |place| self.keys[place as usize])
    }

    #[inline]
    pub fn action(&self, handle: Handle) -> Option<Action> {
        self.actions[handle.place_of(Tag::Text)? as usize]
    }

    pub fn get(&self, handle: Handle) -> Option<&str> {
        handle.place_of(Tag::Text).map(|place| self.names.get(NameId(place)))
    }

    pub fn held_bytes(&self) -> u64 {
        // Kept twice, by order and for finding it again.
        self.bytes * 2 + self.keys.len() as u64 * 48
    }
}
