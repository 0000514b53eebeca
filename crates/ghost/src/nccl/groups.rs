//! Groups: messages that belong together, settled when the group ends.
//!
//! PyTorch writes some collectives as groups. A list is gathered by one broadcast per rank, parts are
//! exchanged by sends and receives with everyone, itself included. The message between us and
//! ourselves then tells what the peers' messages hold.

use super::collectives::element;
use super::communicator;
use crate::known;
use crate::{alike, succeed};
use std::cell::RefCell;

/// A message of the current group. One end is 0 where it lies with a peer.
#[derive(Clone, Copy)]
struct Message {
    send: usize,
    receive: usize,
    bytes: usize,
}

#[derive(Default)]
struct Group {
    depth: u32,
    sent_to_ourselves: Vec<Message>,
    received: Vec<Message>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

impl Group {
    /// A message from us to us that looks like this one.
    fn own(&self, like: &Message) -> Option<&Message> {
        self.sent_to_ourselves.iter().find(|own| own.bytes == like.bytes)
    }

    fn settle(&mut self) {
        for message in std::mem::take(&mut self.received) {
            match self.own(&message) {
                Some(own) => known::copy(message.receive as u64, own.send as u64, message.bytes),
                None => message.stay_or_forget(),
            }
        }
        self.sent_to_ourselves.clear();
    }
}

impl Message {
    /// Without a message of our own to go by: a broadcast in place brings what is there already, as
    /// the root holds what we hold; anything else can bring anything.
    fn stay_or_forget(&self) {
        if self.send == 0 {
            known::forget(self.receive as u64, self.bytes as u64);
        } else if self.send != self.receive {
            known::copy(self.receive as u64, self.send as u64, self.bytes);
        }
    }
}

fn add(change: impl FnOnce(&mut Group)) {
    GROUP.with_borrow_mut(|group| {
        change(group);
        if group.depth == 0 {
            group.settle();
        }
    });
}

alike! { [ncclGroupStart] () { GROUP.with_borrow_mut(|group| group.depth += 1); } }
alike! { [ncclGroupEnd] () { add(|group| group.depth = group.depth.saturating_sub(1)); } }

alike! {
    [ncclBroadcast]
    (send: usize, receive: usize, count: usize, data_type: i32, root: i32, comm: usize)
    {
        let message = Message { send, receive, bytes: count * element(data_type) };
        add(|group| {
            if root == communicator(comm).rank {
                group.sent_to_ourselves.push(message);
            }
            group.received.push(message);
        });
    }
}
alike! {
    [ncclSend]
    (send: usize, count: usize, data_type: i32, to: i32, comm: usize)
    {
        if to == communicator(comm).rank {
            let message = Message { send, receive: 0, bytes: count * element(data_type) };
            add(|group| group.sent_to_ourselves.push(message));
        }
    }
}
alike! {
    [ncclRecv]
    (receive: usize, count: usize, data_type: i32)
    { add(|group| group.received.push(Message { send: 0, receive, bytes: count * element(data_type) })); }
}

// In place, and what the root holds we hold.
succeed! { ncclBcast }
// One-sided messages, and waiting for them.
succeed! { ncclPutSignal ncclSignal ncclWaitSignal }

#[cfg(test)]
mod tests {
    use super::*;

    const INT8: i32 = 0;

    fn read(at: usize) -> Option<u8> {
        let mut byte = [0];
        known::read(at as u64, &mut byte).then_some(byte[0])
    }

    #[test]
    fn a_list_gathered_by_broadcasts_repeats_ours_whatever_the_order() {
        let comm = super::super::join(3, 1, 0);
        let (ours, list) = (0x51_0000, 0x52_0000);
        known::write(ours as u64, &[7]);
        // SAFETY: no pointer is dereferenced.
        unsafe {
            ncclGroupStart();
            ncclBroadcast(list, list, 1, INT8, 0, comm);
            ncclBroadcast(ours, list + 1, 1, INT8, 1, comm);
            ncclBroadcast(list + 2, list + 2, 1, INT8, 2, comm);
            ncclGroupEnd();
        }
        assert_eq!([0, 1, 2].map(|rank| read(list + rank)), [Some(7); 3]);
    }

    #[test]
    fn parts_exchanged_are_like_the_part_we_keep() {
        let comm = super::super::join(2, 0, 0);
        let (send, receive) = (0x53_0000, 0x54_0000);
        known::write(send as u64, &[3, 4]);
        // SAFETY: no pointer is dereferenced.
        unsafe {
            ncclGroupStart();
            for rank in 0..2 {
                ncclSend(send + rank as usize, 1, INT8, rank, comm);
                ncclRecv(receive + rank as usize, 1, INT8);
            }
            ncclGroupEnd();
        }
        assert_eq!([0, 1].map(|rank| read(receive + rank)), [Some(3); 2]);
    }

    #[test]
    fn a_lone_message_can_hold_anything_and_a_lone_broadcast_stays() {
        let comm = super::super::join(2, 1, 0);
        let at = 0x55_0000;
        known::write(at as u64, &[9]);
        // SAFETY: no pointer is dereferenced.
        unsafe { ncclBroadcast(at, at, 1, INT8, 0, comm) };
        assert_eq!(read(at), Some(9));
        // SAFETY: as above.
        unsafe { ncclRecv(at, 1, INT8) };
        assert_eq!(read(at), None);
    }
}
