//! The machine against pickles that Python wrote, and against what nobody should have written.

use serde_json::{Value, json};

use super::handle::{Handle, Tag};
use super::machine::Machine;
use super::store::{Kind, Store};
use super::{Meaning, Stop};

/// Nothing means anything: all containers stay.
#[derive(Default)]
struct Plain {
    texts: Vec<String>,
}

impl Meaning for Plain {
    fn text(&mut self, text: &[u8]) -> Result<Handle, Stop> {
        self.texts.push(String::from_utf8_lossy(text).into_owned());
        Ok(Handle::new(Tag::Text, (self.texts.len() - 1) as u32))
    }
    fn spelled(&self, text: Handle) -> String {
        text.place_of(Tag::Text).map(|place| self.texts[place as usize].clone()).unwrap_or_default()
    }
    fn dict(&mut self, _: &[Handle], _: &Store) -> Option<Handle> {
        None
    }
    fn list(&mut self, _: &[Handle]) -> Option<Handle> {
        None
    }
    fn items(&self, _: Handle) -> Vec<Handle> {
        Vec::new()
    }
    fn held_bytes(&self) -> u64 {
        0
    }
}

fn machine(bytes: &[u8]) -> Machine<&[u8], Plain> {
    Machine::new(bytes, Plain::default())
}

fn stop(bytes: &[u8]) -> Stop {
    machine(bytes).run(&|_| u64::MAX).expect_err("must stop")
}

/// As `make_pickles.py` writes it: integers as text, dicts as pairs.
fn plain(machine: &Machine<&[u8], Plain>, handle: Handle) -> Value {
    let store = &machine.store;
    if let Some(integer) = store.integer(handle) {
        return json!({ "int": integer.to_string() });
    }
    if let Some((first, second)) = handle.as_pair() {
        return json!([{ "int": first.to_string() }, { "int": second.to_string() }]);
    }
    match store.items(handle) {
        Some((Kind::Dict, items)) => {
            let pair = |pair: &[Handle]| json!([plain(machine, pair[0]), plain(machine, pair[1])]);
            json!({ "dict": items.chunks(2).map(pair).collect::<Vec<_>>() })
        }
        Some((_, items)) => items.iter().map(|&item| plain(machine, item)).collect(),
        None if handle.is(Tag::Text) => machine.meaning.spelled(handle).into(),
        None if handle.is(Tag::Float) => store.number(handle).into(),
        None => handle.as_bool().map_or(Value::Null, Value::Bool),
    }
}

#[test]
fn reads_what_python_wrote() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/pickles");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(stem) = path.to_str().unwrap().strip_suffix(".pickle") else { continue };
        let expected = std::fs::read_to_string(format!("{}.json", &stem[..stem.len() - 2])).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let mut machine = machine(&bytes);
        let root = machine.run(&|_| u64::MAX).unwrap();
        assert!(plain(&machine, root) == serde_json::from_str::<Value>(&expected).unwrap(), "{}", path.display());
        assert_eq!(machine.late_changes, 0);
        read += 1;
    }
    assert_eq!(read, 48, "twelve values in four protocols");
}

#[test]
fn what_would_import_or_call_is_refused_and_named() {
    let cases: &[(&[u8], &str, Option<&str>)] = &[
        (b"\x80\x02cposix\nsystem\nX\x02\0\0\0ls\x85R.", "GLOBAL", Some("posix.system")),
        (b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R.", "STACK_GLOBAL", Some("posix.system")),
        (b"\x80\x02(iposix\nsystem\n.", "INST", Some("posix.system")),
        (b"\x80\x02(No.", "OBJ", None),
        (b"\x80\x02N)R.", "REDUCE", None),
        (b"\x80\x02NNb.", "BUILD", None),
        (b"\x80\x02N)\x81.", "NEWOBJ", None),
        (b"\x80\x04N)}\x92.", "NEWOBJ_EX", None),
        (b"\x80\x02\x82\x01.", "EXT1", None),
        (b"\x80\x02\x83\x01\0.", "EXT2", None),
        (b"\x80\x02\x84\x01\0\0\0.", "EXT4", None),
        (b"\x80\x02Pid\n.", "PERSID", None),
        (b"\x80\x02NQ.", "BINPERSID", None),
        (b"\x80\x05\x97.", "NEXT_BUFFER", None),
        (b"\x80\x05N\x98.", "READONLY_BUFFER", None),
    ];
    for (bytes, name, import) in cases {
        let Stop::Refused { opcode, at, global } = stop(bytes) else { panic!("{name} was not refused") };
        assert_eq!((opcode, global.as_deref()), (*name, *import));
        assert!(at >= 2);
    }
}

#[test]
fn an_import_inside_a_dict_is_refused_too() {
    let bytes = b"\x80\x04}\x94(\x8c\x06action\x94cos\nsystem\nu.";
    assert!(matches!(stop(bytes), Stop::Refused { opcode: "GLOBAL", global: Some(name), .. } if name == "os.system"));
}

#[test]
fn nonsense_is_malformed() {
    let cases: &[&[u8]] = &[
        b"\x80\x09N.",                  // no such protocol
        b"\x80\x02.",                   // nothing to return
        b"\x80\x02a.",                  // nothing to append
        b"\x80\x02]u.",                 // no MARK
        b"\x80\x02](NNNu.",             // items of a dict for a list
        b"\x80\x02}(NNNu.",             // a key without a value
        b"\x80\x02h\x00.",              // nothing was put there
        b"\x80\x02Nr\xff\xff\xff\x7f.", // a memo of 16 GiB
        b"\x80\x02]]r\x05\0\0\0h\x03.", // a hole of the memo
        b"\x80\x02I1\n.",               // protocol 0
        b"\x80\x02\x00.",               // no opcode
        b"\x80\x02(0t.",                // its MARK was popped
        b"\x80\x02((N1t0t.",            // one MARK too few
    ];
    for bytes in cases {
        assert!(matches!(stop(bytes), Stop::Malformed(_)), "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_list_that_holds_itself_ends() {
    // Used before it is complete, which no snapshot does: what comes later is ignored and counted.
    let mut machine = machine(b"\x80\x02]q\x00(K\x07h\x00e.");
    assert_eq!(machine.run(&|_| u64::MAX).unwrap(), Handle::EMPTY);
    assert_eq!(machine.late_changes, 1);
}

#[test]
fn memory_is_watched() {
    let bytes = [&b"\x80\x02"[..], &b"]".repeat(2 << 20)].concat();
    assert!(matches!(machine(&bytes).run(&|_| 8 << 20), Err(Stop::TooMuch)));
}

#[test]
fn every_truncation_ends_or_is_salvaged() {
    let whole = b"\x80\x04}\x94(\x8c\x01a\x94]\x94(K\x01K\x02e\x8c\x01b\x94]\x94]\x94(K\x03K\x04eau.";
    for length in 0..whole.len() {
        let mut machine = machine(&whole[..length]);
        assert!(matches!(machine.run(&|_| u64::MAX), Err(Stop::End)), "{length}");
        let root = machine.salvage();
        assert_eq!(root.is_some(), length > 2, "{length}");
    }
    let mut machine = machine(&whole[..whole.len() - 4]);
    machine.run(&|_| u64::MAX).unwrap_err();
    let root = machine.salvage().unwrap();
    let expected = json!({"dict": [["a", [{"int": "1"}, {"int": "2"}]], ["b", [[{"int": "3"}, {"int": "4"}]]]]});
    assert_eq!(plain(&machine, root), expected);
}
