//! CUPTI: a profiler that finds nothing to profile.
//!
//! `torch.profiler` subscribes, asks for buffers and flushes them; on a ghost no activity ever
//! arrives and the trace holds the CPU's side alone. The real library would go looking for a driver.

use crate::fill::put;
use crate::{alike, hand_out, log, succeed};
use std::ffi::c_char;

hand_out! { cuptiSubscribe: 0 }

// Subscriptions and activities: wanted, and never delivered.
succeed! {
    cuptiActivityDisable cuptiActivityEnable cuptiActivityEnableCudaEventDeviceTimestamps
    cuptiActivityEnableDriverApi cuptiActivityEnableRuntimeApi cuptiActivityFlushAll
    cuptiActivityPushExternalCorrelationId cuptiActivityRegisterCallbacks
    cuptiActivityRegisterTimestampCallback cuptiActivitySetAttribute
    cuptiEnableCallback cuptiEnableDomain cuptiFinalize cuptiUnsubscribe
}

alike! {
    [cuptiActivityGetNumDroppedRecords]
    (_context: usize, _stream: u32, dropped: *mut usize)
    { put(dropped, 0); }
}
alike! { [cuptiActivityPopExternalCorrelationId] (_kind: i32, last: *mut u64) { put(last, 0); } }
alike! { [cuptiGetDeviceId] (_context: usize, device: *mut u32) { put(device, crate::memory::current() as u32); } }
alike! {
    [cuptiGetCallbackName]
    (_domain: i32, _id: u32, name: *mut *const c_char)
    { put(name, c"unknown".as_ptr()); }
}

/// `CUPTI_ERROR_MAX_LIMIT_REACHED`: the documented end of a buffer of records.
const NO_MORE_RECORDS: i32 = 12;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetNextRecord(_buffer: usize, _bytes: usize, record: *mut usize) -> i32 {
    // SAFETY: the documented out-parameter.
    unsafe { put(record, 0) };
    NO_MORE_RECORDS
}

/// `CUPTI_API_VERSION`: six digits since CUDA 13.0; before, a counter that stood at 22 for 12.4 and 26 for 12.8.
fn version(cuda: i32) -> u32 {
    let cuda = cuda.max(0) as u32;
    match cuda {
        13000.. => cuda / 1000 * 10_000 + cuda % 1000 / 10 * 100,
        12080.. => 26,
        _ => 22,
    }
}

alike! { [cuptiGetVersion] (out: *mut u32) { put(out, version(crate::card::cuda_version())); } }

// Counters on the card: there is no card to count. Nothing is written, as in every failed CUPTI call.
macro_rules! refuse {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> i32 {
                log::call(stringify!($name));
                NOT_SUPPORTED
            }
        )*
    };
}

/// `CUPTI_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: i32 = 27;

refuse! {
    cuptiEventGetAttribute cuptiEventGetIdFromName
    cuptiEventGroupGetAttribute cuptiEventGroupReadEvent cuptiEventGroupSetAttribute
    cuptiEventGroupSetDisable cuptiEventGroupSetEnable cuptiEventGroupSetsCreate cuptiEventGroupSetsDestroy
    cuptiMetricEnumEvents cuptiMetricGetAttribute cuptiMetricGetIdFromName cuptiMetricGetNumEvents
    cuptiMetricGetValue cuptiSetEventCollectionMode
}

alike! {
    [cuptiGetResultString]
    (result: i32, text: *mut *const c_char)
    {
        put(text, match result {
            0 => c"CUPTI_SUCCESS",
            NO_MORE_RECORDS => c"CUPTI_ERROR_MAX_LIMIT_REACHED",
            NOT_SUPPORTED => c"CUPTI_ERROR_NOT_SUPPORTED",
            _ => c"CUPTI_ERROR_UNKNOWN",
        }.as_ptr());
    }
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_written_as_cupti_writes_them() {
        assert_eq!(version(13020), 130_200);
        assert_eq!(version(12080), 26);
        assert_eq!(version(12040), 22);
    }
}
