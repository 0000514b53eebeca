//! How much workspace a routine wants, in elements.
//!
//! cuSOLVER does not document its sizes. These are derived: what LAPACK's routine of the same name
//! asks for when it works in blocks, with the block sizes of LAPACK's `ilaenv`, and a copy of the
//! matrix where the method must keep one.

/// Block of the QR, tridiagonal and bidiagonal reductions.
const REDUCTION: u64 = 32;
/// Block of the LU, Cholesky and Bunch-Kaufman factorisations.
const FACTORISATION: u64 = 64;

/// A panel of a factorisation: `getrf`, `potrf`, `sytrf`.
pub fn factor(rows: u64) -> u64 {
    rows * FACTORISATION
}

/// Reflectors in blocks: `geqrf`, `orgqr`, `ormqr`.
pub fn reflect(columns: u64) -> u64 {
    columns * REDUCTION
}

/// `syevd`, `heevd`: divide and conquer keeps two more matrices when vectors are wanted.
pub fn eigen(n: u64, vectors: bool) -> u64 {
    if vectors { 1 + 6 * n + 2 * n * n } else { 1 + 2 * n + reflect(n) }
}

/// `syevj`, `heevj`: Jacobi sweeps on a copy.
pub fn eigen_jacobi(n: u64) -> u64 {
    n * n + 2 * n
}

/// `geev`: the Hessenberg form beside its vectors.
pub fn eigen_general(n: u64) -> u64 {
    2 * n * n + 2 * n + reflect(n)
}

/// `gesvd`: bidiagonal form, after a QR step that keeps the triangle.
pub fn singular(m: u64, n: u64) -> u64 {
    let small = m.min(n);
    small * small + 3 * small + reflect(m + n)
}

/// `gesvdj`: Jacobi sweeps on a copy, and the rotations.
pub fn singular_jacobi(m: u64, n: u64) -> u64 {
    let small = m.min(n);
    m * n + small * small + 3 * small
}

/// `gesvda`: a copy, the small product with its transpose, and that one's vectors.
pub fn singular_approximate(m: u64, n: u64) -> u64 {
    m * n + 3 * n * n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_cost_two_matrices() {
        assert_eq!(eigen(1000, true), 2_006_001);
        assert!(eigen(1000, false) < eigen(1000, true));
    }

    #[test]
    fn singular_values_do_not_care_which_side_is_long() {
        assert_eq!(singular(100, 7), singular(7, 100));
    }
}
