//! `other-process`: someone else is on the card.

use crate::causes::{finding, percent, said, size};
use crate::facts::Facts;
use crate::facts::message::Account;
use crate::{Cause, Finding};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    in_message(facts).or_else(|| in_trace(facts))
}

/// The message lists processes; where it lists none, what nobody accounts for is somebody else's.
fn in_message(facts: &Facts<'_>) -> Option<Finding> {
    let account = Account::of(facts.evidence.crash?);
    if account.limited() {
        return None;
    }
    let total = account.total()?;
    let listed = account.message.others().map(|others| others.bytes);
    let own = account.message.own.map_or(0, |own| own.bytes);
    let others = listed.or_else(|| account.message.own.is_none().then(|| account.foreign()).flatten())?;
    let share = others as f64 / total as f64;
    if share < 0.2 || (listed.is_none() && others < 3 << 30) {
        return None;
    }
    let mut evidence: Vec<_> = account
        .message
        .processes
        .iter()
        .map(|process| crate::Fact {
            text: format!("process {}", process.pid),
            bytes: process.used.map(|used| used.bytes),
            location: None,
        })
        .collect();
    if listed.is_none() {
        evidence.push(said("on the card, and neither free nor PyTorch's").bytes(others));
    }
    if own > 0 {
        evidence.push(said("this process, with its context").bytes(own));
    }
    evidence.push(said("the card has").bytes(total));
    evidence.extend(super::refusal(facts));
    let whose = if listed.is_some() { "other processes hold" } else { "someone else holds" };
    let summary = format!("{whose} {} of the card's {} ({})", size(others), size(total), percent(share));
    let sure: f64 = if listed.is_some() { 0.7 } else { 0.6 };
    finding(Cause::OtherProcess, (sure + share * 0.3).min(0.97), summary, evidence)
}

/// The card was full although PyTorch had reserved little of it: only someone else can have the rest.
fn in_trace(facts: &Facts<'_>) -> Option<Finding> {
    let traced = facts.traced.as_ref()?;
    let room = traced.room.filter(|room| room.device_full())?;
    let card = super::outside_allocator::least_card(traced)?;
    let foreign = card.checked_sub(room.reserved.saturating_add(room.device_free))?;
    let share = foreign as f64 / card as f64;
    if share < 0.2 {
        return None;
    }
    let evidence = vec![
        said("free on the card when the request was refused").bytes(room.device_free),
        said("the request that was refused").bytes(room.requested).at(traced.oom_location()),
        said("reserved by PyTorch in this process").bytes(room.reserved),
        said("a card of this kind has at least").bytes(card),
    ];
    let summary = format!(
        "the card was full although PyTorch held only {}: at least {} belongs to other processes or other libraries",
        size(room.reserved),
        size(foreign)
    );
    let known = facts.evidence.crash.is_some_and(|crash| crash.message.own.is_some());
    finding(Cause::OtherProcess, if known { 0.3 } else { (0.72 + share * 0.25).min(0.94) }, summary, evidence)
}
