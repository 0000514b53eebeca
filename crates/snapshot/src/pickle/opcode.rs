//! The opcodes of pickle. (`Lib/pickletools.py` in CPython has their meaning.)

pub const PROTO: u8 = 0x80;
pub const FRAME: u8 = 0x95;
pub const STOP: u8 = b'.';

pub const MARK: u8 = b'(';
pub const POP: u8 = b'0';
pub const POP_MARK: u8 = b'1';
pub const DUP: u8 = b'2';

pub const NONE: u8 = b'N';
pub const NEWTRUE: u8 = 0x88;
pub const NEWFALSE: u8 = 0x89;
pub const BININT: u8 = b'J';
pub const BININT1: u8 = b'K';
pub const BININT2: u8 = b'M';
pub const LONG1: u8 = 0x8a;
pub const LONG4: u8 = 0x8b;
pub const BINFLOAT: u8 = b'G';

pub const SHORT_BINUNICODE: u8 = 0x8c;
pub const BINUNICODE: u8 = b'X';
pub const BINUNICODE8: u8 = 0x8d;
pub const SHORT_BINSTRING: u8 = b'U';
pub const BINSTRING: u8 = b'T';
pub const SHORT_BINBYTES: u8 = b'C';
pub const BINBYTES: u8 = b'B';
pub const BINBYTES8: u8 = 0x8e;
pub const BYTEARRAY8: u8 = 0x96;

pub const EMPTY_LIST: u8 = b']';
pub const APPEND: u8 = b'a';
pub const APPENDS: u8 = b'e';
pub const LIST: u8 = b'l';
pub const EMPTY_TUPLE: u8 = b')';
pub const TUPLE: u8 = b't';
pub const TUPLE1: u8 = 0x85;
pub const TUPLE2: u8 = 0x86;
pub const TUPLE3: u8 = 0x87;
pub const EMPTY_DICT: u8 = b'}';
pub const DICT: u8 = b'd';
pub const SETITEM: u8 = b's';
pub const SETITEMS: u8 = b'u';
pub const EMPTY_SET: u8 = 0x8f;
pub const ADDITEMS: u8 = 0x90;
pub const FROZENSET: u8 = 0x91;

pub const BINPUT: u8 = b'q';
pub const LONG_BINPUT: u8 = b'r';
pub const MEMOIZE: u8 = 0x94;
pub const BINGET: u8 = b'h';
pub const LONG_BINGET: u8 = b'j';

pub const GLOBAL: u8 = b'c';
pub const INST: u8 = b'i';
pub const STACK_GLOBAL: u8 = 0x93;

/// After this opcode the dict before it gets no more items: it is used, or what comes is no key.
#[inline]
pub fn ends_dict(next: u8) -> bool {
    matches!(next, EMPTY_DICT | EMPTY_LIST | APPENDS | APPEND | SETITEMS | SETITEM | TUPLE1 | TUPLE2 | TUPLE3 | STOP)
}

/// The name of an opcode that imports, calls or asks the program that reads it.
pub fn refused(opcode: u8) -> Option<&'static str> {
    Some(match opcode {
        GLOBAL => "GLOBAL",
        INST => "INST",
        STACK_GLOBAL => "STACK_GLOBAL",
        b'o' => "OBJ",
        b'R' => "REDUCE",
        b'b' => "BUILD",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        0x82 => "EXT1",
        0x83 => "EXT2",
        0x84 => "EXT4",
        b'P' => "PERSID",
        b'Q' => "BINPERSID",
        0x97 => "NEXT_BUFFER",
        0x98 => "READONLY_BUFFER",
        _ => return None,
    })
}

/// The name of an opcode that only the text protocols 0 and 1 write.
pub fn text_protocol(opcode: u8) -> Option<&'static str> {
    Some(match opcode {
        b'I' => "INT",
        b'L' => "LONG",
        b'F' => "FLOAT",
        b'S' => "STRING",
        b'V' => "UNICODE",
        b'g' => "GET",
        b'p' => "PUT",
        _ => return None,
    })
}
