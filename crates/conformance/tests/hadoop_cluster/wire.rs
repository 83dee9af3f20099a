//! As much of Protocol Buffers as the cluster speaks: https://protobuf.dev/programming-guides/encoding.

/// A message being written.
#[derive(Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
    pub fn number(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field << 3));
        self.varint(value);
        self
    }
    pub fn bytes(mut self, field: u32, value: &[u8]) -> Message {
        self.varint(u64::from(field << 3 | 2));
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }
    pub fn message(self, field: u32, value: Message) -> Message {
        self.bytes(field, &value.0)
    }
    pub fn fixed64(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field << 3 | 1));
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    pub fn fixed32(mut self, field: u32, value: u32) -> Message {
        self.varint(u64::from(field << 3 | 5));
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    /// With its length in front.
    pub fn delimited(self) -> Vec<u8> {
        let mut out = Message::default();
        out.varint(self.0.len() as u64);
        out.0.extend(self.0);
        out.0
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A message with its length in front, taken off the bytes.
pub fn delimited<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = varint(bytes)? as usize;
    let (message, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(message)
}

/// A field's value.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The first field of a message with that number.
pub fn field(mut message: &[u8], wanted: u32) -> Option<Value<'_>> {
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut message)?),
            2 => Value::Bytes(delimited(&mut message)?),
            kind => {
                let (value, rest) = message.split_at_checked(if kind == 1 { 8 } else { 4 })?;
                message = rest;
                Value::Bytes(value)
            }
        };
        if tag >> 3 == u64::from(wanted) {
            return Some(value);
        }
    }
    None
}

pub fn number(message: &[u8], wanted: u32) -> u64 {
    match field(message, wanted) {
        Some(Value::Number(value)) => value,
        _ => 0,
    }
}

pub fn bytes(message: &[u8], wanted: u32) -> &[u8] {
    match field(message, wanted) {
        Some(Value::Bytes(value)) => value,
        _ => &[],
    }
}

pub fn text(message: &[u8], wanted: u32) -> String {
    String::from_utf8_lossy(bytes(message, wanted)).into_owned()
}

/// CRC-32C of a chunk, by its definition.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}
