//! What a card's link to the host carries.

/// GB/s one way of so many lanes of PCIe: "4.0 x16" carries 31.5.
pub(crate) fn gb_s(pcie: &str) -> Result<f64, String> {
    let unknown = || format!("no PCIe {pcie}: expected a generation and lanes, as in 4.0 x16");
    let (generation, lanes) = pcie.split_once(" x").ok_or_else(unknown)?;
    let lanes: f64 = lanes.parse().map_err(|_| unknown())?;
    // PCI Express base specifications: transfers a second of a lane, and the share of bits that are data.
    let (gt_s, data) = match generation {
        "3.0" => (8.0, 128.0 / 130.0),
        "4.0" => (16.0, 128.0 / 130.0),
        "5.0" => (32.0, 128.0 / 130.0),
        "6.0" => (64.0, 242.0 / 256.0),
        _ => return Err(unknown()),
    };
    Ok(gt_s / 8.0 * data * lanes)
}
