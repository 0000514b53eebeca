//! The roofline against itself: what has to hold on every card.

use super::*;

fn row(op: &str, dtype: &str, flops: u64, bytes: u64) -> Row {
    let dtype = Some(dtype.to_owned());
    let (op, count, launches, tensors) = (op.into(), 1, 1, 1);
    Row {
        op,
        dtype,
        flops,
        bytes,
        count,
        kernel: true,
        launches,
        tensors,
        device: None,
        layout: None,
        beside: false,
        short: false,
    }
}

fn seconds(row: Row, card: &str) -> f64 {
    let costs = Costs { rows: vec![row], ..Costs::default() };
    estimate(&costs, gpus::find(card).unwrap()).gpu_seconds
}

const LARGE: (u64, u64) = (1 << 43, 1 << 30);

fn product(dtype: &str, card: &str) -> f64 {
    seconds(row("aten.mm", dtype, LARGE.0, LARGE.1), card)
}

#[test]
fn no_card_is_faster_than_its_peak() {
    for card in gpus::all() {
        let peak = card.throughput.bf16.or(card.throughput.fp16).unwrap_or(card.throughput.fp32) * 1e12;
        assert!(product("bfloat16", &card.id) >= LARGE.0 as f64 / peak, "{}", card.id);
        let bytes = 1_u64 << 32;
        let moved = seconds(row("aten.add", "float32", 0, bytes), &card.id);
        assert!(moved >= bytes as f64 / (card.bandwidth_gb_s * 1e9), "{}", card.id);
    }
}

#[test]
fn bfloat16_is_faster_only_where_there_is_hardware_for_it() {
    assert!(product("bfloat16", "rtx-3060") < product("float32", "rtx-3060"));
    assert!(product("bfloat16", "t4") > product("float32", "t4"));
    assert!(product("float16", "t4") < product("float32", "t4"));
}

#[test]
fn tf32_is_used_where_it_is_allowed() {
    let of = |op: &str, matmul: bool, cudnn: bool| {
        let rows = vec![row(op, "float32", LARGE.0, LARGE.1)];
        let costs = Costs { rows, tf32: Tf32 { matmul, cudnn }, ..Costs::default() };
        estimate(&costs, gpus::find("a100").unwrap()).gpu_seconds
    };
    assert!(of("aten.mm", true, false) < of("aten.mm", false, true) / 2.0);
    assert!(of("aten.convolution", false, true) < of("aten.convolution", true, false) / 2.0);
}

#[test]
fn many_small_kernels_take_longer_than_one_large() {
    let one = product("bfloat16", "h200");
    let parts = seconds(Row { count: 1 << 16, ..row("aten.mm", "bfloat16", LARGE.0 >> 16, LARGE.1 >> 16) }, "h200");
    assert!(parts > one * 1.5, "{parts} {one}");
}

#[test]
fn views_cost_the_host_and_nothing_else() {
    let rows = vec![Row { kernel: false, count: 1000, ..row("aten.view", "float32", 0, 0) }];
    let found = estimate(&Costs { rows, ..Costs::default() }, gpus::find("h200").unwrap());
    assert_eq!(found.gpu_seconds, 0.0);
    assert!(found.host_seconds > 0.0 && found.seconds == found.host_seconds);
}

#[test]
fn where_the_host_waits_often_it_cannot_run_ahead() {
    let of = |short| {
        let launching = Row { count: 1000, short, ..row("aten.add", "float32", 0, 1 << 10) };
        let rows = vec![row("aten.mm", "float32", LARGE.0, LARGE.1), launching];
        estimate(&Costs { rows, ..Costs::default() }, gpus::find("h200").unwrap())
    };
    assert!((of(true).gpu_seconds / of(false).gpu_seconds - 1.0).abs() < 1e-9);
    assert!(of(true).seconds > of(false).seconds * 1.05);
}

#[test]
fn what_the_host_computes_hides_behind_a_busy_device() {
    let of = |beside| {
        let making = Row { beside, ..on_host("aten.add", 1 << 34) };
        let rows = vec![row("aten.mm", "float32", LARGE.0, LARGE.1), making];
        estimate(&Costs { rows, ..Costs::default() }, gpus::find("h200").unwrap())
    };
    assert_eq!(of(true).seconds, of(true).gpu_seconds.max(of(true).host_seconds));
    assert!(of(false).seconds > (of(false).gpu_seconds + of(false).host_seconds) * 0.99);
}

/// On the host of the card that was measured: 28.9 M numbers in 0.18 to 0.24 s.
#[test]
fn random_numbers_are_drawn_one_by_one() {
    let seconds = |row| {
        let costs = Costs { rows: vec![row], ..Costs::default() };
        estimate(&costs, gpus::find("h200").unwrap()).seconds
    };
    let drawing = seconds(on_host("aten.normal_", 4 * 28_901_376));
    assert!((0.18..0.24).contains(&drawing), "{drawing}");
    assert!(seconds(on_host("aten.randn", 1 << 30)) > 50.0 * seconds(on_host("aten.add", 1 << 30)));
    let integers = Row { dtype: None, ..on_host("aten.randint", 8 << 20) };
    assert_eq!(seconds(integers), seconds(on_host("aten.randn", 4 << 20)));
}

fn on_host(op: &str, bytes: u64) -> Row {
    Row { kernel: false, device: Some("cpu".into()), ..row(op, "float32", 0, bytes) }
}

#[test]
fn the_host_needs_longest_for_what_is_looked_up_or_hooked() {
    let host =
        |row: Row| estimate(&Costs { rows: vec![row], ..Costs::default() }, gpus::find("h200").unwrap()).host_seconds;
    let view = |op: &str| Row { kernel: false, ..row(op, "float32", 0, 0) };
    assert!(host(row("aten.convolution", "float32", 1, 1)) > host(row("aten.mm", "float32", 1, 1)));
    assert!(host(view("aten.detach")) > host(view("aten.view")));
}

#[test]
fn copies_take_the_link_s_time() {
    let costs = |pinned_bytes, aside_bytes| Costs {
        transfers: Transfers { host_to_device_bytes: 1 << 30, pinned_bytes, aside_bytes, ..Transfers::default() },
        ..Costs::default()
    };
    let on = |costs: Costs, card| estimate(&costs, gpus::find(card).unwrap()).transfer_seconds;
    assert!(on(costs(1 << 30, 0), "h200") < on(costs(0, 0), "h200"));
    assert!(on(costs(1 << 30, 0), "h200") * 3.0 < on(costs(1 << 30, 0), "t4"));
    assert_eq!(on(costs(1 << 30, 1 << 30), "h200"), 0.0);
}

#[test]
fn says_what_it_rests_on() {
    let basis =
        |card: &str, compiled| estimate(&Costs { compiled, ..Costs::default() }, gpus::find(card).unwrap()).basis;
    assert!(basis("h200", false).ends_with("measured on an H200"), "{}", basis("h200", false));
    assert!(basis("t4", true).ends_with("scaled by the data sheet; counted without torch.compile"));
}

#[test]
fn reads_what_the_python_side_writes() {
    let text = r#"{"step":3,"rows":[{"op":"aten.mm","dtype":"bfloat16","flops":8,"bytes":4,"count":2,"kernel":true},
        {"op":"aten.view","dtype":null,"flops":0,"bytes":0,"count":9,"kernel":false},
        {"op":"aten._foreach_add_","dtype":"float32","flops":0,"bytes":9,"count":1,"kernel":true,"launches":3,"tensors":120}],
        "transfers":{"host_to_device_bytes":5,"device_to_host_bytes":6,"pinned_bytes":1,"aside_bytes":0,"copies":2,"syncs":1},
        "tf32":{"matmul":false,"cudnn":true},"compiled":false}"#;
    let costs: Costs = serde_json::from_str(text).unwrap();
    assert_eq!((costs.rows.len(), costs.rows[2].launches, costs.rows[0].tensors), (3, 3, 1));
    assert_eq!((costs.transfers.syncs, costs.tf32.cudnn), (1, true));
}
