//! What was measured of one card: `h200.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::curve::Curve;
use super::kind::Kind;
use super::peak::Arithmetic;

#[derive(Debug, Deserialize)]
pub(super) struct Measured {
    /// The card's id in the catalogue, and what it and the versions are called.
    pub card: String,
    pub name: String,
    computing: BTreeMap<Kind, BTreeMap<Arithmetic, Curve>>,
    /// By the width of what is moved: `fp32` and `half`.
    moving: BTreeMap<Kind, BTreeMap<Arithmetic, Curve>>,
    /// What each of an operator's kernels takes that have to follow each other.
    launch_us: BTreeMap<Kind, f64>,
    pub host: Host,
    pub link: Link,
}

/// What the host needs for a call, with the Python and the autograd around it: fitted to steps that it bounds.
#[derive(Debug, Deserialize)]
pub(super) struct Host {
    pub kernel_us: f64,
    /// For a convolution or a batch norm, whose library looks for its plan each time.
    pub cudnn_us: f64,
    pub view_us: f64,
    /// For a detach: the hooks of recomputed blocks and the bookkeeping of gradients are around those.
    pub detach_us: f64,
    /// For a call that it computes itself.
    pub cpu_us: f64,
    /// For each further tensor of a list.
    pub tensor_us: f64,
    pub cpu_gb_s: f64,
    /// Random numbers: PyTorch draws them in one thread.
    pub draws_per_us: f64,
}

/// Copies between host and device.
#[derive(Debug, Deserialize)]
pub(super) struct Link {
    /// What pinned memory reaches of the link's specification.
    pub pinned_efficiency: f64,
    pub pageable_gb_s: f64,
    /// What is lost each time that the host waits for the device.
    pub sync_us: f64,
}

impl Measured {
    pub fn computing(&self, kind: Kind, arithmetic: Arithmetic) -> &Curve {
        let matmul = &self.computing[&Kind::Matmul];
        let of_kind = self.computing.get(&kind).and_then(|curves| curves.get(&arithmetic));
        of_kind.or_else(|| matmul.get(&arithmetic)).unwrap_or(&matmul[&Arithmetic::Fp32])
    }

    pub fn moving(&self, kind: Kind, arithmetic: Arithmetic) -> &Curve {
        let curves = self.moving.get(&kind).unwrap_or(&self.moving[&Kind::Elementwise]);
        let width = if arithmetic == Arithmetic::Half { Arithmetic::Half } else { Arithmetic::Fp32 };
        curves.get(&width).or_else(|| curves.values().next()).unwrap_or(&self.moving[&Kind::Elementwise][&width])
    }

    /// What each kernel takes at least.
    pub fn launch_us(&self, kind: Kind) -> f64 {
        let shortest = || self.moving[&Kind::Elementwise][&Arithmetic::Fp32].least_us();
        self.launch_us.get(&kind).copied().unwrap_or_else(shortest)
    }
}

pub(super) fn measured() -> &'static Measured {
    static READ: LazyLock<Measured> = LazyLock::new(|| {
        // The file is part of the program: a test reads it, so nobody meets this.
        serde_json::from_str(include_str!("h200.json")).unwrap_or_else(|error| panic!("roofline/h200.json: {error}"))
    });
    &READ
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_rises() {
        let measured = measured();
        let both = measured.computing.values().chain(measured.moving.values());
        assert!(both.flat_map(BTreeMap::values).all(Curve::rises), "{measured:?}");
        assert!(gpus::find(&measured.card).is_ok());
    }
}
