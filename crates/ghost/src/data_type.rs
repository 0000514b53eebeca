//! `cudaDataType`: the element types that several libraries name by number.

/// Bytes of one element; 0 for a number that names no type of whole bytes.
pub fn bytes(data_type: i32) -> usize {
    match data_type {
        3 | 8 | 28 | 29 => 1,                // 8-bit integers and floats
        2 | 7 | 9 | 14 | 20 | 22 => 2,       // half, bfloat16, 16-bit integers, 8-bit complex
        0 | 6 | 10 | 12 | 15 | 21 | 23 => 4, // float, 32-bit integers, complex of two bytes each
        1 | 4 | 11 | 13 | 24 | 26 => 8,      // double, float complex, 64-bit integers
        5 | 25 | 27 => 16,                   // double complex
        _ => 0,
    }
}
