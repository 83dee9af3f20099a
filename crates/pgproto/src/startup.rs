//! The first packets of a connection, which have a length but no type byte.
//!
//! ```text
//!  | length i32 | 80877103 |                              SSLRequest: answered by one byte, S or N
//!  | length i32 | 80877104 |                              GSSENCRequest: answered by G or N
//!  | length i32 | 80877102 | process i32 | key ... |      CancelRequest: nothing is answered
//!  | length i32 | 3 << 16 | minor | name 0 value 0 ... 0 | StartupMessage
//! ```
//! A client may ask for TLS and for GSSAPI, in any order, before its StartupMessage; the server counts these requests,
//! and must refuse bytes that came in clear behind an SSLRequest that it grants ([`Startup::Tls`] says how many bytes
//! its packet has). A packet longer than [`STARTUP_BYTES_MAX`] ends the connection before it is read.

use types::{Error, Result, SqlState};

use crate::reader::{Reader, utf8, violation};

/// Longest first packet, as in PostgreSQL.
pub const STARTUP_BYTES_MAX: usize = 10_000;
/// Newest version of the protocol that is spoken here.
pub const NEWEST: ProtocolVersion = ProtocolVersion { major: 3, minor: 2 };
/// Longest key of a CancelRequest.
pub const CANCEL_KEY_BYTES_MAX: usize = 256;

const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProtocolVersion {
    /// 3 for all that is spoken here.
    pub major: u16,
    /// 0 or 2; a client may ask for any other.
    pub minor: u16,
}

impl ProtocolVersion {
    /// Length of the secret key that BackendKeyData gives: 4 bytes before 3.2, 32 since.
    pub fn cancel_key_bytes(self) -> usize {
        if self.minor >= 2 { 32 } else { 4 }
    }
}

/// A connection's first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Startup<'a> {
    /// SSLRequest.
    Tls,
    /// GSSENCRequest.
    Gss,
    /// CancelRequest: stop what the session of that number and key is doing.
    Cancel {
        /// The number that BackendKeyData gave.
        process: i32,
        /// The key that it gave, to be compared by [`same_key`].
        key: &'a [u8],
    },
    /// StartupMessage.
    Start(StartupMessage),
}

/// What a client says of the session that it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartupMessage {
    /// The version that the client asked for.
    pub requested: ProtocolVersion,
    /// The version to speak: the client's, or ours where it asked for a newer one.
    pub version: ProtocolVersion,
    /// Who logs in; never empty.
    pub user: String,
    /// The database, which is named as the user where the client names none.
    pub database: String,
    /// Settings of the session, in the client's order, those inside `options` first.
    pub settings: Vec<(String, String)>,
    /// `replication`, where the client sent it.
    pub replication: Option<String>,
    /// Options of the protocol (`_pq_.*`), none of which is known: NegotiateProtocolVersion names them.
    pub unknown_options: Vec<String>,
}

impl StartupMessage {
    /// Whether NegotiateProtocolVersion has to be sent before authentication.
    pub fn is_negotiated(&self) -> bool {
        self.requested != self.version || !self.unknown_options.is_empty()
    }
}

/// Whether two keys of cancel requests are the same; how long it takes tells nothing of where they differ.
pub fn same_key(a: &[u8], b: &[u8]) -> bool {
    subtle::ConstantTimeEq::ct_eq(a, b).into()
}

/// Reads the first packet, and how many bytes it has; `None` until it has come whole. An error ends the connection,
/// after an ErrorResponse.
pub fn decode(input: &[u8]) -> Result<Option<(Startup<'_>, usize)>> {
    let Some(head) = input.first_chunk::<4>() else { return Ok(None) };
    let length = usize::try_from(i32::from_be_bytes(*head)).unwrap_or(0);
    if !(8..=STARTUP_BYTES_MAX).contains(&length) {
        return Err(violation("invalid length of startup packet"));
    }
    let Some(packet) = input.get(4..length) else { return Ok(None) };
    let mut body = Reader::new(packet);
    let startup = match body.u32()? {
        TLS if length == 8 => Startup::Tls,
        GSS if length == 8 => Startup::Gss,
        TLS | GSS => return Err(violation("invalid length of startup packet")),
        CANCEL => {
            let process = body.i32()?;
            let key = body.rest();
            if !(4..=CANCEL_KEY_BYTES_MAX).contains(&key.len()) {
                return Err(violation("invalid length of cancel request packet"));
            }
            Startup::Cancel { process, key }
        }
        code => {
            let requested = ProtocolVersion { major: (code >> 16) as u16, minor: code as u16 };
            if requested.major != NEWEST.major {
                return Err(Error::unsupported(format!(
                    "unsupported frontend protocol {}.{}: server supports 3.0 to 3.{}",
                    requested.major, requested.minor, NEWEST.minor
                )));
            }
            Startup::Start(start(requested, body)?)
        }
    };
    Ok(Some((startup, length)))
}

fn start(requested: ProtocolVersion, mut body: Reader<'_>) -> Result<StartupMessage> {
    let mut message = StartupMessage {
        requested,
        version: requested.min(NEWEST),
        user: String::new(),
        database: String::new(),
        settings: Vec::new(),
        replication: None,
        unknown_options: Vec::new(),
    };
    let mut options = Vec::new();
    let mut given = Vec::new();
    loop {
        let name = body.zero_ended().map_err(|_| layout())?;
        if name.is_empty() {
            break;
        }
        let name = utf8(name)?;
        let value = utf8(body.zero_ended().map_err(|_| layout())?)?;
        match name {
            "user" => value.clone_into(&mut message.user),
            "database" => value.clone_into(&mut message.database),
            "replication" => message.replication = Some(value.to_owned()),
            "options" => options = settings_of_options(value)?,
            name if name.starts_with("_pq_.") => message.unknown_options.push(name.to_owned()),
            name => given.push((name.to_owned(), value.to_owned())),
        }
    }
    body.end().map_err(|_| layout())?;
    if message.user.is_empty() {
        return Err(Error::new(
            SqlState::InvalidAuthorization,
            "no PostgreSQL user name specified in startup packet",
        ));
    }
    if message.database.is_empty() {
        message.database.clone_from(&message.user);
    }
    options.append(&mut given);
    message.settings = options;
    Ok(message)
}

fn layout() -> Error {
    violation("invalid startup packet layout: expected terminator as last byte")
}

/// The settings in `options`, the switches of a command line: `-c name=value` and `--name=value`; a backslash takes
/// the next character as it is, and `-` in a name is `_`. Other switches are refused.
fn settings_of_options(text: &str) -> Result<Vec<(String, String)>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            c if c.is_ascii_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(characters.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let mut settings = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let setting = match word.as_str() {
            "-c" => words.next().unwrap_or_default(),
            other => match other.strip_prefix("--").or_else(|| other.strip_prefix("-c")) {
                Some(setting) => setting.to_owned(),
                None => return Err(switch(other)),
            },
        };
        let Some((name, value)) = setting.split_once('=') else { return Err(switch(&word)) };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

fn switch(word: &str) -> Error {
    let shown: String = word.chars().take(80).collect();
    Error::new(SqlState::SyntaxError, format!("invalid command-line argument for server process: {shown}"))
        .with_hint("options are written -c name=value")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(code: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((body.len() + 8) as u32).to_be_bytes().to_vec();
        bytes.extend(code.to_be_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn first_packets_are_told_apart() {
        assert_eq!(decode(&packet(TLS, b"")).unwrap(), Some((Startup::Tls, 8)));
        assert_eq!(decode(&packet(GSS, b"")).unwrap(), Some((Startup::Gss, 8)));
        let cancel = packet(CANCEL, b"\0\0\0\x07secret");
        let (read, length) = decode(&cancel).unwrap().unwrap();
        assert_eq!((read, length), (Startup::Cancel { process: 7, key: b"secret" }, 18));
        assert!(same_key(b"secret", b"secret") && !same_key(b"secret", b"secre") && !same_key(b"a", b"b"));
        for end in 0..cancel.len() {
            assert_eq!(decode(&cancel[..end]).unwrap(), None, "{end} bytes");
        }
        // What follows a packet is not part of it.
        let mut more = packet(TLS, b"");
        more.push(22);
        assert_eq!(decode(&more).unwrap(), Some((Startup::Tls, 8)));
    }

    #[test]
    fn a_start_has_settings_and_a_version() {
        let body =
            b"user\0me\0options\0-c search_path=a\\ b --work-mem=4MB -cx=1\0TimeZone\0UTC\0_pq_.new\x001\0\0";
        let bytes = packet(3 << 16 | 9999, body);
        let Some((Startup::Start(start), _)) = decode(&bytes).unwrap() else { panic!() };
        assert_eq!((start.user.as_str(), start.database.as_str()), ("me", "me"));
        let settings = [("search_path", "a b"), ("work_mem", "4MB"), ("x", "1"), ("TimeZone", "UTC")];
        assert_eq!(start.settings, settings.map(|(n, v)| (n.to_owned(), v.to_owned())));
        assert_eq!((start.version, start.requested.minor), (NEWEST, 9999));
        assert!(start.is_negotiated() && start.unknown_options == ["_pq_.new"]);
        let bytes = packet(3 << 16, b"user\0me\0database\0d\0\0");
        let Some((Startup::Start(start), _)) = decode(&bytes).unwrap() else { panic!() };
        assert_eq!((start.database.as_str(), start.version.minor, start.is_negotiated()), ("d", 0, false));
        assert_eq!(start.version.cancel_key_bytes(), 4);
    }

    #[test]
    fn wrong_packets_are_errors_before_their_bytes_come() {
        let state = |bytes: &[u8]| decode(bytes).unwrap_err().state();
        for length in [0u32, 7, 10_001, u32::MAX, 1 << 31] {
            assert_eq!(state(&length.to_be_bytes()), SqlState::ProtocolViolation);
        }
        assert_eq!(state(&packet(2 << 16, b"\0")), SqlState::FeatureNotSupported);
        assert_eq!(state(&packet(3 << 16, b"\0")), SqlState::InvalidAuthorization);
        for body in [&b"user\0me\0"[..], b"user\0me", b"user\0", b"user\0me\0\0x", b""] {
            assert_eq!(state(&packet(3 << 16, body)), SqlState::ProtocolViolation, "{body:?}");
        }
        assert_eq!(state(&packet(3 << 16, b"user\0\xff\0\0")), SqlState::CharacterNotInRepertoire);
        assert_eq!(state(&packet(3 << 16, b"user\0me\0options\0-F\0\0")), SqlState::SyntaxError);
        assert_eq!(state(&packet(TLS, b"x")), SqlState::ProtocolViolation);
        assert_eq!(state(&packet(CANCEL, b"\0\0\0\x01key")), SqlState::ProtocolViolation);
    }
}
