//! The `bufferSize` questions of cuSPARSE.
//!
//! None of the sizes is documented. All are derived from what the method must keep: an offset per
//! row to share the work evenly, a level per row for triangular solves, a second copy of what is
//! sorted, and every intermediate entry of a product. Beside the matrices they are small, except
//! the last.

use super::{Shape, product_entries, shape};
use crate::fill::put;
use crate::{alike, notes};

/// An index, in the 32-bit form that PyTorch uses with cuSPARSE.
const INDEX: usize = 4;

fn derived(bytes: usize) -> usize {
    notes::note("cuSPARSE workspaces are derived, not measured");
    bytes
}

fn count(n: impl TryInto<usize>) -> usize {
    n.try_into().unwrap_or(0)
}

/// An offset per row.
pub fn per_row(matrix: Shape) -> usize {
    derived(INDEX * (count(matrix.rows) + 1))
}

/// Level, order and count per row of a triangular matrix.
fn levels(rows: usize) -> usize {
    derived(3 * INDEX * rows)
}

/// Every entry of the product with its index, before duplicates are summed.
pub fn product(a: Shape, b: Shape) -> usize {
    derived(count(product_entries(a, b)) * (INDEX + a.value_bytes))
}

/// Radix sort by so many keys, with the permutation: each array a second time.
fn sort(entries: i32, keys: usize) -> usize {
    derived((keys + 1) * INDEX * count(entries))
}

alike! {
    [cusparseSpMM_bufferSize]
    (_handle: usize, _op_a: i32, _op_b: i32, _alpha: usize, a: usize, _b: usize, _beta: usize, _c: usize,
     _compute: i32, _algorithm: i32, bytes: *mut usize)
    { put(bytes, per_row(shape(a))); }
}
alike! {
    [cusparseSDDMM_bufferSize]
    (_handle: usize, _op_a: i32, _op_b: i32, _alpha: usize, _a: usize, _b: usize, _beta: usize, c: usize,
     _compute: i32, _algorithm: i32, bytes: *mut usize)
    { put(bytes, per_row(shape(c))); }
}
alike! {
    [cusparseSpMV_bufferSize]
    (_handle: usize, _op_a: i32, _alpha: usize, a: usize, _x: usize, _beta: usize, _y: usize, _compute: i32,
     _algorithm: i32, bytes: *mut usize)
    { put(bytes, per_row(shape(a))); }
}
alike! {
    [cusparseSpSM_bufferSize]
    (_handle: usize, _op_a: i32, _op_b: i32, _alpha: usize, a: usize, _b: usize, _c: usize, _compute: i32,
     _algorithm: i32, _solve: usize, bytes: *mut usize)
    { put(bytes, levels(count(shape(a).rows))); }
}
alike! {
    [cusparseSpSV_bufferSize]
    (_handle: usize, _op_a: i32, _alpha: usize, a: usize, _x: usize, _y: usize, _compute: i32, _algorithm: i32,
     _solve: usize, bytes: *mut usize)
    { put(bytes, levels(count(shape(a).rows))); }
}

// Block matrices: the answer is an `int`.
alike! {
    [cusparseCbsrsm2_bufferSize cusparseDbsrsm2_bufferSize cusparseSbsrsm2_bufferSize cusparseZbsrsm2_bufferSize]
    (_handle: usize, _direction: i32, _trans_a: i32, _trans_xy: i32, blocks: i32, _n: i32, _entries: i32,
     _matrix: usize, _values: usize, _offsets: usize, _indices: usize, _block: i32, _info: usize, bytes: *mut i32)
    { put(bytes, levels(count(blocks)) as i32); }
}
alike! {
    [cusparseCbsrsv2_bufferSize cusparseDbsrsv2_bufferSize cusparseSbsrsv2_bufferSize cusparseZbsrsv2_bufferSize]
    (_handle: usize, _direction: i32, _trans_a: i32, blocks: i32, _entries: i32, _matrix: usize, _values: usize,
     _offsets: usize, _indices: usize, _block: i32, _info: usize, bytes: *mut i32)
    { put(bytes, levels(count(blocks)) as i32); }
}

alike! {
    [cusparseCcsrgeam2_bufferSizeExt cusparseDcsrgeam2_bufferSizeExt
     cusparseScsrgeam2_bufferSizeExt cusparseZcsrgeam2_bufferSizeExt]
    (_handle: usize, m: i32, _n: i32, _alpha: usize, _a: usize, _a_entries: i32, _a_values: usize, _a_offsets: usize,
     _a_indices: usize, _beta: usize, _b: usize, _b_entries: i32, _b_values: usize, _b_offsets: usize,
     _b_indices: usize, _c: usize, _c_values: usize, _c_offsets: usize, _c_indices: usize, bytes: *mut usize)
    { put(bytes, derived(INDEX * (count(m) + 1))); }
}

alike! {
    [cusparseXcoosort_bufferSizeExt]
    (_handle: usize, _m: i32, _n: i32, entries: i32, _rows: usize, _columns: usize, bytes: *mut usize)
    { put(bytes, sort(entries, 2)); }
}
alike! {
    [cusparseXcsrsort_bufferSizeExt]
    (_handle: usize, _m: i32, _n: i32, entries: i32, _offsets: usize, _columns: usize, bytes: *mut usize)
    { put(bytes, sort(entries, 1)); }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_lands_in_the_twentieth_argument() {
        let mut bytes = usize::MAX;
        // SAFETY: the pointer is to a local.
        unsafe { cusparseScsrgeam2_bufferSizeExt(0, 7, 7, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, &mut bytes) };
        assert_eq!(bytes, 32);
    }

    #[test]
    fn a_matrix_that_nobody_described_still_gets_a_size() {
        let mut bytes = usize::MAX;
        // SAFETY: the pointer is to a local.
        unsafe { cusparseSpMV_bufferSize(0, 0, 0, 0x99, 0, 0, 0, 0, 0, &mut bytes) };
        assert_eq!(bytes, 4);
    }
}
