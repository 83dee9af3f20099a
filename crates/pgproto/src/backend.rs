//! Every message that a server sends, appended to one growing buffer.
//!
//! A server appends the answers of a Query, or of all messages up to a Sync or Flush, and sends the buffer once. Rows
//! are appended by [`rows`](crate::rows) and may be sent before they are all there. A message is whole when its method
//! returns; its length is filled in at its end.
//!
//! Strings end with a zero byte in this protocol, and text of ours may hold one: it is sent as U+FFFD.

use types::{Error, Field, Result, SqlState};

use crate::format::Format;
use crate::oid::{self, TypeOids};
use crate::startup::StartupMessage;

/// How grave an ErrorResponse or NoticeResponse is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The statement failed; the session goes on.
    Error,
    /// The connection ends.
    Fatal,
    /// All connections end.
    Panic,
    /// WARNING.
    Warning,
    /// NOTICE.
    Notice,
    /// DEBUG.
    Debug,
    /// INFO.
    Info,
    /// LOG.
    Log,
}

impl Severity {
    /// The word in the fields S and V, which are not translated.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Panic => "PANIC",
            Severity::Warning => "WARNING",
            Severity::Notice => "NOTICE",
            Severity::Debug => "DEBUG",
            Severity::Info => "INFO",
            Severity::Log => "LOG",
        }
    }
}

/// What ReadyForQuery says of the session's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No transaction: `I`.
    Idle,
    /// In a transaction: `T`.
    InTransaction,
    /// In a transaction that has failed: `E`.
    Failed,
}

/// A request or result of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// The client is let in.
    Ok,
    /// Kerberos V5 is asked for.
    KerberosV5,
    /// The password as it is is asked for.
    CleartextPassword,
    /// The password's MD5 with this salt is asked for.
    Md5Password([u8; 4]),
    /// GSSAPI is asked for.
    Gss,
    /// Bytes of GSSAPI or SSPI to go on with.
    GssContinue(&'a [u8]),
    /// SSPI is asked for.
    Sspi,
    /// The mechanisms that the server offers, the preferred one first.
    Sasl(&'a [&'a str]),
    /// The challenge of a SASL mechanism.
    SaslContinue(&'a [u8]),
    /// The outcome of a SASL mechanism.
    SaslFinal(&'a [u8]),
}

/// One column of a RowDescription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDescription<'a> {
    /// As the result names it.
    pub name: &'a str,
    /// The table that it is a column of, by its OID in the catalog; 0 for expressions.
    pub table: u32,
    /// Its place in the table, from 1; 0 for expressions.
    pub column: i16,
    /// The type's OID.
    pub type_oid: u32,
    /// Bytes of a value in PostgreSQL's memory; -1 where it varies.
    pub type_length: i16,
    /// The type's parameters, as PostgreSQL packs them; -1 for none.
    pub type_modifier: i32,
    /// The format of the values; text where it is not known yet, as in Describe of a statement.
    pub format: Format,
}

impl<'a> ColumnDescription<'a> {
    /// The description of a result's column that is no table's.
    pub fn of_field(field: &'a Field, format: Format, oids: &dyn TypeOids) -> Self {
        let described = oid::describe(field.ty, oids);
        ColumnDescription {
            name: &field.name,
            table: 0,
            column: 0,
            type_oid: described.oid,
            type_length: described.length,
            type_modifier: described.modifier,
            format,
        }
    }
}

/// Messages that wait to be sent.
#[derive(Debug, Default)]
pub struct MessageBuffer {
    bytes: Vec<u8>,
}

impl MessageBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }
    /// What is to be sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// How many bytes wait.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// Forgets what was sent and keeps the memory, up to `kept` bytes of it.
    pub fn clear(&mut self, kept: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(kept);
    }
    /// Drops what was appended behind the first `len` bytes, which must end with a message: for an answer that is
    /// taken back before it was sent.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }
    /// The waiting bytes, for a writer that owns what it sends; the buffer is empty afterwards.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
    /// Goes on in memory that an earlier answer was in. The buffer is empty.
    pub fn put_room(&mut self, room: Vec<u8>) {
        if self.bytes.is_empty() && self.bytes.capacity() < room.capacity() {
            self.bytes = room;
            self.bytes.clear();
        }
    }
    pub(crate) fn raw(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// A message of this type; `body` appends what follows its length.
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut Self)) {
        self.bytes.push(kind);
        let begin = self.bytes.len();
        self.bytes.extend([0; 4]);
        body(self);
        // Bodies other than rows are names and messages, which are far below four gigabytes.
        let length = (self.bytes.len() - begin) as u32;
        self.bytes[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }
    fn empty(&mut self, kind: u8) {
        self.bytes.extend([kind, 0, 0, 0, 4]);
    }
    fn string(&mut self, text: &str) {
        let mut parts = text.split('\0');
        self.bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
        for part in parts {
            self.bytes.extend_from_slice("\u{FFFD}".as_bytes());
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.bytes.push(0);
    }
    fn i16(&mut self, value: i16) {
        self.bytes.extend(value.to_be_bytes());
    }
    fn i32(&mut self, value: i32) {
        self.bytes.extend(value.to_be_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_be_bytes());
    }

    /// Appends AuthenticationOk or a request of authentication.
    pub fn authentication(&mut self, what: Authentication<'_>) {
        self.message(b'R', |out| match what {
            Authentication::Ok => out.i32(0),
            Authentication::KerberosV5 => out.i32(2),
            Authentication::CleartextPassword => out.i32(3),
            Authentication::Md5Password(salt) => {
                out.i32(5);
                out.bytes.extend(salt);
            }
            Authentication::Gss => out.i32(7),
            Authentication::GssContinue(data) => {
                out.i32(8);
                out.bytes.extend_from_slice(data);
            }
            Authentication::Sspi => out.i32(9),
            Authentication::Sasl(mechanisms) => {
                out.i32(10);
                for mechanism in mechanisms {
                    out.string(mechanism);
                }
                out.bytes.push(0);
            }
            Authentication::SaslContinue(data) => {
                out.i32(11);
                out.bytes.extend_from_slice(data);
            }
            Authentication::SaslFinal(data) => {
                out.i32(12);
                out.bytes.extend_from_slice(data);
            }
        });
    }
    /// Appends NegotiateProtocolVersion where the client asked for more than is spoken here, else nothing.
    pub fn negotiate_protocol_version(&mut self, start: &StartupMessage) {
        if !start.is_negotiated() {
            return;
        }
        self.message(b'v', |out| {
            out.u32(u32::from(start.version.major) << 16 | u32::from(start.version.minor));
            out.u32(start.unknown_options.len() as u32);
            for option in &start.unknown_options {
                out.string(option);
            }
        });
    }
    /// Appends BackendKeyData: what a CancelRequest for this session has to name. The key has
    /// [`cancel_key_bytes`](crate::startup::ProtocolVersion::cancel_key_bytes).
    pub fn backend_key_data(&mut self, process: i32, key: &[u8]) {
        self.message(b'K', |out| {
            out.i32(process);
            out.bytes.extend_from_slice(key);
        });
    }
    /// Appends ParameterStatus: a setting's value that clients keep track of.
    pub fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |out| {
            out.string(name);
            out.string(value);
        });
    }
    /// Appends ReadyForQuery.
    pub fn ready_for_query(&mut self, status: TransactionStatus) {
        let status = match status {
            TransactionStatus::Idle => b'I',
            TransactionStatus::InTransaction => b'T',
            TransactionStatus::Failed => b'E',
        };
        self.bytes.extend([b'Z', 0, 0, 0, 5, status]);
    }
    /// Appends RowDescription; error 54001 for more columns than the message can count.
    pub fn row_description(&mut self, columns: &[ColumnDescription<'_>]) -> Result<()> {
        let count = column_count(columns.len())?;
        self.message(b'T', |out| {
            out.i16(count);
            for column in columns {
                out.string(column.name);
                out.u32(column.table);
                out.i16(column.column);
                out.u32(column.type_oid);
                out.i16(column.type_length);
                out.i32(column.type_modifier);
                out.i16(column.format.code());
            }
        });
        Ok(())
    }
    /// Appends whole messages that were made before, as [`MessageBuffer::bytes`] gave them.
    pub fn append(&mut self, messages: &[u8]) {
        self.bytes.extend_from_slice(messages);
    }
    /// Appends ParameterDescription: the types of a prepared statement's parameters.
    pub fn parameter_description(&mut self, types: &[u32]) -> Result<()> {
        let count = u16::try_from(types.len()).map_err(|_| {
            Error::new(SqlState::StatementTooComplex, "a statement has at most 65535 parameters")
        })?;
        self.message(b't', |out| {
            out.bytes.extend(count.to_be_bytes());
            types.iter().for_each(|oid| out.u32(*oid));
        });
        Ok(())
    }
    /// Appends NoData: the statement or portal gives no rows.
    pub fn no_data(&mut self) {
        self.empty(b'n');
    }
    /// Appends ParseComplete.
    pub fn parse_complete(&mut self) {
        self.empty(b'1');
    }
    /// Appends BindComplete.
    pub fn bind_complete(&mut self) {
        self.empty(b'2');
    }
    /// Appends CloseComplete.
    pub fn close_complete(&mut self) {
        self.empty(b'3');
    }
    /// Appends PortalSuspended: Execute gave as many rows as it was asked for, and the portal stays.
    pub fn portal_suspended(&mut self) {
        self.empty(b's');
    }
    /// Appends EmptyQueryResponse: the text held no statement.
    pub fn empty_query_response(&mut self) {
        self.empty(b'I');
    }
    /// Appends CommandComplete with its tag, such as `SELECT 5` or `INSERT 0 1`.
    pub fn command_complete(&mut self, tag: &str) {
        self.message(b'C', |out| out.string(tag));
    }
    /// Appends ErrorResponse, or NoticeResponse for a severity below ERROR. `statement` is the text that the client
    /// sent: the error's place is counted in its characters.
    pub fn report(&mut self, severity: Severity, error: &Error, statement: &str) {
        let kind = match severity {
            Severity::Error | Severity::Fatal | Severity::Panic => b'E',
            _ => b'N',
        };
        self.message(kind, |out| {
            let mut field = |kind: u8, text: &str| {
                out.bytes.push(kind);
                out.string(text);
            };
            field(b'S', severity.word());
            field(b'V', severity.word());
            field(b'C', error.state().code());
            field(b'M', error.message());
            if let Some(detail) = error.detail() {
                field(b'D', detail);
            }
            if let Some(hint) = error.hint() {
                field(b'H', hint);
            }
            if let Some(position) = error.position() {
                field(b'P', &character(statement, position.offset as usize).to_string());
            }
            out.bytes.push(0);
        });
    }
    /// Appends a NoticeResponse of a code that is no error's, such as `00000` for a NOTICE or `01000` for a WARNING.
    pub fn notice(&mut self, severity: Severity, code: &str, message: &str, hint: Option<&str>) {
        self.message(b'N', |out| {
            let fields = [(b'S', severity.word()), (b'V', severity.word()), (b'C', code), (b'M', message)];
            for (kind, text) in fields.into_iter().chain(hint.map(|hint| (b'H', hint))) {
                out.bytes.push(kind);
                out.string(text);
            }
            out.bytes.push(0);
        });
    }
    /// Appends CopyInResponse: the server waits for CopyData of that format.
    pub fn copy_in_response(&mut self, format: Format, columns: usize) -> Result<()> {
        self.copy_response(b'G', format, columns)
    }
    /// Appends CopyOutResponse: CopyData of that format follows.
    pub fn copy_out_response(&mut self, format: Format, columns: usize) -> Result<()> {
        self.copy_response(b'H', format, columns)
    }
    /// Appends CopyBothResponse, which only streaming replication uses.
    pub fn copy_both_response(&mut self, format: Format, columns: usize) -> Result<()> {
        self.copy_response(b'W', format, columns)
    }
    fn copy_response(&mut self, kind: u8, format: Format, columns: usize) -> Result<()> {
        let count = column_count(columns)?;
        self.message(kind, |out| {
            out.bytes.push(format.code() as u8);
            out.i16(count);
            (0..columns).for_each(|_| out.i16(format.code()));
        });
        Ok(())
    }
    /// Appends CopyData.
    pub fn copy_data(&mut self, data: &[u8]) {
        self.message(b'd', |out| out.bytes.extend_from_slice(data));
    }
    /// Appends CopyDone.
    pub fn copy_done(&mut self) {
        self.empty(b'c');
    }
}

/// A number of columns as messages count them.
pub(crate) fn column_count(columns: usize) -> Result<i16> {
    i16::try_from(columns).map_err(|_| {
        Error::new(
            SqlState::StatementTooComplex,
            format!("a result of {columns} columns cannot be sent: the protocol counts to {}", i16::MAX),
        )
    })
}

/// The character of a text, from 1, that begins at a byte or holds it.
fn character(text: &str, offset: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < offset).count() + 1
}

#[cfg(test)]
mod tests {
    use types::Position;

    use super::*;

    fn written(write: impl FnOnce(&mut MessageBuffer)) -> Vec<u8> {
        let mut out = MessageBuffer::new();
        write(&mut out);
        out.take()
    }

    #[test]
    fn messages_have_their_bytes() {
        assert_eq!(written(|out| out.authentication(Authentication::Ok)), b"R\0\0\0\x08\0\0\0\0");
        assert_eq!(
            written(|out| out.authentication(Authentication::Sasl(&["SCRAM-SHA-256"]))),
            b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0"
        );
        assert_eq!(written(|out| out.ready_for_query(TransactionStatus::Failed)), b"Z\0\0\0\x05E");
        assert_eq!(written(|out| out.command_complete("SELECT 1")), b"C\0\0\0\x0dSELECT 1\0");
        assert_eq!(written(|out| out.parameter_status("a", "b")), b"S\0\0\0\x08a\0b\0");
        assert_eq!(written(|out| out.backend_key_data(1, b"key!")), b"K\0\0\0\x0c\0\0\0\x01key!");
        assert_eq!(written(MessageBuffer::parse_complete), b"1\0\0\0\x04");
        assert_eq!(written(|out| out.parameter_description(&[23]).unwrap()), b"t\0\0\0\x0a\0\x01\0\0\0\x17");
        assert_eq!(
            written(|out| out.copy_out_response(Format::Binary, 2).unwrap()),
            b"H\0\0\0\x0b\x01\0\x02\0\x01\0\x01"
        );
        assert_eq!(written(|out| out.copy_data(b"ab")), b"d\0\0\0\x06ab");
        let column = ColumnDescription {
            name: "a\0b",
            table: 0,
            column: 0,
            type_oid: 23,
            type_length: 4,
            type_modifier: -1,
            format: Format::Text,
        };
        assert_eq!(
            written(|out| out.row_description(&[column]).unwrap()),
            b"T\0\0\0\x1e\0\x01a\xef\xbf\xbdb\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0"
        );
        assert!(MessageBuffer::new().copy_in_response(Format::Text, 40_000).is_err());
    }

    #[test]
    fn errors_have_all_their_fields() {
        let error = Error::new(SqlState::UndefinedColumn, "no such column")
            .with_detail("why")
            .with_hint("do")
            .at(Position { line: 1, column: 9, offset: 9 });
        // The character at byte 9 is the ninth: one before it has two bytes.
        let bytes = written(|out| out.report(Severity::Error, &error, "select ä x"));
        assert_eq!(&bytes[5..], b"SERROR\0VERROR\0C42703\0Mno such column\0Dwhy\0Hdo\0P9\0\0");
        assert_eq!((bytes[0], bytes[4] as usize), (b'E', bytes.len() - 1));
        let notice = written(|out| out.notice(Severity::Notice, "00000", "m", None));
        assert_eq!(notice, b"N\0\0\0\x1fSNOTICE\0VNOTICE\0C00000\0Mm\0\0");
        assert_eq!((character("aä", 99), character("", 0)), (3, 1));
    }
}
