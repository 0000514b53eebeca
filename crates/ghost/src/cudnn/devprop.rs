//! The description of the device that cuDNN compiles for (`CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR`, since 9.8).

use super::real;
use crate::card::Card;
use std::ffi::c_void;
use std::sync::OnceLock;

const DEVICEPROP: i32 = 38;
const JSON_REPRESENTATION: i32 = 2702;
const TYPE_CHAR: i32 = 24;

/// The keys that `cudnnBackendGetAttribute` writes for a real device.
fn description(card: &Card) -> String {
    let a = |index| card.attribute(index);
    format!(
        concat!(
            r#"{{"maxGridSize":[{},{},{}],"maxBlockSize":[{},{},{}],"regsPerBlock":{},"multiProcessorCount":{},"#,
            r#""warpSize":{},"maxSharedMemoryPerBlock":{},"maxSharedMemoryPerBlockOptin":{},"#,
            r#""reservedSharedMemoryPerBlock":{},"maxRegistersPerSM":{},"maxCtasPerSM":{},"maxThreadsPerBlock":{},"#,
            r#""maxThreadsPerSM":{},"pciDeviceId":{},"isTccDriver":{},"supportCoopLaunch":{},"totalGlobalMem":{},"#,
            r#""smClockRateKHz":{},"memClockRateKHz":{},"l2CacheSize":{},"cudaDeviceId":0,"deviceVer":{},"#,
            r#""driverVer":{},"deviceName":"{}"}}"#
        ),
        a(5),
        a(6),
        a(7),
        a(2),
        a(3),
        a(4),
        a(12),
        a(16),
        a(10),
        a(8),
        a(97),
        a(111),
        a(82),
        a(106),
        a(1),
        a(39),
        a(34),
        a(35),
        a(95),
        card.total_bytes,
        a(13),
        a(36),
        a(38),
        card.major * 100 + card.minor * 10,
        card.driver,
        card.name
    )
}

/// The descriptor, made once; nothing if this cuDNN cannot take one.
pub fn descriptor() -> Option<usize> {
    static DESCRIPTOR: OnceLock<Option<usize>> = OnceLock::new();
    *DESCRIPTOR.get_or_init(|| {
        let made = make();
        if made.is_none() {
            crate::notes::note(format!(
                "cuDNN {} cannot describe a device (9.8 can): convolution workspaces are derived",
                real::version()
            ));
        }
        made
    })
}

fn make() -> Option<usize> {
    let real = real::backend()?;
    let text = description(crate::card::card());
    let mut made = 0;
    if (real.create)(DEVICEPROP, &mut made) != 0 {
        return None;
    }
    let set = (real.set)(made, JSON_REPRESENTATION, TYPE_CHAR, text.len() as i64, text.as_ptr() as *const c_void);
    let finalized = (real.finalize)(made);
    crate::say!("cuDNN device description: {set} {finalized} {text}");
    (set == 0 && finalized == 0).then_some(made)
}
