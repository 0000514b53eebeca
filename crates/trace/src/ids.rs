//! Typed indices into the columns. An id means something only beside the recording it came from.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// Columns are shorter than 2^32 rows: readers stop before that.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("columns are shorter than 2^32 rows"))
            }
        }
    };
}

id!(
    /// A string of the recording: a function, a file, a module, a user's note. 0 is the empty string.
    NameId
);
id!(
    /// A distinct frame: function, file and line.
    FrameId
);
id!(
    /// A distinct stack. 0 is the empty one: no stack was kept.
    StackId
);
id!(
    /// A row of a device's events, oldest first.
    EventId
);
id!(
    /// A row of a device's allocations, in the order of their birth.
    AllocationId
);
id!(
    /// A CUDA stream of the recording; its raw handle is in [`crate::Events::stream_handle`].
    StreamId
);

impl NameId {
    pub const EMPTY: NameId = NameId(0);
}

impl StackId {
    pub const EMPTY: StackId = StackId(0);
}
