//! Which definition reaches a point: the state of a function's places, split at branches and joined after them.

use smallvec::SmallVec;

use super::build::Builder;
use super::scope::{Def, DefId, PlaceId, Set};
use super::tree::NodeId;
use crate::parse::TextRange;

/// The definition in force for each place of a function, and whether this point can be reached.
#[derive(Clone, Default)]
pub(super) struct State {
    defs: Vec<DefId>,
    unreachable: bool,
}

/// What a loop collects until it ends.
pub(super) struct OpenLoop {
    heads: Vec<DefId>,
    breaks: Vec<State>,
    continues: Vec<State>,
}

impl State {
    pub fn get(&self, slot: u32) -> DefId {
        self.defs.get(slot as usize).copied().unwrap_or(DefId::UNSET)
    }

    pub fn set(&mut self, slot: u32, def: DefId) {
        let slot = slot as usize;
        if slot >= self.defs.len() {
            self.defs.resize(slot + 1, DefId::UNSET);
        }
        self.defs[slot] = def;
    }

    pub fn end_here(&mut self) {
        self.unreachable = true;
    }

    pub fn is_reachable(&self) -> bool {
        !self.unreachable
    }
}

impl<'a> Builder<'a> {
    /// What holds where several paths meet. `at` is the statement that they belong to.
    pub(super) fn join(&mut self, mut paths: Vec<State>, at: NodeId) -> State {
        paths.retain(State::is_reachable);
        let Some(mut merged) = paths.pop() else {
            return State { defs: Vec::new(), unreachable: true };
        };
        for other in paths {
            self.join_two(&mut merged, &other, at);
        }
        merged
    }

    fn join_two(&mut self, into: &mut State, other: &State, at: NodeId) {
        let slots = into.defs.len().max(other.defs.len()) as u32;
        for slot in 0..slots {
            let (a, b) = (into.get(slot), other.get(slot));
            if a != b {
                let joined = self.join_defs(a, b, slot, at);
                into.set(slot, joined);
            }
        }
    }

    fn join_defs(&mut self, a: DefId, b: DefId, slot: u32, at: NodeId) -> DefId {
        let mut operands: SmallVec<[DefId; 2]> = SmallVec::new();
        for def in [b, a] {
            match &self.defs[def.index()].set {
                Set::Join(inner) if def != DefId::UNSET && self.defs[def.index()].node == at => {
                    operands.extend(inner.iter().copied().filter(|d| !operands.contains(d)).collect::<Vec<_>>());
                }
                _ if !operands.contains(&def) => operands.push(def),
                _ => {}
            }
        }
        if let [only] = operands[..] {
            return only;
        }
        let place = self.frame().places[slot as usize];
        self.add_def(place, Set::Join(operands), at, TextRange::default())
    }

    /// Begins a loop whose body sets these places: each gets a head that stands for "from before or from the last turn".
    pub(super) fn open_loop(&mut self, node: NodeId, mut places: Vec<PlaceId>) {
        places.sort_unstable();
        places.dedup();
        let mut heads: Vec<DefId> = Vec::with_capacity(places.len());
        for place in places {
            let slot = self.places[place.index()].slot;
            let before = self.frame().state.get(slot);
            let set = Set::LoopHead { loop_node: node, before, around: SmallVec::new() };
            let head = self.add_def(place, set, node, TextRange::default());
            self.frame_mut().state.set(slot, head);
            heads.push(head);
        }
        let open = OpenLoop { heads, breaks: Vec::new(), continues: Vec::new() };
        self.frame_mut().loops.push(open);
    }

    /// Ends the body of the innermost loop: what the turn set goes round to the heads. Returns the states at `break`.
    pub(super) fn close_loop(&mut self) -> Vec<State> {
        let Some(open) = self.frame_mut().loops.pop() else { return Vec::new() };
        let mut turns = open.continues;
        turns.push(self.frame().state.clone());
        turns.retain(State::is_reachable);
        for head in open.heads {
            let slot = self.places[self.defs[head.index()].place.index()].slot;
            for turn in &turns {
                self.add_around(head, turn.get(slot));
            }
        }
        open.breaks
    }

    fn add_around(&mut self, head: DefId, def: DefId) {
        if let Set::LoopHead { around, .. } = &mut self.defs[head.index()].set
            && def != head
            && !around.contains(&def)
        {
            around.push(def);
        }
    }

    pub(super) fn leave_loop_early(&mut self, is_break: bool) {
        let frame = self.frame_mut();
        let state = frame.state.clone();
        if let Some(open) = frame.loops.last_mut() {
            if is_break { open.breaks.push(state) } else { open.continues.push(state) }
        }
        frame.state.end_here();
    }

    pub(super) fn add_def(&mut self, place: PlaceId, set: Set<'a>, node: NodeId, range: TextRange) -> DefId {
        let id = DefId(self.defs.len() as u32);
        self.defs.push(Def { place, set, node, range });
        id
    }
}
