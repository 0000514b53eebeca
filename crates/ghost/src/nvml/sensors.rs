//! What monitors plot: an idle card.

use super::{not_supported, of_device};
use crate::card::card;
use crate::fill::put;

/// Degrees Celsius of a card with nothing to do.
const IDLE_TEMPERATURE: u32 = 30;
/// Milliwatts of a card with nothing to do.
const IDLE_POWER: u32 = 50_000;

// Temperature, and where it is read off a structure: version, sensor, value.
of_device! { [nvmlDeviceGetTemperature] (_device, _sensor: i32, out: *mut u32) { put(out, IDLE_TEMPERATURE); } }
of_device! {
    [nvmlDeviceGetTemperatureV]
    (_device, out: *mut [u32; 3])
    { if let Some([_, _, value]) = out.as_mut() { *value = IDLE_TEMPERATURE; } }
}
of_device! { [nvmlDeviceGetTemperatureThreshold] (_device, _threshold: i32, out: *mut u32) { put(out, 90); } }

// Power in milliwatts, energy in millijoules.
of_device! {
    [nvmlDeviceGetPowerUsage]
    (_device, out: *mut u32)
    { put(out, IDLE_POWER); }
}
of_device! { [nvmlDeviceGetTotalEnergyConsumption] (_device, out: *mut u64) { put(out, 0); } }
not_supported! {
    nvmlDeviceGetEnforcedPowerLimit nvmlDeviceGetPowerManagementDefaultLimit nvmlDeviceGetPowerManagementLimit
    nvmlDeviceGetPowerManagementLimitConstraints nvmlDeviceGetPowerManagementMode
}

// Utilisation in percent; coders with their sampling period.
of_device! { [nvmlDeviceGetUtilizationRates] (_device, out: *mut [u32; 2]) { put(out, [0, 0]); } }
of_device! {
    [nvmlDeviceGetDecoderUtilization nvmlDeviceGetEncoderUtilization]
    (_device, out: *mut u32, period: *mut u32)
    { put(out, 0); put(period, 0); }
}
not_supported! { nvmlDeviceGetProcessUtilization nvmlDeviceGetSamples }

/// Megahertz of a clock, from the card's attributes: `CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE` is 36,
/// `…_CLOCK_RATE` is 13, both in kilohertz.
fn megahertz(clock: i32) -> u32 {
    const MEMORY: i32 = 2;
    let attribute = if clock == MEMORY { 36 } else { 13 };
    (card().attribute(attribute) / 1000).max(0) as u32
}

of_device! {
    [nvmlDeviceGetApplicationsClock nvmlDeviceGetClockInfo nvmlDeviceGetDefaultApplicationsClock
     nvmlDeviceGetMaxClockInfo]
    (_device, clock: i32, out: *mut u32)
    { put(out, megahertz(clock)); }
}
of_device! { [nvmlDeviceGetClock] (_device, clock: i32, _which: i32, out: *mut u32) { put(out, megahertz(clock)); } }
of_device! {
    [nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons
     nvmlDeviceGetSupportedClocksEventReasons nvmlDeviceGetSupportedClocksThrottleReasons]
    (_device, out: *mut u64)
    { put(out, 0); }
}

// Performance state 0 is the fastest; the modes are off, and anyone may compute.
of_device! {
    [nvmlDeviceGetComputeMode nvmlDeviceGetDisplayActive nvmlDeviceGetDisplayMode nvmlDeviceGetMaxMigDeviceCount
     nvmlDeviceGetNumFans nvmlDeviceGetPerformanceState nvmlDeviceGetPersistenceMode nvmlDeviceGetPowerState
     nvmlDeviceIsMigDeviceHandle]
    (_device, out: *mut u32)
    { put(out, 0); }
}
not_supported! {
    nvmlDeviceGetAttributes_v2 nvmlDeviceGetEccMode nvmlDeviceGetFanSpeed nvmlDeviceGetFanSpeed_v2
    nvmlDeviceGetMemoryErrorCounter nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetMigMode
    nvmlDeviceGetRetiredPages nvmlDeviceGetRemappedRows nvmlDeviceGetTotalEccErrors
}

/// CUDA cores of one multiprocessor (CUDA C++ Programming Guide, arithmetic throughput of 32-bit floats).
fn cores_of_multiprocessor(major: i32, minor: i32) -> i32 {
    match (major, minor) {
        (6 | 8, 0) | (7, _) => 64,
        _ => 128,
    }
}

of_device! {
    [nvmlDeviceGetNumGpuCores]
    (_device, out: *mut u32)
    { put(out, (card().multiprocessors() * cores_of_multiprocessor(card().major, card().minor)) as u32); }
}
of_device! {
    [nvmlDeviceGetMemoryBusWidth]
    (_device, out: *mut u32)
    { put(out, card().attribute(37).max(0) as u32); } // CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH
}

/// `nvmlFieldValue_t`: fields by number, each with a result of its own.
#[repr(C)]
pub struct Field {
    id: u32,
    scope: u32,
    timestamp: i64,
    latency: i64,
    kind: i32,
    result: i32,
    value: u64,
}

of_device! {
    [nvmlDeviceGetFieldValues]
    (_device, count: i32, fields: *mut Field)
    {
        for position in 0..count.max(0) as usize {
            if let Some(field) = fields.wrapping_add(position).as_mut() {
                field.result = super::NOT_SUPPORTED;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_the_documented_size() {
        assert_eq!(size_of::<Field>(), 40);
    }

    #[test]
    fn cores_follow_the_generation() {
        assert_eq!(cores_of_multiprocessor(9, 0) * 132, 16896); // H200
        assert_eq!(cores_of_multiprocessor(8, 0) * 108, 6912); // A100
        assert_eq!(cores_of_multiprocessor(7, 5) * 40, 2560); // T4
    }
}
