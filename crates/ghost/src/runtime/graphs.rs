//! CUDA graphs: enough for capture, instantiation and replay to succeed.

use super::*;
use crate::fill::put;
use crate::{hand_out, succeed};

hand_out! {
    cudaGraphCreate: 0 cudaGraphInstantiate: 0 cudaGraphInstantiateWithFlags: 0
    cudaGraphInstantiateWithParams: 0 cudaGraphClone: 0
    cudaGraphAddNode: 0 cudaGraphAddKernelNode: 0 cudaGraphAddEmptyNode: 0 cudaGraphAddMemcpyNode: 0
    cudaGraphConditionalHandleCreate: 0 cudaUserObjectCreate: 0
}

succeed! {
    cudaGraphDestroy cudaGraphExecDestroy cudaGraphLaunch cudaGraphUpload cudaGraphDebugDotPrint
    cudaGraphExecUpdate cudaGraphRetainUserObject cudaGraphReleaseUserObject cudaUserObjectRelease
    cudaGraphKernelNodeSetParams cudaGraphExecKernelNodeSetParams cudaGraphAddDependencies
}

/// A captured graph is never empty: PyTorch warns of empty ones. Its one node cannot be looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphGetNodes(_graph: usize, nodes: *mut usize, count: *mut usize) -> i32 {
    unsafe {
        put(nodes, crate::answer::fresh_handle());
        put(count, 1);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphNodeGetType(_node: usize, out: *mut i32) -> i32 {
    const EMPTY: i32 = 5;
    unsafe { put(out, EMPTY) };
    SUCCESS
}

/// The fourth argument is the count in CUDA 13 (the third holds the edges) and beyond the list in CUDA 12.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphNodeGetDependencies(
    _node: usize,
    _nodes: *mut usize,
    edges_or_count: *mut usize,
    count: *mut usize,
) -> i32 {
    let out = if crate::card::cuda_version() >= 13000 { count } else { edges_or_count };
    unsafe { put(out, 0) };
    SUCCESS
}
