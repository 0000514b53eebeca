//! `cudaDeviceProp`: one list of fields, laid out as CUDA 12 or as CUDA 13 does.

use super::*;
use crate::card::{self, Card};

/// Which layout a field belongs to.
#[derive(Clone, Copy, PartialEq)]
enum In {
    Both,
    Only12,
    Only13,
}

/// What a field holds.
enum Field {
    /// Bytes: the name, the identifiers.
    Bytes(Vec<u8>),
    /// A `size_t`.
    Size(u64),
    /// An `int` that is no attribute of the card alone.
    Int(i32),
    /// One `int` per attribute number of `CUdevice_attribute`; 0 stands for "no such attribute": zero.
    Ints(&'static [i32]),
}

use Field::{Bytes, Int, Ints, Size};
use In::{Both, Only12, Only13};

fn padded(text: &str, room: usize) -> Vec<u8> {
    let mut bytes = text.as_bytes()[..text.len().min(room - 1)].to_vec();
    bytes.resize(room, 0);
    bytes
}

fn size_of_attribute(card: &Card, attribute: i32) -> Field {
    Size(card.attribute(attribute) as u64)
}

/// The fields in order of declaration (CUDA Runtime API, Data Structures, cudaDeviceProp).
fn fields(card: &Card, device: i32) -> Vec<(In, Field)> {
    vec![
        (Both, Bytes(padded(&card.name, 256))),
        (Both, Bytes(super::device::uuid(device).to_vec())),
        (Both, Bytes(vec![0; 8])), // luid
        (Both, Ints(&[0])),        // luidDeviceNodeMask
        (Both, Size(card.total_bytes)),
        (Both, size_of_attribute(card, 8)),                  // sharedMemPerBlock
        (Both, Ints(&[12, 10])),                             // regsPerBlock, warpSize
        (Both, size_of_attribute(card, 11)),                 // memPitch
        (Both, Ints(&[1, 2, 3, 4, 5, 6, 7])),                // maxThreadsPerBlock, maxThreadsDim, maxGridSize
        (Only12, Ints(&[13])),                               // clockRate
        (Both, size_of_attribute(card, 9)),                  // totalConstMem
        (Both, Ints(&[75, 76])),                             // major, minor
        (Both, size_of_attribute(card, 14)),                 // textureAlignment
        (Both, size_of_attribute(card, 51)),                 // texturePitchAlignment
        (Only12, Ints(&[15])),                               // deviceOverlap
        (Both, Ints(&[16])),                                 // multiProcessorCount
        (Only12, Ints(&[17])),                               // kernelExecTimeoutEnabled
        (Both, Ints(&[18, 19])),                             // integrated, canMapHostMemory
        (Only12, Ints(&[20])),                               // computeMode
        (Both, Ints(&[21, 77])),                             // maxTexture1D, …Mipmap
        (Only12, Ints(&[69])),                               // maxTexture1DLinear
        (Both, Ints(&[22, 23, 73, 74, 70, 71, 72])),         // 2D, 2DMipmap, 2DLinear
        (Both, Ints(&[45, 46, 24, 25, 26, 47, 48, 49, 52])), // 2DGather, 3D, 3DAlt, Cubemap
        (Both, Ints(&[42, 43, 27, 28, 29, 53, 54])),         // layered textures
        (Both, Ints(&[55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68])), // surfaces
        (Both, size_of_attribute(card, 30)),                 // surfaceAlignment
        (Both, Ints(&[31, 32])),                             // concurrentKernels, ECCEnabled
        (Both, Int(super::device::bus(card, device))),       // pciBusID
        (Both, Ints(&[34, 50, 35, 40, 41])),                 // pciDeviceID … unifiedAddressing
        (Only12, Ints(&[36])),                               // memoryClockRate
        (Both, Ints(&[37, 38, 108, 39, 78, 79, 80])),        // memoryBusWidth … localL1CacheSupported
        (Both, size_of_attribute(card, 81)),                 // sharedMemPerMultiprocessor
        (Both, Ints(&[82, 83, 84, 85, 86])),                 // regsPerMultiprocessor … hostNativeAtomicSupported
        (Only12, Ints(&[87])),                               // singleToDoublePrecisionPerfRatio
        (Both, Ints(&[88, 89, 90, 91, 95])),                 // pageableMemoryAccess … cooperativeLaunch
        (Only12, Ints(&[96])),                               // cooperativeMultiDeviceLaunch
        (Both, size_of_attribute(card, 97)),                 // sharedMemPerBlockOptin
        (Both, Ints(&[100, 101, 106, 109])), // pageableMemoryAccessUsesHostPageTables … accessPolicyMaxWindowSize
        (Both, size_of_attribute(card, 111)), // reservedSharedMemPerBlock
        (Both, Ints(&[99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 122, 120, 129])),
        (Only13, Ints(&[130, 131, 133, 134, 139, 140, 0])), // deviceNumaConfig … gpuPciSubsystemID
    ]
}

/// Writes fields one behind the other, each at its natural alignment.
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    fn field(&mut self, card: &Card, field: Field) {
        match field {
            Bytes(bytes) => self.bytes.extend(bytes),
            Size(value) => {
                self.align(8);
                self.bytes.extend(value.to_ne_bytes());
            }
            Int(value) => {
                self.align(4);
                self.bytes.extend(value.to_ne_bytes());
            }
            Ints(attributes) => {
                self.align(4);
                for &attribute in attributes {
                    let value = if attribute == 0 { 0 } else { card.attribute(attribute) };
                    self.bytes.extend(value.to_ne_bytes());
                }
            }
        }
    }
}

fn laid_out(card: &Card, device: i32, layout: In) -> Vec<u8> {
    let mut writer = Writer { bytes: Vec::new() };
    for (belongs, field) in fields(card, device) {
        if belongs == Both || belongs == layout {
            writer.field(card, field);
        }
    }
    writer.bytes
}

unsafe fn give(out: *mut u8, device: i32, layout: In) -> i32 {
    if !(0..card::device_count()).contains(&device) {
        return errors::fail(INVALID_DEVICE);
    }
    let bytes = laid_out(card::card(), device, layout);
    // SAFETY: the caller's structure is at least as large as its documented fields.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), out, bytes.len()) };
    SUCCESS
}

/// CUDA 13's name and layout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties(out: *mut u8, device: i32) -> i32 {
    unsafe { give(out, device, Only13) }
}

/// CUDA 12's name and layout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties_v2(out: *mut u8, device: i32) -> i32 {
    unsafe { give(out, device, Only12) }
}
