//! A small pickler, so that tests can write what PyTorch of any version would.

use std::collections::HashMap;
use std::rc::Rc;

#[derive(Debug, Clone)]
pub enum Value {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    /// One object in several places.
    Shared(Rc<Value>),
}

pub fn dict<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    Value::Dict(pairs.into_iter().map(|(key, value)| (Value::from(key), value)).collect())
}

pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::List(items.into_iter().collect())
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<i128> for Value {
    fn from(number: i128) -> Value {
        Value::Int(number)
    }
}

/// Writes protocol 2 as C++ does (memo only where it must, after the value), or 3 to 5 as Python does.
pub fn pickle(value: &Value, protocol: u8) -> Vec<u8> {
    let mut writer =
        Writer { bytes: vec![0x80, protocol], protocol, memo: HashMap::new(), next: 0, texts: HashMap::new() };
    writer.write(value);
    writer.bytes.push(b'.');
    writer.bytes
}

struct Writer {
    bytes: Vec<u8>,
    protocol: u8,
    memo: HashMap<*const Value, u32>,
    texts: HashMap<String, u32>,
    next: u32,
}

impl Writer {
    fn write(&mut self, value: &Value) {
        match value {
            Value::None => self.bytes.push(b'N'),
            Value::Bool(yes) => self.bytes.push(if *yes { 0x88 } else { 0x89 }),
            Value::Int(number) => self.int(*number),
            Value::Float(number) => {
                self.bytes.push(b'G');
                self.bytes.extend(number.to_be_bytes());
            }
            Value::Text(text) => self.text(text),
            Value::List(items) => self.list(items),
            Value::Dict(pairs) => self.dict(pairs),
            Value::Tuple(items) => self.tuple(items),
            Value::Shared(shared) => self.shared(shared),
        }
    }

    fn int(&mut self, number: i128) {
        match number {
            0..=0xff => self.bytes.extend([b'K', number as u8]),
            0x100..=0xffff => {
                self.bytes.push(b'M');
                self.bytes.extend((number as u16).to_le_bytes());
            }
            _ if i32::try_from(number).is_ok() => {
                self.bytes.push(b'J');
                self.bytes.extend((number as i32).to_le_bytes());
            }
            _ => {
                let bytes = number.to_le_bytes();
                let length = (1..=16).find(|&n| number << (128 - 8 * n) >> (128 - 8 * n) == number).unwrap_or(16);
                self.bytes.extend([0x8a, length as u8]);
                self.bytes.extend(&bytes[..length as usize]);
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(&place) = self.texts.get(text) {
            return self.get(place);
        }
        if self.protocol >= 4 && text.len() < 256 {
            self.bytes.extend([0x8c, text.len() as u8]);
        } else {
            self.bytes.push(b'X');
            self.bytes.extend((text.len() as u32).to_le_bytes());
        }
        self.bytes.extend(text.as_bytes());
        let place = self.put();
        self.texts.insert(text.to_owned(), place);
    }

    fn list(&mut self, items: &[Value]) {
        self.bytes.push(b']');
        self.put_early();
        if let ([item], true) = (items, self.protocol > 2) {
            self.write(item);
            return self.bytes.push(b'a');
        }
        for batch in items.chunks(1000) {
            self.bytes.push(b'(');
            batch.iter().for_each(|item| self.write(item));
            self.bytes.push(b'e');
        }
    }

    fn dict(&mut self, pairs: &[(Value, Value)]) {
        self.bytes.push(b'}');
        self.put_early();
        if let ([(key, value)], true) = (pairs, self.protocol > 2) {
            self.write(key);
            self.write(value);
            return self.bytes.push(b's');
        }
        for batch in pairs.chunks(1000) {
            self.bytes.push(b'(');
            for (key, value) in batch {
                self.write(key);
                self.write(value);
            }
            self.bytes.push(b'u');
        }
    }

    fn tuple(&mut self, items: &[Value]) {
        if !(1..=3).contains(&items.len()) {
            self.bytes.push(b'(');
        }
        items.iter().for_each(|item| self.write(item));
        self.bytes.push(match items.len() {
            1 => 0x85,
            2 => 0x86,
            3 => 0x87,
            _ => b't',
        });
        self.put_early();
    }

    fn shared(&mut self, shared: &Rc<Value>) {
        let pointer = Rc::as_ptr(shared);
        if let Some(&place) = self.memo.get(&pointer) {
            return self.get(place);
        }
        // Python puts a container right after its first opcode, C++ when it is complete.
        let early = self.next;
        self.write(shared);
        let place = if self.protocol > 2 { early } else { self.put() };
        self.memo.insert(pointer, place);
    }

    fn put_early(&mut self) {
        if self.protocol > 2 {
            self.put();
        }
    }

    fn put(&mut self) -> u32 {
        let place = self.next;
        self.next += 1;
        match (self.protocol, u8::try_from(place)) {
            (4.., _) => self.bytes.push(0x94),
            (_, Ok(place)) => self.bytes.extend([b'q', place]),
            _ => {
                self.bytes.push(b'r');
                self.bytes.extend(place.to_le_bytes());
            }
        }
        place
    }

    fn get(&mut self, place: u32) {
        match u8::try_from(place) {
            Ok(place) => self.bytes.extend([b'h', place]),
            Err(_) => {
                self.bytes.push(b'j');
                self.bytes.extend(place.to_le_bytes());
            }
        }
    }
}
