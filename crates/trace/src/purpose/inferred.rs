//! Purposes from stacks and lifetimes: where an allocation was made, and how long it lived.

use rustc_hash::FxHashMap;

use crate::purpose::open;
use crate::signs::{AllSigns, Place, StackSigns};
use crate::timing::Run;
use crate::{Action, AllocationId, Allocations, Category, Device, EventId, Phase, Timing};

/// cuBLAS's workspaces (per handle and stream), for stacks without C++ frames: 4096 KiB twice and 16 KiB eight times,
/// or 32 MiB on sm_90. (`aten/src/ATen/cuda/CublasHandlePool.cpp`, 2.11)
const CUBLAS_WORKSPACES: [u64; 2] = [8_519_680, 33_554_432];
/// cuBLASLt's, kept since 2.9.
const CUBLASLT_WORKSPACE: u64 = 1 << 20;

/// One category per allocation.
pub(super) fn categories(
    device: &Device,
    allocations: &Allocations,
    timing: &Timing,
    signs: &AllSigns,
) -> Vec<Category> {
    let mut judge = Judge::new(device, allocations, timing, signs);
    for id in allocations.ids() {
        let category = judge.judge(id);
        judge.rows.push(category);
    }
    judge.settle_inputs(None);
    open::settle(&mut judge);
    judge.settle_old();
    judge.rows
}

/// How an allocation ended, as far as it can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// At this event.
    Died(EventId),
    /// Alive when the run ran out of memory, or at the end: it might have died in the next moment.
    Open,
}

pub(super) struct Judge<'a> {
    pub allocations: &'a Allocations,
    pub signs: &'a AllSigns,
    timing: &'a Timing,
    runs: Vec<Run>,
    /// First events of backward passes.
    backwards: Vec<EventId>,
    /// What is freed after this says nothing: the run was over.
    pub horizon: EventId,
    pub rows: Vec<Category>,
    /// Decided by what their siblings did, at the end.
    pub undecided: Vec<AllocationId>,
    /// Made outside of modules since the last backward pass or step: inputs, if they live to see a module.
    waiting: Vec<AllocationId>,
    module_called: bool,
    ever_called: bool,
    run: usize,
    buffer_line: Option<u32>,
    workspaces: FxHashMap<(u64, Phase), u32>,
}

impl<'a> Judge<'a> {
    fn new(device: &'a Device, allocations: &'a Allocations, timing: &'a Timing, signs: &'a AllSigns) -> Judge<'a> {
        let runs = timing.runs();
        let backwards = runs.iter().filter(|run| run.phase == Phase::Backward).map(|run| run.first).collect();
        let calls = |id: AllocationId| signs.get(allocations.stack(id)).in_module();
        Judge {
            timing,
            allocations,
            signs,
            runs,
            backwards,
            horizon: horizon(device),
            rows: Vec::with_capacity(allocations.len()),
            undecided: Vec::new(),
            waiting: Vec::new(),
            module_called: false,
            ever_called: allocations.ids().any(calls),
            run: 0,
            buffer_line: buffer_line(allocations, signs),
            workspaces: FxHashMap::default(),
        }
    }

    fn signs(&self, id: AllocationId) -> &'a StackSigns {
        self.signs.get(self.allocations.stack(id))
    }

    pub fn fate(&self, id: AllocationId) -> Fate {
        let died = self.allocations.free_requested(id).or_else(|| self.allocations.gone(id));
        died.filter(|&died| died <= self.horizon).map_or(Fate::Open, Fate::Died)
    }

    pub fn phase_of(&self, id: AllocationId) -> Phase {
        self.allocations.born(id).map_or(Phase::Init, |born| self.timing.phase_at(born))
    }

    fn judge(&mut self, id: AllocationId) -> Category {
        let signs = self.signs(id);
        let Some(born) = self.allocations.born(id) else { return self.old(signs) };
        while self.runs.get(self.run + 1).is_some_and(|next| next.first <= born) {
            self.run += 1;
        }
        let Some(&run) = self.runs.get(self.run) else { return Category::Unknown };
        self.note_call(signs, run.phase, born);
        if self.is_workspace(id, signs, run.phase) {
            return Category::Workspace;
        }
        if let Some(line) = signs.apply_line {
            return self.moved(line, id, run);
        }
        match run.phase {
            Phase::Init => self.made_before_training(id, signs, run),
            Phase::Forward | Phase::Eval => self.made_in_forward(id, signs, run),
            Phase::Backward => self.made_in_backward(id, signs, run),
            Phase::Optimizer => self.made_by_optimizer(id, signs, run),
            Phase::Save => self.made_while_saving(id, run),
        }
    }

    /// Keeps in mind whether a module was called since the last backward pass or step.
    fn note_call(&mut self, signs: &StackSigns, phase: Phase, born: EventId) {
        match phase {
            Phase::Backward | Phase::Optimizer => self.module_called = false,
            _ if signs.in_module() => {
                self.settle_inputs(Some(born));
                self.module_called = true;
            }
            _ => {}
        }
    }

    /// Those that died before the module was called were temporaries after all.
    fn settle_inputs(&mut self, called: Option<EventId>) {
        for id in std::mem::take(&mut self.waiting) {
            let died_before = matches!(self.fate(id), Fate::Died(died) if called.is_none_or(|called| died < called));
            if died_before && called.is_some() {
                self.rows[id.index()] = Category::Temporary;
            }
        }
    }

    fn is_workspace(&mut self, id: AllocationId, signs: &StackSigns, phase: Phase) -> bool {
        if signs.workspace {
            return true;
        }
        let size = self.allocations.requested(id);
        let known = CUBLAS_WORKSPACES.contains(&size) || size == CUBLASLT_WORKSPACE;
        let possible = known && !signs.has_native() && self.signs.any_python && self.fate(id) == Fate::Open;
        if !possible || !matches!(phase, Phase::Forward | Phase::Backward | Phase::Eval) {
            return false;
        }
        // One per thread: the script's and the autograd engine's.
        let seen = self.workspaces.entry((size, phase)).or_default();
        *seen += 1;
        *seen == 1
    }

    /// `Module._apply` moves parameters on one line and buffers on a later one.
    fn moved(&self, line: u32, id: AllocationId, run: Run) -> Category {
        if self.died_in(id, run) {
            return Category::Temporary;
        }
        if Some(line) == self.buffer_line { Category::Buffer } else { Category::Parameter }
    }

    fn died_in(&self, id: AllocationId, run: Run) -> bool {
        matches!(self.fate(id), Fate::Died(died) if died <= run.last)
    }

    fn made_before_training(&self, id: AllocationId, signs: &StackSigns, run: Run) -> Category {
        if signs.builds() {
            return Category::Parameter;
        }
        if self.died_in(id, run) {
            return Category::Temporary;
        }
        if signs.in_optimizer_file() || signs.makes_state() {
            return Category::OptimizerState;
        }
        let outside = matches!(signs.place, Place::Outside) && self.ever_called;
        if outside { Category::Input } else { Category::Unknown }
    }

    fn made_in_forward(&mut self, id: AllocationId, signs: &StackSigns, run: Run) -> Category {
        if signs.builds() && !self.died_in(id, run) {
            return Category::Parameter;
        }
        if !signs.in_module() && self.ever_called && self.is_input(id, signs) {
            return Category::Input;
        }
        if self.is_unreadable(signs) {
            return Category::Unknown;
        }
        match (self.fate(id), self.backward_after(run)) {
            (Fate::Died(died), Some(backward)) if died < backward => Category::Temporary,
            (_, Some(_)) => Category::Activation,
            (Fate::Died(_), None) => Category::Temporary,
            (Fate::Open, None) => self.decide_later(id),
        }
    }

    /// Without modules and backward passes in the whole recording nobody can tell what a line's tensors are for.
    fn is_unreadable(&self, signs: &StackSigns) -> bool {
        !self.ever_called && self.backwards.is_empty() || signs.place == Place::Unknown && !self.signs.any_python
    }

    fn is_input(&mut self, id: AllocationId, signs: &StackSigns) -> bool {
        if signs.moves_batch() || signs.is_factory() {
            return !matches!(self.fate(id), Fate::Died(died) if self.allocations.born(id).is_some_and(|born| died.0 <= born.0 + 2));
        }
        if self.module_called || signs.has_native() {
            return false;
        }
        self.waiting.push(id);
        true
    }

    /// The first backward pass that begins after a run, before the horizon.
    fn backward_after(&self, run: Run) -> Option<EventId> {
        let at = self.backwards.partition_point(|&first| first <= run.last);
        self.backwards.get(at).copied().filter(|&first| first <= self.horizon)
    }

    fn decide_later(&mut self, id: AllocationId) -> Category {
        self.undecided.push(id);
        Category::Activation
    }

    fn made_in_backward(&mut self, id: AllocationId, signs: &StackSigns, run: Run) -> Category {
        let over = run.last < self.horizon;
        match self.fate(id) {
            Fate::Died(died) if died <= run.last => Category::Temporary,
            _ if signs.in_module() => Category::Activation,
            Fate::Open if !over => {
                self.undecided.push(id);
                Category::Temporary
            }
            _ => Category::Gradient,
        }
    }

    fn made_by_optimizer(&mut self, id: AllocationId, signs: &StackSigns, run: Run) -> Category {
        let over = run.last < self.horizon;
        match self.fate(id) {
            Fate::Died(died) if died <= run.last => Category::Temporary,
            _ if signs.cares_for_gradients() => Category::Temporary,
            _ if over || signs.makes_state() => Category::OptimizerState,
            _ => {
                self.undecided.push(id);
                Category::Temporary
            }
        }
    }

    fn made_while_saving(&self, id: AllocationId, run: Run) -> Category {
        if self.died_in(id, run) { Category::Temporary } else { Category::Unknown }
    }

    /// Older than the recording: its stack, if the final segments have it.
    fn old(&self, signs: &StackSigns) -> Category {
        if signs.workspace {
            return Category::Workspace;
        }
        match (signs.apply_line, signs.place) {
            (Some(line), _) if Some(line) == self.buffer_line => Category::Buffer,
            (Some(_), _) => Category::Parameter,
            _ if signs.builds() => Category::Parameter,
            (None, Place::Optimizer) if !signs.cares_for_gradients() => Category::OptimizerState,
            (None, Place::Backward) => Category::Gradient,
            (None, Place::Forward) => Category::Activation,
            _ => Category::Unknown,
        }
    }

    /// Old blocks without a stack: as many of a size as there are gradients of it are parameters; more are states.
    fn settle_old(&mut self) {
        let old = self.allocations.ids().take_while(|&id| self.allocations.born(id).is_none());
        let unknown: Vec<AllocationId> =
            old.filter(|&id| self.rows[id.index()] == Category::Unknown && self.fate(id) == Fate::Open).collect();
        if unknown.is_empty() {
            return;
        }
        let mut gradients = self.gradients_by_size();
        for id in unknown {
            let Some(left) = gradients.get_mut(&self.allocations.requested(id)) else { continue };
            self.rows[id.index()] = if *left > 0 { Category::Parameter } else { Category::OptimizerState };
            *left = left.saturating_sub(1);
        }
    }

    /// How many gradients of a size one backward pass makes, at most.
    fn gradients_by_size(&self) -> FxHashMap<u64, u32> {
        let mut most: FxHashMap<u64, u32> = FxHashMap::default();
        let mut here: FxHashMap<u64, (usize, u32)> = FxHashMap::default();
        for id in self.allocations.ids().filter(|id| self.rows[id.index()] == Category::Gradient) {
            let Some(born) = self.allocations.born(id) else { continue };
            let pass = self.backwards.partition_point(|&first| first <= born);
            let (last, count) = here.entry(self.allocations.requested(id)).or_default();
            *count = if *last == pass { *count + 1 } else { 1 };
            *last = pass;
            let most = most.entry(self.allocations.requested(id)).or_default();
            *most = (*most).max(*count);
        }
        most
    }
}

/// A run that died of memory frees everything while Python unwinds; what counts is what lived when it died.
fn horizon(device: &Device) -> EventId {
    let events = &device.events;
    let last = EventId::from_index(events.len().saturating_sub(1));
    let Some(oom) = events.ids().rev().find(|&id| events.action(id) == Action::Oom) else { return last };
    let after = (oom.index()..events.len()).map(EventId::from_index);
    let asked = after.filter(|&id| events.action(id) == Action::Alloc).count();
    // Whoever catches the error may report it with a few tensors; whoever goes on training makes many.
    if asked <= 16.max(events.len() / 300) { oom } else { last }
}

/// The later of the lines on which `_apply` moves tensors is the buffers'.
fn buffer_line(allocations: &Allocations, signs: &AllSigns) -> Option<u32> {
    let lines = allocations.ids().filter_map(|id| signs.get(allocations.stack(id)).apply_line);
    let (mut least, mut most) = (u32::MAX, 0);
    for line in lines {
        (least, most) = (least.min(line), most.max(line));
    }
    (least < most).then_some(most)
}
