//! NVML: what monitors, and PyTorch's own out-of-memory message, ask about the cards.
//!
//! The answers agree with the CUDA side: as many devices, the same names, the same bytes in use.
//! What a ghost cannot know (links between cards, error counters) is "not supported", which NVML
//! says of many real cards too; what scripts like to log reads like an idle card.

mod links;
mod sensors;
mod usage;

use crate::card::{self, card};
use crate::fill::{put, text};
use crate::runtime::device;
use crate::say;
use std::ffi::{CStr, c_char};

const SUCCESS: i32 = 0;
const INVALID_ARGUMENT: i32 = 2;
const NOT_SUPPORTED: i32 = 3;
const NOT_FOUND: i32 = 6;
const INSUFFICIENT_SIZE: i32 = 7;
const DRIVER_NOT_LOADED: i32 = 9;

/// What the body of an answer ends with: nothing, which is success, or NVML's result.
trait Status {
    fn code(self) -> i32;
}

impl Status for () {
    fn code(self) -> i32 {
        SUCCESS
    }
}

impl Status for i32 {
    fn code(self) -> i32 {
        self
    }
}

/// Exported questions about one device: its handle, then the arguments. The body sees the index.
///
/// Bodies are unsafe: they write through the documented out-parameters.
macro_rules! of_device {
    ([$($name:ident)*] $arguments:tt $body:tt) => {
        $( crate::nvml::of_device!(@one $name $arguments $body); )*
    };
    (@one $name:ident ($device:ident $(, $argument:ident: $type:ty)*) $body:tt) => {
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe)] // some answers have nothing to write
        pub unsafe extern "C" fn $name(handle: usize $(, $argument: $type)*) -> i32 {
            crate::log::call(stringify!($name));
            let Some($device) = crate::nvml::index(handle) else { return crate::nvml::INVALID_ARGUMENT };
            // SAFETY: the pointers are the documented out-parameters; C callers pass valid ones or null.
            crate::nvml::Status::code(unsafe $body)
        }
    };
}

/// Exported questions without an answer on this card.
macro_rules! not_supported {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> i32 {
                crate::log::call(stringify!($name));
                crate::nvml::NOT_SUPPORTED
            }
        )*
    };
}

use {not_supported, of_device};

/// Handles are these plus 64 for each device before.
const FIRST_HANDLE: usize = 0x6057_A000_0000;

fn handle(device: i32) -> usize {
    FIRST_HANDLE + 64 * device as usize
}

fn index(handle: usize) -> Option<i32> {
    let device = i32::try_from(handle.checked_sub(FIRST_HANDLE)? / 64).ok()?;
    (device < card::device_count()).then_some(device)
}

macro_rules! starts {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> i32 {
                crate::log::call(stringify!($name));
                if card::present().is_some() { SUCCESS } else { DRIVER_NOT_LOADED }
            }
        )*
    };
}

starts! { nvmlInit nvmlInitWithFlags nvmlInit_v2 nvmlShutdown }

/// The documented meaning of a result.
fn result_text(result: i32) -> &'static CStr {
    match result {
        SUCCESS => c"Success",
        1 => c"Uninitialized",
        INVALID_ARGUMENT => c"Invalid Argument",
        NOT_SUPPORTED => c"Not Supported",
        4 => c"Insufficient Permissions",
        NOT_FOUND => c"Not Found",
        INSUFFICIENT_SIZE => c"Insufficient Size",
        DRIVER_NOT_LOADED => c"Driver Not Loaded",
        13 => c"Function Not Found",
        _ => c"Unknown Error",
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: i32) -> *const c_char {
    result_text(result).as_ptr()
}

/// The branch of drivers that brought a CUDA version (CUDA Toolkit release notes, table of driver versions).
fn driver_version(cuda: i32) -> &'static str {
    match cuda {
        13010.. => "590.44.01",
        13000.. => "580.65.06",
        12090.. => "575.51.03",
        12080.. => "570.26",
        12060.. => "560.28.03",
        12050.. => "555.42.02",
        12040.. => "550.54.14",
        _ => "525.60.13",
    }
}

/// Whether a text found room, as NVML says it.
fn fits(written: bool) -> i32 {
    if written { SUCCESS } else { INSUFFICIENT_SIZE }
}

macro_rules! system_texts {
    ($($name:ident: $text:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(out: *mut c_char, room: u32) -> i32 {
                crate::log::call(stringify!($name));
                // SAFETY: a buffer of the stated size, as documented.
                fits(unsafe { text(out, room, &$text) })
            }
        )*
    };
}

system_texts! {
    nvmlSystemGetDriverVersion: driver_version(card().driver);
    nvmlSystemGetNVMLVersion: format!("{}.{}", card().driver / 1000, driver_version(card().driver));
}

crate::alike! {
    [nvmlSystemGetCudaDriverVersion nvmlSystemGetCudaDriverVersion_v2]
    (out: *mut i32)
    { put(out, card().driver); }
}
crate::alike! { [nvmlDeviceGetCount nvmlDeviceGetCount_v2] (out: *mut u32) { put(out, card::device_count() as u32); } }
crate::alike! { [nvmlUnitGetCount] (out: *mut u32) { put(out, 0); } }

/// Gives out the handle of a device that was found.
unsafe fn found(device: Option<i32>, out: *mut usize, otherwise: i32) -> i32 {
    let Some(device) = device else { return otherwise };
    say!("nvml device {device}");
    // SAFETY: the documented out-parameter.
    unsafe { put(out, handle(device)) };
    SUCCESS
}

macro_rules! by_index {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(device: u32, out: *mut usize) -> i32 {
                let device = i32::try_from(device).ok().filter(|&d| d < card::device_count());
                // SAFETY: the documented out-parameter.
                unsafe { found(device, out, INVALID_ARGUMENT) }
            }
        )*
    };
}

by_index! { nvmlDeviceGetHandleByIndex nvmlDeviceGetHandleByIndex_v2 }

/// A C string argument; empty if there is none.
unsafe fn argument(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a C string, as documented.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn uuid_text(device: i32) -> String {
    let hex: String = device::uuid(device).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(text: *const c_char, out: *mut usize) -> i32 {
    // SAFETY: a C string and an out-parameter, as documented.
    unsafe {
        let wanted = argument(text);
        let device = (0..card::device_count()).find(|&d| uuid_text(d) == wanted);
        found(device, out, NOT_FOUND)
    }
}

/// The bus that the runtime says the device is on.
fn bus(of: i32) -> u32 {
    device::bus(card::card(), of) as u32
}

/// The device at `domain:bus:slot.function`.
fn at_bus(address: &str) -> Option<i32> {
    let bus_text = address.rsplit(':').nth(1)?;
    let wanted = u32::from_str_radix(bus_text, 16).ok()?;
    (0..card::device_count()).find(|&d| bus(d) == wanted)
}

macro_rules! by_bus {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(address: *const c_char, out: *mut usize) -> i32 {
                // SAFETY: a C string and an out-parameter, as documented.
                unsafe { found(at_bus(&argument(address)), out, NOT_FOUND) }
            }
        )*
    };
}

by_bus! { nvmlDeviceGetHandleByPciBusId nvmlDeviceGetHandleByPciBusId_v2 }

/// `nvmlPciInfo_t`.
#[repr(C)]
pub struct PciInfo {
    legacy: [u8; 16],
    domain: u32,
    bus: u32,
    device: u32,
    id: u32,
    subsystem: u32,
    address: [u8; 32],
}

fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

of_device! {
    [nvmlDeviceGetPciInfo_v3]
    (device, out: *mut PciInfo)
    {
        let bus = bus(device);
        put(out, PciInfo {
            legacy: padded(&format!("0000:{bus:02X}:00.0")),
            domain: 0,
            bus,
            device: 0,
            id: 0x10DE, // NVIDIA's vendor number in the low half; the card's own is not known
            subsystem: 0,
            address: padded(&format!("00000000:{bus:02X}:00.0")),
        });
    }
}

of_device! { [nvmlDeviceGetName] (_device, out: *mut c_char, room: u32) { fits(text(out, room, &card().name)) } }
of_device! { [nvmlDeviceGetUUID] (device, out: *mut c_char, room: u32) { fits(text(out, room, &uuid_text(device))) } }
of_device! { [nvmlDeviceGetIndex nvmlDeviceGetMinorNumber] (device, out: *mut u32) { put(out, device as u32); } }
of_device! {
    [nvmlDeviceGetCudaComputeCapability]
    (_device, major: *mut i32, minor: *mut i32)
    { put(major, card().major); put(minor, card().minor); }
}
not_supported! { nvmlDeviceGetBoardPartNumber nvmlDeviceGetSerial nvmlDeviceGetVbiosVersion }

/// `nvmlBrandType_t`, read off the name.
fn brand(name: &str) -> u32 {
    const BRANDS: [(&str, u32); 5] = [("GeForce", 5), ("TITAN", 6), ("Quadro", 1), ("Tesla", 2), ("RTX", 13)];
    BRANDS.iter().find(|(word, _)| name.contains(word)).map_or(14, |&(_, brand)| brand)
}

/// `nvmlDeviceArchitecture_t`, from the compute capability.
fn architecture(major: i32, minor: i32) -> u32 {
    match (major, minor) {
        (5, _) => 3,
        (6, _) => 4,
        (7, 5..) => 6,
        (7, _) => 5,
        (8, 9) => 8,
        (8, _) => 7,
        (9, _) => 9,
        (10.., _) => 10,
        _ => 0xFFFF_FFFF,
    }
}

of_device! { [nvmlDeviceGetBrand] (_device, out: *mut u32) { put(out, brand(&card().name)); } }
of_device! {
    [nvmlDeviceGetArchitecture]
    (_device, out: *mut u32)
    { put(out, architecture(card().major, card().minor)); }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_reads_like_one() {
        assert_eq!(uuid_text(1), "GPU-6f6f6d70-682d-6768-6f73-742d67707501");
    }

    #[test]
    fn the_pci_structure_has_the_documented_size() {
        assert_eq!(size_of::<PciInfo>(), 68);
    }

    #[test]
    fn cards_are_of_their_kind() {
        assert_eq!(brand("NVIDIA GeForce RTX 4090"), 5);
        assert_eq!(brand("NVIDIA H200"), 14);
        assert_eq!(architecture(8, 9), 8);
        assert_eq!(architecture(7, 5), 6);
    }
}
