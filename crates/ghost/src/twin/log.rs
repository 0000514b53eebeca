//! The answers on their way from the twin to the original: a ring in memory that both share.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Room for answers under way; a twin that runs too far ahead waits. Pages that are not written cost nothing.
const RING: usize = 64 << 20;
/// In a record's size: the bytes follow. Without it the answer is zeros.
const WITH_BYTES: u64 = 1 << 63;

#[repr(C)]
struct Header {
    /// End of the published records. Positions only grow; a record lies at its position modulo the ring's size.
    written: AtomicU64,
    /// Start of the first record that the original has not taken.
    taken: AtomicU64,
}

pub struct Log {
    header: *mut Header,
    ring: *mut u8,
}

// SAFETY: the header is atomics; the ring's bytes belong to the twin past `written` and to the original before it.
unsafe impl Send for Log {}
// SAFETY: as above; callers in one process hold the cursor's lock.
unsafe impl Sync for Log {}

impl Log {
    pub fn create() -> Option<Log> {
        // SAFETY: an anonymous shared mapping at an address of the kernel's choice, zero-filled, never unmapped.
        let at = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size_of::<Header>() + RING,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        // SAFETY: the ring starts inside the mapping.
        (at != libc::MAP_FAILED)
            .then(|| Log { header: at.cast(), ring: unsafe { at.cast::<u8>().add(size_of::<Header>()) } })
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping starts with a header and lives as long as the process.
        unsafe { &*self.header }
    }

    pub fn written(&self) -> u64 {
        self.header().written.load(Ordering::Acquire)
    }

    /// The twin's side: adds a record at the cursor, once there is room.
    pub fn append(&self, at: &mut u64, answer: &[u8], known: bool) {
        let payload = if known { answer.len().next_multiple_of(8) } else { 0 };
        let end = *at + 8 + payload as u64;
        while end - self.header().taken.load(Ordering::Acquire) > RING as u64 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let size = answer.len() as u64 | if known { WITH_BYTES } else { 0 };
        self.put(*at, &size.to_ne_bytes());
        if known {
            self.put(*at + 8, answer);
        }
        *at = end;
        self.header().written.store(end, Ordering::Release);
    }

    /// The original's side: how large the read of the record at the cursor was.
    pub fn size_at(&self, at: u64) -> usize {
        (self.word(at) & !WITH_BYTES) as usize
    }

    /// The original's side: takes the record at the cursor; false if it holds no bytes.
    pub fn take(&self, at: &mut u64, out: &mut [u8]) -> bool {
        let known = self.word(*at) & WITH_BYTES != 0;
        *at += 8;
        if known {
            self.get(*at, out);
            *at += out.len().next_multiple_of(8) as u64;
        }
        self.header().taken.store(*at, Ordering::Release);
        known
    }

    fn word(&self, at: u64) -> u64 {
        let mut word = [0; 8];
        self.get(at, &mut word);
        u64::from_ne_bytes(word)
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(room_to_end(at)));
        // SAFETY: both parts lie inside the ring, in bytes that were taken or never written.
        unsafe {
            ptr::copy_nonoverlapping(first.as_ptr(), self.ring.add(place(at)), first.len());
            ptr::copy_nonoverlapping(rest.as_ptr(), self.ring, rest.len());
        }
    }

    fn get(&self, at: u64, out: &mut [u8]) {
        let cut = out.len().min(room_to_end(at));
        let (first, rest) = out.split_at_mut(cut);
        // SAFETY: both parts lie inside the ring, in bytes that the twin has published.
        unsafe {
            ptr::copy_nonoverlapping(self.ring.add(place(at)), first.as_mut_ptr(), first.len());
            ptr::copy_nonoverlapping(self.ring, rest.as_mut_ptr(), rest.len());
        }
    }
}

fn place(at: u64) -> usize {
    (at % RING as u64) as usize
}

fn room_to_end(at: u64) -> usize {
    RING - place(at)
}

#[cfg(test)]
mod tests {
    use super::{Log, RING};

    #[test]
    fn records_come_out_as_they_went_in() {
        let log = Log::create().unwrap();
        let (mut written, mut read) = (0, 0);
        log.append(&mut written, &[1, 2, 3], true);
        log.append(&mut written, &[9; 5], false);
        assert_eq!(log.size_at(read), 3);
        let mut out = [0; 3];
        assert!(log.take(&mut read, &mut out));
        assert_eq!(out, [1, 2, 3]);
        assert_eq!(log.size_at(read), 5);
        assert!(!log.take(&mut read, &mut [0; 5]));
        assert_eq!(read, log.written());
    }

    #[test]
    fn the_ring_goes_round() {
        let log = Log::create().unwrap();
        let (mut written, mut read) = (0, 0);
        let large: Vec<u8> = (0..RING / 5 + 3).map(|i| i as u8).collect();
        let mut out = vec![0; large.len()];
        for _ in 0..12 {
            log.append(&mut written, &large, true);
            assert!(log.take(&mut read, &mut out));
            assert!(out == large);
        }
    }
}
