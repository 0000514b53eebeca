//! How long a step takes on a card: a roofline over the operations that it is made of.
//!
//! Every operation takes as long as its arithmetic at the card's peak, or as its bytes at the card's bandwidth, whichever is
//! more, divided by what kernels of its kind and length reach of that. What they reach was measured on one card
//! (`roofline/h200.json`) as a function of the time that the work would take at the peak: a kernel that would take 10 µs
//! at the peak fills no card, be it large or small. The host has to launch everything; a step takes as long as the slower
//! of host and device (where the host waits often, as long as the slower of each), and longer by what both wait for: copies,
//! and what the host computes itself while it has given the device nothing to do.
//!
//! Meant for ratios: the same script with a remedy and without, on the same card.

mod costs;
mod curve;
mod kind;
mod measured;
mod peak;

pub use costs::{Costs, Row, Tf32, Transfers};
use gpus::Card;
use kind::Kind;
use measured::{Measured, measured};

/// How long one step takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    pub seconds: f64,
    /// What the device computes, if it never waits.
    pub gpu_seconds: f64,
    /// What the host needs to launch it, and to compute itself.
    pub host_seconds: f64,
    /// What copies between host and device add.
    pub transfer_seconds: f64,
    pub basis: String,
}

/// How long a step of these costs takes on this card.
pub fn estimate(costs: &Costs, card: &Card) -> Estimate {
    let measured = measured();
    let (ahead, hurried): (Vec<&Row>, Vec<&Row>) = costs.rows.iter().partition(|row| !row.short);
    let gpu = |rows: &[&Row]| rows.iter().map(|row| device_us(row, costs.tf32, card, measured)).sum::<f64>() / 1e6;
    let calling = |rows: &[&Row]| rows.iter().map(|row| calling_us(row, measured)).sum::<f64>() / 1e6;
    let computing = |beside: bool| {
        let rows = costs.rows.iter().filter(|row| row.beside == beside);
        rows.map(|row| computing_us(row, measured)).sum::<f64>() / 1e6
    };
    let (beside, alone) = (computing(true), computing(false));
    let slower = |rows: &[&Row], beside: f64| gpu(rows).max(calling(rows) + beside);
    let transfer_seconds = transfer_us(&costs.transfers, card, measured) / 1e6;
    Estimate {
        seconds: slower(&ahead, beside) + slower(&hurried, 0.0) + alone + transfer_seconds,
        gpu_seconds: gpu(&ahead) + gpu(&hurried),
        host_seconds: calling(&ahead) + calling(&hurried) + beside + alone,
        transfer_seconds,
        basis: basis(costs, card, measured),
    }
}

fn device_us(row: &Row, tf32: Tf32, card: &Card, measured: &Measured) -> f64 {
    if !row.kernel {
        return 0.0;
    }
    let kind = Kind::of(row);
    let (arithmetic, tflops) = peak::of(row, kind, tf32, card);
    let computing = measured.computing(kind, arithmetic).us(row.flops as f64 / tflops / 1e6);
    let moving = measured.moving(kind, arithmetic).us(row.bytes as f64 / card.bandwidth_gb_s / 1e3);
    let one_after_the_other = row.launches as f64 * measured.launch_us(kind);
    row.count as f64 * computing.max(moving).max(one_after_the_other)
}

/// What the host needs to call it.
fn calling_us(row: &Row, measured: &Measured) -> f64 {
    let host = &measured.host;
    let tensors = row.tensors.saturating_sub(1) as f64 * host.tensor_us;
    let call = match (row.kernel, &row.device) {
        (true, _) if Kind::of(row).is_planned() => host.cudnn_us,
        (true, _) => host.kernel_us,
        (false, None) if row.op == "aten.detach" => host.detach_us,
        (false, None) => host.view_us,
        (false, Some(_)) => host.cpu_us,
    };
    row.count as f64 * (call + tensors)
}

/// What the host needs to compute it itself.
fn computing_us(row: &Row, measured: &Measured) -> f64 {
    if row.kernel || row.device.is_none() {
        return 0.0;
    }
    let once = match row.is_drawn() {
        true => row.bytes as f64 / row.element_bytes() / measured.host.draws_per_us,
        false => row.bytes as f64 / measured.host.cpu_gb_s / 1e3,
    };
    row.count as f64 * once
}

/// Pinned memory travels at the link's speed, other memory through a buffer; what goes aside overlaps with the rest.
fn transfer_us(transfers: &Transfers, card: &Card, measured: &Measured) -> f64 {
    let link = &measured.link;
    let bytes = (transfers.host_to_device_bytes + transfers.device_to_host_bytes) as f64;
    let aside = (transfers.aside_bytes as f64).min(bytes);
    let pinned = (transfers.pinned_bytes as f64 - aside).clamp(0.0, bytes);
    let pageable = (bytes - pinned - aside).max(0.0);
    let fast = card.host_gb_s * link.pinned_efficiency;
    let waits = transfers.syncs as f64 * link.sync_us;
    pinned / fast / 1e3 + pageable / fast.min(link.pageable_gb_s) / 1e3 + waits
}

fn basis(costs: &Costs, card: &Card, measured: &Measured) -> String {
    let scaled = if card.id == measured.card { "" } else { ", scaled by the data sheet" };
    let eager = if costs.compiled { "; counted without torch.compile" } else { "" };
    format!("roofline over the operations of one step; efficiencies measured on {}{scaled}{eager}", measured.name)
}

#[cfg(test)]
mod tests;
