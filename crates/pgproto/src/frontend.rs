//! Every message that a client sends after its StartupMessage, read from the bytes that have come.
//!
//! ```text
//!  | type u8 | length i32, itself included | body |
//! ```
//! [`Decoder::next`] is called with what has come and not been taken yet, and says how many bytes it took. A message
//! borrows its strings and values from these bytes. Two kinds of errors are told apart: a length out of bounds or a
//! type that does not exist leaves no place to go on from, and ends the connection; a body that does not fit its
//! length, or text that is no UTF-8, is an error of that message alone ([`Decoded::Malformed`]).
//!
//! Limits hold before the body has come: [`Limits::BEFORE_AUTHENTICATION`] until the client is known, then what the
//! server sets. Nothing is reserved for a length that is announced. CopyData alone is handed on in pieces as it comes,
//! so that a stream needs no memory for whole messages.

use types::{Error, Result, SqlState};

use crate::format::{Format, Formats};
use crate::reader::{Reader, violation};

/// Longest message of those that hold neither statements nor values.
const SMALL_BYTES_MAX: usize = 10_000;

/// A message's type and length.
const HEAD_BYTES: usize = 5;

/// How long messages may be, their length's bytes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Query, Parse, Bind and FunctionCall. Other messages are limited to 10,000 bytes, too; CopyData comes in pieces
    /// and has no limit of its own.
    pub message_bytes_max: usize,
}

impl Limits {
    /// Until the client is known: 10,000 bytes, and no CopyData.
    pub const BEFORE_AUTHENTICATION: Limits = Limits { message_bytes_max: SMALL_BYTES_MAX };
    /// What a server may set afterwards unless it has a reason: 256 MB.
    pub const AFTER_AUTHENTICATION: Limits = Limits { message_bytes_max: 256 << 20 };
}

/// Whether Describe and Close mean a prepared statement or a portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// Parse: a statement to prepare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parse<'a> {
    /// The prepared statement's name; empty for the unnamed one.
    pub statement: &'a str,
    /// The text, which holds at most one statement.
    pub query: &'a str,
    /// Types of the first parameters; 0 leaves one to the server.
    pub parameter_types: Vec<u32>,
}

/// Bind: a prepared statement with values, as a portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind<'a> {
    /// The portal's name; empty for the unnamed one.
    pub portal: &'a str,
    /// The prepared statement's name.
    pub statement: &'a str,
    /// The values' formats.
    pub parameter_formats: Formats,
    /// The values; `None` is NULL.
    pub parameters: Vec<Option<&'a [u8]>>,
    /// The formats in which the result is wanted.
    pub result_formats: Formats,
}

impl Bind<'_> {
    /// The format of each parameter; error 08P01 when there are neither none, nor one, nor as many as values.
    pub fn formats(&self) -> Result<Vec<Format>> {
        self.parameter_formats.resolve(self.parameters.len()).ok_or_else(|| {
            violation(format!(
                "bind message has {} parameter formats but {} parameters",
                self.parameter_formats.0.len(),
                self.parameters.len()
            ))
        })
    }
}

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frontend<'a> {
    /// A PasswordMessage, SASLInitialResponse, SASLResponse or GSSResponse: the state of the authentication says
    /// which ([`password`], [`sasl_initial_response`]; a SASLResponse is all of the bytes).
    Password(&'a [u8]),
    /// A text of any number of statements.
    Query(&'a str),
    /// Prepares a statement.
    Parse(Parse<'a>),
    /// Makes a portal of a prepared statement and values.
    Bind(Bind<'a>),
    /// Asks what a statement or portal of that name takes and gives.
    Describe(Target, &'a str),
    /// A portal's name and the most rows that are wanted; 0 for all.
    Execute(&'a str, u32),
    /// Forgets a statement or portal of that name.
    Close(Target, &'a str),
    /// Asks for the answers so far.
    Flush,
    /// Ends an implicit transaction, and errors.
    Sync,
    /// A piece of a COPY's stream: of a CopyData message that has not come whole, what has come.
    CopyData(&'a [u8]),
    /// The end of a COPY's stream.
    CopyDone,
    /// The client gives up its COPY, for this reason.
    CopyFail(&'a str),
    /// The function call of old drivers, which servers here refuse with 0A000.
    FunctionCall,
    /// The client goes.
    Terminate,
}

/// What the next bytes are.
#[derive(Clone, Debug, PartialEq)]
pub enum Decoded<'a> {
    /// More bytes have to come; none were taken.
    Incomplete,
    /// A message, and how many bytes were taken for it.
    Message(Frontend<'a>, usize),
    /// A message whose body is no such message, and how many bytes were taken; the stream goes on behind it. The
    /// type byte says whether it belongs to the extended protocol, where all up to Sync is skipped.
    Malformed(Error, u8, usize),
}

/// What the next bytes are, before anybody looks into a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framed<'a> {
    /// More bytes have to come; none were taken.
    Incomplete,
    /// A message's type, and all of its bytes, type and length included.
    Message(u8, &'a [u8]),
    /// A piece of a COPY's stream, and how many bytes were taken for it.
    CopyData(&'a [u8], usize),
}

/// Takes messages from a stream of bytes. The only state beside the limits is how much of a CopyData is still to come.
#[derive(Clone, Debug)]
pub struct Decoder {
    limits: Limits,
    copy_data: bool,
    copy_left: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder for a client that is not known yet.
    pub fn new() -> Self {
        Decoder { limits: Limits::BEFORE_AUTHENTICATION, copy_data: false, copy_left: 0 }
    }
    /// Sets the limits for a client that is known; CopyData is taken from then on.
    pub fn authenticated(&mut self, limits: Limits) {
        self.limits = limits;
        self.copy_data = true;
    }
    /// Whether the last CopyData has not come to its end.
    pub fn is_inside_copy_data(&self) -> bool {
        self.copy_left > 0
    }

    /// The next message of `input`, which begins with the first byte that was not taken. An error ends the connection.
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Result<Decoded<'a>> {
        Ok(match self.frame(input)? {
            Framed::Incomplete => Decoded::Incomplete,
            Framed::CopyData(piece, taken) => Decoded::Message(Frontend::CopyData(piece), taken),
            Framed::Message(kind, bytes) => match decode(bytes) {
                Ok(message) => Decoded::Message(message, bytes.len()),
                Err(error) => Decoded::Malformed(error, kind, bytes.len()),
            },
        })
    }

    /// As `next`, and what is in a message is not looked at: whoever handles it does that ([`decode`]).
    pub fn frame<'a>(&mut self, input: &'a [u8]) -> Result<Framed<'a>> {
        if self.copy_left > 0 {
            if input.is_empty() {
                return Ok(Framed::Incomplete);
            }
            let piece = &input[..input.len().min(self.copy_left)];
            self.copy_left -= piece.len();
            return Ok(Framed::CopyData(piece, piece.len()));
        }
        let Some((kind, rest)) = input.split_first() else { return Ok(Framed::Incomplete) };
        let limit = self.limit(*kind)?;
        let Some(head) = rest.first_chunk::<4>() else { return Ok(Framed::Incomplete) };
        let length = usize::try_from(i32::from_be_bytes(*head)).unwrap_or(0);
        if !(4..=limit).contains(&length) {
            return Err(violation("invalid message length").with_detail(format!(
                "a message of type \"{}\" has at most {limit} bytes",
                char::from(*kind).escape_default()
            )));
        }
        let taken = length + 1;
        if *kind == b'd' {
            let body = &input[HEAD_BYTES..input.len().min(taken)];
            self.copy_left = length - 4 - body.len();
            return Ok(Framed::CopyData(body, HEAD_BYTES + body.len()));
        }
        Ok(input.get(..taken).map_or(Framed::Incomplete, |bytes| Framed::Message(*kind, bytes)))
    }

    fn limit(&self, kind: u8) -> Result<usize> {
        match kind {
            b'Q' | b'P' | b'B' | b'F' => Ok(self.limits.message_bytes_max),
            b'd' if self.copy_data => Ok(i32::MAX as usize),
            b'p' | b'D' | b'E' | b'C' | b'H' | b'S' | b'c' | b'f' | b'X' => {
                Ok(self.limits.message_bytes_max.min(SMALL_BYTES_MAX))
            }
            other => Err(violation(format!("invalid frontend message type {other}"))),
        }
    }
}

/// The message of a frame, which is none of CopyData; an error is one of this message alone.
pub fn decode(frame: &[u8]) -> Result<Frontend<'_>> {
    match frame.split_at_checked(HEAD_BYTES) {
        Some((head, body)) => message(head[0], Reader::new(body)),
        None => Err(violation("invalid message")),
    }
}

fn message<'a>(kind: u8, mut body: Reader<'a>) -> Result<Frontend<'a>> {
    let message = match kind {
        b'p' => Frontend::Password(body.rest()),
        b'Q' => Frontend::Query(body.string()?),
        b'P' => Frontend::Parse(parse(&mut body)?),
        b'B' => Frontend::Bind(bind(&mut body)?),
        b'D' => {
            let target = target(&mut body, "DESCRIBE")?;
            Frontend::Describe(target, body.string()?)
        }
        b'C' => {
            let target = target(&mut body, "CLOSE")?;
            Frontend::Close(target, body.string()?)
        }
        b'E' => {
            let portal = body.string()?;
            // PostgreSQL takes a negative number for all rows.
            Frontend::Execute(portal, u32::try_from(body.i32()?).unwrap_or(0))
        }
        b'H' => Frontend::Flush,
        b'S' => Frontend::Sync,
        b'c' => Frontend::CopyDone,
        b'f' => Frontend::CopyFail(body.string()?),
        b'F' => {
            body.rest();
            Frontend::FunctionCall
        }
        _ => Frontend::Terminate,
    };
    body.end()?;
    Ok(message)
}

fn target(body: &mut Reader<'_>, what: &str) -> Result<Target> {
    match body.u8()? {
        b'S' => Ok(Target::Statement),
        b'P' => Ok(Target::Portal),
        other => Err(violation(format!("invalid {what} message subtype {other}"))),
    }
}

fn parse<'a>(body: &mut Reader<'a>) -> Result<Parse<'a>> {
    let (statement, query) = (body.string()?, body.string()?);
    let count = body.count()?;
    // A type has four bytes, so that a count is never believed beyond what has come.
    let mut types = Vec::with_capacity(count.min(body.left() / 4));
    for _ in 0..count {
        types.push(body.u32()?);
    }
    Ok(Parse { statement, query, parameter_types: types })
}

fn formats(body: &mut Reader<'_>) -> Result<Formats> {
    let count = body.count()?;
    let mut formats = Vec::with_capacity(count.min(body.left() / 2));
    for _ in 0..count {
        formats.push(Format::of_code(body.i16()?)?);
    }
    Ok(Formats(formats))
}

fn bind<'a>(body: &mut Reader<'a>) -> Result<Bind<'a>> {
    let (portal, statement) = (body.string()?, body.string()?);
    let parameter_formats = formats(body)?;
    let count = body.count()?;
    let mut parameters = Vec::with_capacity(count.min(body.left() / 4));
    for _ in 0..count {
        parameters.push(body.value()?);
    }
    Ok(Bind { portal, statement, parameter_formats, parameters, result_formats: formats(body)? })
}

/// The password of a PasswordMessage's body.
pub fn password(body: &[u8]) -> Result<&str> {
    let mut body = Reader::new(body);
    let password = body.string()?;
    body.end()?;
    Ok(password)
}

/// The mechanism that a SASLInitialResponse's body names, and the client's first message, if it has one.
pub fn sasl_initial_response(body: &[u8]) -> Result<(&str, Option<&[u8]>)> {
    let mut body = Reader::new(body);
    let mechanism = body.string()?;
    let first = body.value()?;
    body.end()?;
    Ok((mechanism, first))
}

/// The error 0A000 with which a FunctionCall is answered.
pub fn function_call_refused() -> Error {
    Error::new(SqlState::FeatureNotSupported, "function calls by message are not supported")
        .with_hint("call the function in a SELECT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend(((body.len() + 4) as u32).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    fn known() -> Decoder {
        let mut decoder = Decoder::new();
        decoder.authenticated(Limits::AFTER_AUTHENTICATION);
        decoder
    }

    /// The message of a type and a body, which no part of its bytes may give.
    #[track_caller]
    fn read<'a>(bytes: &'a [u8]) -> Frontend<'a> {
        for end in 0..bytes.len() {
            assert_eq!(known().next(&bytes[..end]).unwrap(), Decoded::Incomplete, "{end} bytes");
        }
        match known().next(bytes).unwrap() {
            Decoded::Message(message, taken) if taken == bytes.len() => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_message_is_read() {
        assert_eq!(read(&framed(b'Q', b"select 1\0")), Frontend::Query("select 1"));
        let parse = framed(b'P', b"s\0select $1\0\0\x02\0\0\0\x17\0\0\0\0");
        let Frontend::Parse(parse) = read(&parse) else { panic!() };
        let wanted = Parse { statement: "s", query: "select $1", parameter_types: vec![23, 0] };
        assert_eq!(parse, wanted);
        let bind = framed(b'B', b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x02\0\0\0\x01");
        let Frontend::Bind(bind) = read(&bind) else { panic!() };
        assert_eq!((bind.portal, bind.statement), ("p", "s"));
        assert_eq!(bind.parameters, [Some(&b"x"[..]), None]);
        assert_eq!(bind.formats().unwrap(), [Format::Binary, Format::Binary]);
        assert_eq!(bind.result_formats.of_results(2).unwrap(), [Format::Text, Format::Binary]);
        assert_eq!(bind.result_formats.of_results(3).unwrap_err().state(), SqlState::ProtocolViolation);
        assert_eq!(read(&framed(b'D', b"Sx\0")), Frontend::Describe(Target::Statement, "x"));
        assert_eq!(read(&framed(b'C', b"P\0")), Frontend::Close(Target::Portal, ""));
        assert_eq!(read(&framed(b'E', b"p\0\0\0\0\x05")), Frontend::Execute("p", 5));
        assert_eq!(read(&framed(b'E', b"p\0\xff\xff\xff\xff")), Frontend::Execute("p", 0));
        assert_eq!(read(&framed(b'H', b"")), Frontend::Flush);
        assert_eq!(read(&framed(b'S', b"")), Frontend::Sync);
        assert_eq!(read(&framed(b'c', b"")), Frontend::CopyDone);
        assert_eq!(read(&framed(b'f', b"why\0")), Frontend::CopyFail("why"));
        assert_eq!(read(&framed(b'F', b"\0\0\0\x01")), Frontend::FunctionCall);
        assert_eq!(read(&framed(b'X', b"")), Frontend::Terminate);
        let first = framed(b'p', b"SCRAM-SHA-256\0\0\0\0\x02n,");
        let Frontend::Password(first) = read(&first) else { panic!() };
        assert_eq!(sasl_initial_response(first).unwrap(), ("SCRAM-SHA-256", Some(&b"n,"[..])));
        assert_eq!(password(b"secret\0").unwrap(), "secret");
        assert!(password(b"secret\0x").is_err() && password(b"secret").is_err());
    }

    #[test]
    fn copy_data_comes_in_pieces() {
        let mut bytes = framed(b'd', b"abcdef");
        bytes.extend(framed(b'c', b""));
        let mut decoder = known();
        assert_eq!(decoder.next(&bytes[..3]).unwrap(), Decoded::Incomplete);
        let first = decoder.next(&bytes[..7]).unwrap();
        assert_eq!(first, Decoded::Message(Frontend::CopyData(b"ab"), 7));
        assert!(decoder.is_inside_copy_data());
        assert_eq!(decoder.next(b"").unwrap(), Decoded::Incomplete);
        let second = decoder.next(&bytes[7..]).unwrap();
        assert_eq!(second, Decoded::Message(Frontend::CopyData(b"cdef"), 4));
        assert_eq!(decoder.next(&bytes[11..]).unwrap(), Decoded::Message(Frontend::CopyDone, 5));
        // Without its body, an empty one is a message all the same.
        assert_eq!(known().next(&framed(b'd', b"")).unwrap(), Decoded::Message(Frontend::CopyData(b""), 5));
    }

    #[test]
    fn limits_hold_before_bytes_come() {
        let long = |kind: u8, length: u32| [&[kind][..], &length.to_be_bytes()].concat();
        let mut unknown = Decoder::new();
        for head in [long(b'Q', 10_001), long(b'p', 1 << 30), long(b'Q', 3), long(b'Q', u32::MAX)] {
            assert_eq!(unknown.next(&head).unwrap_err().state(), SqlState::ProtocolViolation);
        }
        assert!(unknown.next(&long(b'd', 10)).is_err());
        assert!(unknown.next(b"\x16").is_err());
        assert_eq!(unknown.next(&long(b'Q', 10_000)).unwrap(), Decoded::Incomplete);
        assert!(known().next(&long(b'Q', (256 << 20) + 1)).is_err());
        assert_eq!(known().next(&long(b'Q', 256 << 20)).unwrap(), Decoded::Incomplete);
        assert!(known().next(&long(b'D', 10_001)).is_err());
    }

    #[test]
    fn a_wrong_body_is_an_error_of_its_message() {
        for (kind, body) in [
            (b'Q', &b"select"[..]),
            (b'Q', b"a\0b\0"),
            (b'Q', b"\xff\0"),
            (b'P', b"\0\0\xff\xff\0\0\0\x17"),
            (b'B', b"\0\0\0\0\xff\xff"),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"),
            (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0"),
            (b'B', b"\0\0\0\x01\0\x02\0\0\0\0"),
            (b'D', b"X\0"),
            (b'S', b"x"),
            (b'E', b"p\0\0"),
        ] {
            let bytes = framed(kind, body);
            match known().next(&bytes).unwrap() {
                Decoded::Malformed(error, found, taken) => {
                    assert_eq!((found, taken), (kind, bytes.len()));
                    let states = [SqlState::ProtocolViolation, SqlState::CharacterNotInRepertoire];
                    assert!(states.contains(&error.state()), "{error}");
                }
                other => panic!("{body:?}: {other:?}"),
            }
        }
    }
}
