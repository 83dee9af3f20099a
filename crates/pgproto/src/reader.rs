//! Reading numbers and strings from the body of one message. Every call checks what is left, so that a body that ends
//! early is an error 08P01, never a panic.

use types::{Error, Result, SqlState};

/// A place in the bytes of one message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

/// The error of a message whose parts do not fit its length.
pub(crate) fn violation(message: impl Into<String>) -> Error {
    Error::new(SqlState::ProtocolViolation, message)
}

/// The text of bytes that a client sent; error 22021 for anything but UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|wrong| {
        let from = wrong.valid_up_to();
        let length = wrong.error_len().unwrap_or(bytes.len() - from).min(4);
        let shown: Vec<String> =
            bytes[from..from + length].iter().map(|byte| format!("0x{byte:02x}")).collect();
        Error::new(
            SqlState::CharacterNotInRepertoire,
            format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
        )
    })
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Reader { rest: body }
    }
    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }
    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(violation("insufficient data left in message")),
        }
    }
    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N)?);
        Ok(out)
    }
    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }
    pub(crate) fn i16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }
    /// A count of two bytes. PostgreSQL's counts go to 65,535.
    pub(crate) fn count(&mut self) -> Result<usize> {
        self.array().map(|bytes| usize::from(u16::from_be_bytes(bytes)))
    }
    pub(crate) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }
    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }
    pub(crate) fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }
    /// The bytes up to the next zero byte, which is taken too.
    pub(crate) fn zero_ended(&mut self) -> Result<&'a [u8]> {
        let Some(end) = memchr::memchr(0, self.rest) else {
            return Err(violation("invalid string in message"));
        };
        let (taken, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        Ok(taken)
    }
    /// A zero-ended string in UTF-8.
    pub(crate) fn string(&mut self) -> Result<&'a str> {
        utf8(self.zero_ended()?)
    }
    /// A value behind its length; `None` for the length -1, which is NULL.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>> {
        match self.i32()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.bytes(length).map(Some),
                Err(_) => Err(violation("invalid message format")),
            },
        }
    }
    /// Checks that the message has been read to its end.
    pub(crate) fn end(&self) -> Result<()> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(violation("invalid message format")),
        }
    }
}
