//! The numbers that PyTorch's caching allocator prints after `Tried to allocate A`.

use trace::{OomMessage, ProcessUse};

use super::cursor::Cursor;

/// Fills in what is there and returns where the last number's sentence ended.
pub fn read(cursor: &mut Cursor, message: &mut OomMessage) -> usize {
    if cursor.skip("(GPU ") {
        return in_parentheses(cursor, message);
    }
    cursor.skip(".");
    let mut end = cursor.at();
    if device(cursor, message) {
        end = cursor.at();
    }
    while process(cursor, message) {
        end = cursor.at();
    }
    if allowed(cursor, message) {
        end = cursor.at();
    }
    if pytorch(cursor, message) {
        end = cursor.at();
    }
    end
}

/// Up to torch 2.0: `(GPU 0; 23.69 GiB total capacity; 16.12 GiB already allocated; …)`.
fn in_parentheses(cursor: &mut Cursor, message: &mut OomMessage) -> usize {
    message.gpu = cursor.device();
    let mut end = cursor.at();
    while cursor.skip(";") {
        let Some(size) = cursor.size() else { break };
        let place = match () {
            () if cursor.skip("total capacity") => &mut message.total,
            () if cursor.skip("already allocated") => &mut message.allocated,
            () if cursor.skip("free") => &mut message.free,
            () if cursor.skip("allowed") => &mut message.allowed,
            () if cursor.skip("reserved in total by PyTorch") => &mut message.reserved_in_total,
            () if cursor.skip("cached") => &mut message.unallocated,
            () => break,
        };
        *place = Some(size);
        cursor.skip(")");
        end = cursor.at();
    }
    end
}

/// `GPU 0 has a total capacity of 139.80 GiB of which 87.52 GiB is free.`
fn device(cursor: &mut Cursor, message: &mut OomMessage) -> bool {
    if !cursor.skip("GPU") {
        return false;
    }
    let device = cursor.device();
    // torch 2.1 misspells it. A clause of another kind would be "GPU memory …", which has no capacity.
    if !cursor.skip("has a total capacity of") && !cursor.skip("has a total capacty of") {
        return false;
    }
    message.gpu = device;
    message.total = cursor.size();
    message.free = cursor.skip("of which").then(|| cursor.size()).flatten();
    cursor.skip("is free.");
    true
}

/// `Process 646 has 518.00 MiB memory in use.`, or the same for this process.
fn process(cursor: &mut Cursor, message: &mut OomMessage) -> bool {
    let before = *cursor;
    let own = cursor.skip("Including non-PyTorch memory, this process");
    let pid = if own || !cursor.skip("Process ") { None } else { cursor.number() };
    if (!own && pid.is_none()) || !cursor.skip("has") {
        *cursor = before;
        return false;
    }
    let used = cursor.size();
    if !cursor.skip("memory in use.") {
        *cursor = before;
        return false;
    }
    match pid.and_then(|pid| u32::try_from(pid).ok()) {
        Some(pid) => message.processes.push(ProcessUse { pid, used }),
        None => message.own = used,
    }
    true
}

/// `16.00 GiB allowed; `, where a memory fraction was set.
fn allowed(cursor: &mut Cursor, message: &mut OomMessage) -> bool {
    let before = *cursor;
    let size = cursor.size();
    if size.is_some() && cursor.skip("allowed;") {
        message.allowed = size;
        return true;
    }
    *cursor = before;
    false
}

/// `Of the allocated memory 15.18 GiB is allocated by PyTorch, with 2.00 MiB allocated in private pools (e.g., CUDA
/// Graphs), and 15.79 MiB is reserved by PyTorch but unallocated.`
fn pytorch(cursor: &mut Cursor, message: &mut OomMessage) -> bool {
    if !cursor.skip("Of the allocated memory") {
        return false;
    }
    message.allocated = cursor.size();
    cursor.skip("is allocated by PyTorch,");
    if cursor.skip("with") {
        message.private_pools = cursor.size();
        cursor.skip("allocated in private pools (e.g., CUDA Graphs),");
    }
    if cursor.skip("and") {
        message.unallocated = cursor.size();
        cursor.skip("is reserved by PyTorch but unallocated.");
    }
    true
}
