//! cuSPARSE: matrices that remember their shape, and products whose size depends on the data.
//!
//! How many entries a sparse result has is only known after computing it. The ghost says the most
//! that is likely and notes it. Workspace sizes are not documented; they are derived, see [`workspaces`].

mod tables;
mod workspaces;

use crate::answer::fresh_handle;
use crate::fill::put;
use crate::{alike, data_type, notes, say};
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::{LazyLock, Mutex, MutexGuard};

/// A sparse matrix as its descriptor tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shape {
    rows: u64,
    columns: u64,
    entries: u64,
    value_bytes: usize,
}

static MATRICES: LazyLock<Mutex<HashMap<usize, Shape>>> = LazyLock::new(Mutex::default);

fn matrices() -> MutexGuard<'static, HashMap<usize, Shape>> {
    MATRICES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn shape(matrix: usize) -> Shape {
    matrices().get(&matrix).copied().unwrap_or_default()
}

fn describe(rows: i64, columns: i64, entries: i64, value_type: i32) -> usize {
    let matrix = fresh_handle();
    say!("cusparse matrix {matrix:#x}: {rows} x {columns}, {entries} entries");
    let [rows, columns, entries] = [rows, columns, entries].map(|n| n.max(0) as u64);
    matrices().insert(matrix, Shape { rows, columns, entries, value_bytes: data_type::bytes(value_type) });
    matrix
}

alike! {
    [cusparseCreateCoo cusparseCreateConstCoo]
    (out: *mut usize, rows: i64, columns: i64, entries: i64, _row: usize, _column: usize, _values: usize,
     _index_type: i32, _base: i32, value_type: i32)
    { put(out, describe(rows, columns, entries, value_type)); }
}
alike! {
    [cusparseCreateConstCsr cusparseCreateCsc cusparseCreateCsr]
    (out: *mut usize, rows: i64, columns: i64, entries: i64, _offsets: usize, _indices: usize, _values: usize,
     _offsets_type: i32, _indices_type: i32, _base: i32, value_type: i32)
    { put(out, describe(rows, columns, entries, value_type)); }
}
alike! { [cusparseDestroySpMat] (matrix: usize) { matrices().remove(&matrix); } }

alike! {
    [cusparseSpMatGetSize]
    (matrix: usize, rows: *mut i64, columns: *mut i64, entries: *mut i64)
    {
        let shape = shape(matrix);
        put(rows, shape.rows as i64);
        put(columns, shape.columns as i64);
        put(entries, shape.entries as i64);
    }
}

/// Entries of a product: every entry of A meets an average row of B, but no product is fuller than full.
///
/// Transposition does not change the answer much, so it is not looked at.
fn product_entries(a: Shape, b: Shape) -> u64 {
    let row_of_b = b.entries.div_ceil(b.rows.max(1));
    a.entries.saturating_mul(row_of_b).min(a.rows.saturating_mul(b.columns))
}

/// The second pass, with its buffer, is where cuSPARSE comes to know the size of C.
fn multiply(a: usize, b: usize, c: usize) {
    let entries = product_entries(shape(a), shape(b));
    notes::note("the entries of a sparse product are assumed: each row of the second factor as full as the average");
    if let Some(result) = matrices().get_mut(&c) {
        result.entries = entries;
    }
}

alike! {
    [cusparseSpGEMM_compute]
    (_handle: usize, _op_a: i32, _op_b: i32, _alpha: usize, a: usize, b: usize, _beta: usize, c: usize,
     _compute: i32, _algorithm: i32, _product: usize, bytes: *mut usize, buffer: usize)
    {
        put(bytes, workspaces::product(shape(a), shape(b)));
        if buffer != 0 {
            multiply(a, b, c);
        }
    }
}
alike! {
    [cusparseSpGEMM_workEstimation]
    (_handle: usize, _op_a: i32, _op_b: i32, _alpha: usize, a: usize, _b: usize, _beta: usize, _c: usize,
     _compute: i32, _algorithm: i32, _product: usize, bytes: *mut usize, _buffer: usize)
    { put(bytes, workspaces::per_row(shape(a))); }
}

// A sum has at most the entries of both. PyTorch asks in host pointer mode.
alike! {
    [cusparseXcsrgeam2Nnz]
    (_handle: usize, m: i32, n: i32, _a: usize, entries_a: i32, _a_offsets: usize, _a_indices: usize, _b: usize,
     entries_b: i32, _b_offsets: usize, _b_indices: usize, _c: usize, _c_offsets: usize, entries: *mut i32)
    {
        notes::note("the entries of a sparse sum are assumed: no two terms share one");
        let most = i64::from(m) * i64::from(n);
        put(entries, (i64::from(entries_a) + i64::from(entries_b)).min(most) as i32);
    }
}

// No pivot was zero.
alike! {
    [cusparseXbsrsm2_zeroPivot cusparseXbsrsv2_zeroPivot]
    (_handle: usize, _info: usize, at: *mut i32)
    { put(at, -1); }
}

/// The documented meaning of a status.
fn status_text(status: i32) -> &'static CStr {
    match status {
        0 => c"success",
        1 => c"initialization error",
        2 => c"out of memory",
        3 => c"invalid value",
        4 => c"architecture mismatch",
        6 => c"kernel launch failure",
        7 => c"internal error",
        8 => c"matrix type not supported",
        9 => c"zero pivot",
        10 => c"operation not supported",
        11 => c"insufficient resources",
        _ => c"unrecognized error code",
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cusparseGetErrorString(status: i32) -> *const c_char {
    status_text(status).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: u64, columns: u64, entries: u64) -> Shape {
        Shape { rows, columns, entries, value_bytes: 4 }
    }

    #[test]
    fn a_product_is_never_fuller_than_full() {
        assert_eq!(product_entries(matrix(10, 10, 20), matrix(10, 10, 30)), 60);
        assert_eq!(product_entries(matrix(10, 10, 90), matrix(10, 10, 90)), 100);
        assert_eq!(product_entries(matrix(0, 0, 0), matrix(0, 0, 0)), 0);
    }

    #[test]
    fn a_result_learns_its_size_in_the_second_pass() {
        let (mut a, mut c, mut bytes) = (0, 0, 0);
        let (mut rows, mut columns, mut entries) = (0, 0, 0);
        // SAFETY: all pointers are to locals.
        unsafe {
            cusparseCreateCsr(&mut a, 8, 8, 16, 0, 0, 0, 2, 2, 0, 0);
            cusparseCreateCsr(&mut c, 8, 8, 0, 0, 0, 0, 2, 2, 0, 0);
            cusparseSpGEMM_compute(0, 0, 0, 0, a, a, 0, c, 0, 0, 0, &mut bytes, 0);
            cusparseSpMatGetSize(c, &mut rows, &mut columns, &mut entries);
            assert_eq!(entries, 0);
            cusparseSpGEMM_compute(0, 0, 0, 0, a, a, 0, c, 0, 0, 0, &mut bytes, 1);
            cusparseSpMatGetSize(c, &mut rows, &mut columns, &mut entries);
            cusparseDestroySpMat(a);
            cusparseDestroySpMat(c);
        }
        assert_eq!((rows, columns, entries), (8, 8, 32));
        assert_eq!(shape(c), Shape::default());
    }
}
