//! What the allocator held when the recording was written: segments, and the blocks that tile them.

use crate::{StackId, StreamId};

/// `(0, 0)` is the default pool; CUDA graphs and `torch.cuda.MemPool` have others.
pub type PoolId = (u64, u64);

/// One piece of device memory that PyTorch holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub address: u64,
    pub size: u64,
    pub stream: StreamId,
    /// Of the pool for requests up to 1 MiB.
    pub small: bool,
    pub pool: PoolId,
    pub expandable: bool,
    pub stack: StackId,
    /// In address order, without gaps.
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub address: u64,
    pub size: u64,
    /// What the user asked for; absent in torch 2.0 and for free blocks.
    pub requested: Option<u64>,
    pub state: BlockState,
    pub stack: StackId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    Allocated,
    /// The tensor is dead; another stream still uses the memory.
    PendingFree,
    Free,
}
