//! cuSPARSELt: 2:4 sparse products. Its descriptors are the caller's own blocks of opaque bytes.

use crate::fill::{put, zero};
use crate::{alike, data_type, notes, succeed};

/// What we keep in the first bytes of a matrix descriptor (512 bytes or more in every version).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Matrix {
    rows: i64,
    columns: i64,
    data_type: i32,
}

impl Matrix {
    /// Half the values, and two bits that say which for each of them.
    ///
    /// PyTorch reckons the same: 9/16 of the dense size for two-byte elements, 10/16 for one-byte ones
    /// (`cuSPARSELtOps.cpp`, `compression_factor`).
    fn compressed_bytes(self) -> usize {
        let kept = (self.rows.max(0) as usize).saturating_mul(self.columns.max(0) as usize) / 2;
        kept * data_type::bytes(self.data_type) + kept.div_ceil(4)
    }
}

// The handle and the plans stay as the caller made them: only matrix descriptors are read again.
succeed! {
    cusparseLtDestroy cusparseLtInit
    cusparseLtMatDescriptorDestroy cusparseLtMatDescSetAttribute
    cusparseLtMatmul cusparseLtMatmulAlgSelectionDestroy cusparseLtMatmulAlgSelectionInit
    cusparseLtMatmulAlgSetAttribute cusparseLtMatmulDescSetAttribute cusparseLtMatmulDescriptorInit
    cusparseLtMatmulPlanDestroy cusparseLtMatmulPlanInit cusparseLtMatmulSearch
    cusparseLtSpMMACompress cusparseLtSpMMACompress2 cusparseLtSpMMAPrune cusparseLtSpMMAPrune2
}

alike! {
    [cusparseLtDenseDescriptorInit cusparseLtStructuredDescriptorInit]
    (_handle: usize, matrix: *mut Matrix, rows: i64, columns: i64, _ld: i64, _alignment: u32, data_type: i32)
    { put(matrix, Matrix { rows, columns, data_type }); }
}

alike! {
    [cusparseLtSpMMACompressedSize2]
    (_handle: usize, matrix: *const Matrix, compressed: *mut usize, buffer: *mut usize)
    {
        notes::note("cuSPARSELt sizes are derived, not measured");
        put(compressed, matrix.as_ref().map_or(0, |m| m.compressed_bytes()));
        // The compression itself needs no memory of its own as far as is known.
        put(buffer, 0);
    }
}

alike! { [cusparseLtMatmulGetWorkspace] (_handle: usize, _plan: usize, bytes: *mut usize) { put(bytes, 0); } }

// `CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID` (1) counts the algorithms: one. Every other attribute is 0.
alike! {
    [cusparseLtMatmulAlgGetAttribute]
    (_handle: usize, _selection: usize, attribute: i32, out: usize, bytes: usize)
    {
        zero(out, bytes);
        if attribute == 1 && bytes >= size_of::<i32>() {
            put(out as *mut i32, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_sizes_are_what_pytorch_reckons() {
        let half = Matrix { rows: 128, columns: 64, data_type: 2 };
        assert_eq!(half.compressed_bytes(), 128 * 64 * 2 * 9 / 16);
        let byte = Matrix { rows: 128, columns: 64, data_type: 3 };
        assert_eq!(byte.compressed_bytes(), 128 * 64 * 10 / 16);
    }
}
