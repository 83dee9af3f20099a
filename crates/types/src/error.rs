//! The error every user mistake and every refused request becomes.
//!
//! An error carries an SQLSTATE (the five characters that PostgreSQL clients dispatch on), a message that names the
//! thing at fault, optionally a detail, the place in the statement's text, and a hint that says what to do. A broken
//! invariant is not an `Error`: it panics, and the worker's edge turns it into `internal`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A result with a user-facing [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Where in a statement's text a fault lies: 1-based line and column, and the byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// In bytes from the beginning of the text, from 0.
    pub offset: u32,
}

/// The SQLSTATE classes in use. The codes are PostgreSQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlState {
    /// 42601: the text is not in the grammar.
    SyntaxError,
    /// 42P01: no such table or view.
    UndefinedTable,
    /// 42703: no such column.
    UndefinedColumn,
    /// 42883: no such function, or none for these types.
    UndefinedFunction,
    /// 3F000: no such schema.
    UndefinedSchema,
    /// 42704: no such object of another kind.
    UndefinedObject,
    /// 42702: several columns have the name.
    AmbiguousColumn,
    /// 42P07: the table or view is there already.
    DuplicateTable,
    /// 42P06: the schema is there already.
    DuplicateSchema,
    /// 42701: the column is there already, or named twice.
    DuplicateColumn,
    /// 42804: a value of another type is wanted.
    DatatypeMismatch,
    /// 22P02: a text that is no value of the type.
    InvalidTextRepresentation,
    /// 22007: a text that is no date or time.
    InvalidDatetimeFormat,
    /// 22008: a date or time outside of the calendar.
    DatetimeFieldOverflow,
    /// 22003: a number outside of its type.
    NumericValueOutOfRange,
    /// 22012: a division by zero.
    DivisionByZero,
    /// 22023: a value that a parameter, option or setting cannot have.
    InvalidParameterValue,
    /// 2201E: an argument outside of a logarithm's domain.
    InvalidArgument,
    /// 22014: ntile of no positive number.
    InvalidNtileArgument,
    /// 2201B: a pattern that is no regular expression.
    InvalidRegularExpression,
    /// 2201G: bounds or a count that width_bucket cannot use.
    InvalidWidthBucketArgument,
    /// 22004: NULL where a value has to be.
    NullValueNotAllowed,
    /// 22016: nth_value of no positive number.
    InvalidNthValueArgument,
    /// 22013: a frame that ends before it begins, or has a negative offset.
    InvalidFrameSize,
    /// 42P21: texts of two collations meet.
    CollationMismatch,
    /// 42P20: a window function or window in a wrong place.
    WindowingError,
    /// 42P19: a recursive query that is not of the allowed form.
    InvalidRecursion,
    /// 42P02: a parameter without a value.
    UndefinedParameter,
    /// 42723: the function is there already.
    DuplicateFunction,
    /// 42710: the object is there already.
    DuplicateObject,
    /// 42P05: the prepared statement is there already.
    DuplicatePreparedStatement,
    /// 26000: no such prepared statement.
    UndefinedPreparedStatement,
    /// 42809: an object of another kind has the name.
    WrongObjectType,
    /// 3D000: no such database.
    UndefinedDatabase,
    /// 42P04: the database is there already.
    DuplicateDatabase,
    /// A name that this kind of object cannot have.
    InvalidName,
    /// 42P16: columns or keys that a table cannot have.
    InvalidTableDefinition,
    /// 40001: a transaction met another one's changes, and may be tried again.
    SerializationFailure,
    /// 2202H: a share of TABLESAMPLE that is not from 0 to 100.
    InvalidSampleArgument,
    /// 22001: a text longer than its type.
    StringDataRightTruncation,
    /// 22026: a text or bit string of another length than its type.
    StringDataLengthMismatch,
    /// 2202E: a subscript that an array cannot have.
    ArraySubscript,
    /// 21000: more than one row of a subquery, or for one row of a MERGE.
    CardinalityViolation,
    /// 23502: NULL in a column that is NOT NULL.
    NotNullViolation,
    /// 23505: two rows with one key.
    UniqueViolation,
    /// 23503: a row without the row that it refers to, or one that is referred to.
    ForeignKeyViolation,
    /// 23514: a row for which a CHECK is false.
    CheckViolation,
    /// 2BP01: something else depends on the object.
    DependentObjectsStillExist,
    /// 42P17: a definition that uses what it may not.
    InvalidObjectDefinition,
    /// 42803: an aggregate or an ungrouped column in a wrong place.
    GroupingError,
    /// 42P10: a column that may not be used there.
    InvalidColumnReference,
    /// 42830: a foreign key that fits no key.
    InvalidForeignKey,
    /// 42712: a name that stands twice in FROM.
    DuplicateAlias,
    /// 42P09: several tables have the name.
    AmbiguousAlias,
    /// A parameter whose places ask for types that do not go together.
    AmbiguousParameter,
    /// 42846: no cast between the types.
    CannotCoerce,
    /// 0A000: not supported.
    FeatureNotSupported,
    /// The caller lacks a right: a bus client is not registered for the message, or a file of secrets is too open.
    InsufficientPrivilege,
    /// A grant that cannot be made, such as one that would be its own source.
    InvalidGrantOperation,
    /// As many sessions as there may be.
    TooManyConnections,
    /// A name that only the system gives.
    ReservedName,
    /// The object is still in use: an attached database, or a bus client with messages left.
    ObjectInUse,
    /// Nothing was found: a query without rows where one is asked for, or a message without a receiver.
    NoData,
    /// The other end of a connection does not answer.
    ConnectionFailure,
    /// A function of the host program failed.
    ExternalRoutineException,
    /// 53200: the memory limit is reached.
    OutOfMemory,
    /// 53100: no room on the disk.
    DiskFull,
    /// 55P03: a lock was not had in time.
    LockNotAvailable,
    /// 54001: a statement that is nested too deeply or too long.
    StatementTooComplex,
    /// 57014: stopped by the user or by a timeout.
    QueryCanceled,
    /// 58P01: no such file.
    UndefinedFile,
    /// 58030: the machine could not read or write.
    IoError,
    /// XX001: stored bytes are damaged.
    DataCorrupted,
    /// 22P04: a file that is not of its format.
    BadCopyFormat,
    /// Bytes of a client that are no message of the protocol, or a message that does not fit what was said before.
    ProtocolViolation,
    /// Bytes of a client that are no value of the type in its binary form.
    InvalidBinaryRepresentation,
    /// Bytes that are no text in the client's encoding.
    CharacterNotInRepertoire,
    /// A connection that names no user, or one that may not log in.
    InvalidAuthorization,
    /// 28P01: a wrong password.
    InvalidPassword,
    /// 25006: a change in a transaction or database that is read only.
    ReadOnly,
    /// 25001: not inside of a transaction.
    ActiveTransaction,
    /// 25P01: only inside of a transaction.
    NoActiveTransaction,
    /// 25P02: the transaction has failed, and only ROLLBACK helps.
    InFailedTransaction,
    /// 3B001: no such savepoint.
    InvalidSavepoint,
    /// A sequence has no number to give.
    SequenceLimitExceeded,
    /// 55000: the object is not in the state that is needed.
    NotInPrerequisiteState,
    /// A cursor or a portal that is not there.
    UndefinedCursor,
    /// A cursor that is not where it would have to be.
    InvalidCursorState,
    /// 42P03: the cursor is there already.
    DuplicateCursor,
    /// A value given for a column that is GENERATED ALWAYS.
    GeneratedAlways,
    /// A parameter that only shows something, or is fixed when the server starts.
    CantChangeRuntimeParam,
    /// A server's queue is full.
    ConfigurationLimitExceeded,
    /// A server stops.
    AdminShutdown,
    /// What a SQL/JSON path ran into.
    Json(JsonState),
    /// XX000: a broken invariant of the engine.
    Internal,
}

impl SqlState {
    /// The five characters that clients dispatch on, such as `42601`.
    pub fn code(self) -> &'static str {
        match self {
            Self::SyntaxError => "42601",
            Self::UndefinedTable => "42P01",
            Self::UndefinedColumn => "42703",
            Self::UndefinedFunction => "42883",
            Self::UndefinedSchema => "3F000",
            Self::UndefinedDatabase => "3D000",
            Self::DuplicateDatabase => "42P04",
            Self::InvalidName => "42602",
            Self::UndefinedObject => "42704",
            Self::AmbiguousColumn => "42702",
            Self::DuplicateTable => "42P07",
            Self::DuplicateSchema => "42P06",
            Self::DuplicateColumn => "42701",
            Self::DatatypeMismatch => "42804",
            Self::InvalidTextRepresentation => "22P02",
            Self::InvalidDatetimeFormat => "22007",
            Self::DatetimeFieldOverflow => "22008",
            Self::NumericValueOutOfRange => "22003",
            Self::DivisionByZero => "22012",
            Self::InvalidParameterValue => "22023",
            Self::InvalidArgument => "2201E",
            Self::InvalidNtileArgument => "22014",
            Self::InvalidRegularExpression => "2201B",
            Self::InvalidWidthBucketArgument => "2201G",
            Self::NullValueNotAllowed => "22004",
            Self::InvalidNthValueArgument => "22016",
            Self::InvalidFrameSize => "22013",
            Self::CollationMismatch => "42P21",
            Self::WindowingError => "42P20",
            Self::InvalidRecursion => "42P19",
            Self::UndefinedParameter => "42P02",
            Self::DuplicateFunction => "42723",
            Self::DuplicateObject => "42710",
            Self::DuplicatePreparedStatement => "42P05",
            Self::UndefinedPreparedStatement => "26000",
            Self::WrongObjectType => "42809",
            Self::InvalidTableDefinition => "42P16",
            Self::SerializationFailure => "40001",
            Self::InvalidSampleArgument => "2202H",
            Self::StringDataRightTruncation => "22001",
            Self::StringDataLengthMismatch => "22026",
            Self::ArraySubscript => "2202E",
            Self::CardinalityViolation => "21000",
            Self::NotNullViolation => "23502",
            Self::UniqueViolation => "23505",
            Self::ForeignKeyViolation => "23503",
            Self::CheckViolation => "23514",
            Self::DependentObjectsStillExist => "2BP01",
            Self::InvalidObjectDefinition => "42P17",
            Self::GroupingError => "42803",
            Self::InvalidForeignKey => "42830",
            Self::InvalidColumnReference => "42P10",
            Self::DuplicateAlias => "42712",
            Self::AmbiguousAlias => "42P09",
            Self::AmbiguousParameter => "42P08",
            Self::CannotCoerce => "42846",
            Self::FeatureNotSupported => "0A000",
            Self::InsufficientPrivilege => "42501",
            Self::InvalidGrantOperation => "0LP01",
            Self::TooManyConnections => "53300",
            Self::ReservedName => "42939",
            Self::ObjectInUse => "55006",
            Self::NoData => "02000",
            Self::ConnectionFailure => "08006",
            Self::ExternalRoutineException => "38000",
            Self::OutOfMemory => "53200",
            Self::DiskFull => "53100",
            Self::LockNotAvailable => "55P03",
            Self::StatementTooComplex => "54001",
            Self::QueryCanceled => "57014",
            Self::UndefinedFile => "58P01",
            Self::IoError => "58030",
            Self::DataCorrupted => "XX001",
            Self::BadCopyFormat => "22P04",
            Self::InvalidBinaryRepresentation => "22P03",
            Self::CharacterNotInRepertoire => "22021",
            Self::InvalidAuthorization => "28000",
            Self::InvalidPassword => "28P01",
            Self::ReadOnly => "25006",
            Self::ActiveTransaction => "25001",
            Self::NoActiveTransaction => "25P01",
            Self::InFailedTransaction => "25P02",
            Self::InvalidSavepoint => "3B001",
            Self::SequenceLimitExceeded => "2200H",
            Self::NotInPrerequisiteState => "55000",
            Self::UndefinedCursor => "34000",
            Self::InvalidCursorState => "24000",
            Self::DuplicateCursor => "42P03",
            Self::ProtocolViolation => "08P01",
            Self::GeneratedAlways => "428C9",
            Self::CantChangeRuntimeParam => "55P02",
            Self::ConfigurationLimitExceeded => "53400",
            Self::AdminShutdown => "57P01",
            Self::Json(state) => state.code(),
            Self::Internal => "XX000",
        }
    }
}

/// What a SQL/JSON path ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonState {
    /// 22031: a text that is no moment for a jsonpath.
    JsonDatetime,
    /// 22033: a subscript that a jsonpath cannot have.
    JsonSubscript,
    /// 22036: no number where a jsonpath needs one.
    JsonNonNumeric,
    /// 22038: several items, or none, where a jsonpath needs one.
    JsonSingletonRequired,
    /// 22039: no array where a strict jsonpath needs one.
    JsonArrayNotFound,
    /// 2203A: no such key where a strict jsonpath needs it.
    JsonMemberNotFound,
    /// 2203B: no number behind a sign of a jsonpath.
    JsonNumberNotFound,
    /// 2203C: no object where a jsonpath needs one.
    JsonObjectNotFound,
}

impl JsonState {
    fn code(self) -> &'static str {
        match self {
            Self::JsonDatetime => "22031",
            Self::JsonSubscript => "22033",
            Self::JsonNonNumeric => "22036",
            Self::JsonSingletonRequired => "22038",
            Self::JsonArrayNotFound => "22039",
            Self::JsonMemberNotFound => "2203A",
            Self::JsonNumberNotFound => "2203B",
            Self::JsonObjectNotFound => "2203C",
        }
    }
}

/// A user-facing error. Boxed inside so that `Result<T>` stays small.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Parts>);

#[derive(Clone, Debug, PartialEq)]
struct Parts {
    state: SqlState,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    position: Option<Position>,
}

/// Bytes of a message, a detail or a hint at most: they quote values, and a value may have gigabytes.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// The text, or the beginning of one that nobody would read to its end.
fn readable(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES_MAX {
        let all = message.len();
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX / 2));
        message.shrink_to_fit();
        message.push_str(&format!(" ... ({} more bytes)", all - message.len()));
    }
    message
}

impl Error {
    /// An error without detail, hint or position; the `with_` methods and `at` add them.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        let message = readable(message.into());
        Error(Box::new(Parts { state, message, detail: None, hint: None, position: None }))
    }
    /// An error XX000: a broken invariant, or a case that earlier checks exclude.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(SqlState::Internal, message)
    }
    /// An error 0A000: the request is understood, but not implemented.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(SqlState::FeatureNotSupported, message)
    }
    /// The error 22012.
    pub fn division_by_zero() -> Self {
        Self::new(SqlState::DivisionByZero, "division by zero")
    }
    /// Replaces the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = readable(message.into());
        self
    }
    /// Sets the hint, which says what to do about it, and replaces an earlier one.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(readable(hint.into()));
        self
    }
    /// Sets the detail, which adds facts such as the value at fault, and replaces an earlier one.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(readable(detail.into()));
        self
    }
    /// Sets the place in the statement that is at fault.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.0.position = Some(position);
        self
    }
    /// The SQLSTATE, by which code tells errors apart.
    pub fn state(&self) -> SqlState {
        self.0.state
    }
    /// Whether the error depends on the values of a row, so that other rows may not raise it: the standard's class
    /// 22, and errors of the host program's functions.
    pub fn is_of_the_data(&self) -> bool {
        self.state() == SqlState::ExternalRoutineException || self.state().code().starts_with("22")
    }
    /// The message alone, without code, detail and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// Facts beyond the message, if any.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }
    /// What the user can do about it, if known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
    /// The place in the statement that is at fault, if known.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// The error for display over several lines: message, the statement's line with a caret beneath the fault,
    /// detail, hint. `statement` is the text that the position refers to.
    pub fn render(&self, statement: &str) -> String {
        let mut out = format!("ERROR {}: {}", self.state().code(), self.message());
        if let Some(position) = self.position()
            && let Some(line) = statement.lines().nth(position.line.saturating_sub(1) as usize)
        {
            let label = format!("LINE {}: ", position.line);
            // A very long line is shown around the fault only.
            let at = (position.column.saturating_sub(1)) as usize;
            let characters: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let from = at.saturating_sub(60).min(characters.len());
            let to = (at + 40).min(characters.len());
            let (before, after) =
                (if from > 0 { "..." } else { "" }, if to < characters.len() { "..." } else { "" });
            let shown: String = characters[from..to].iter().collect();
            let indent = label.len() + before.len() + (at - from.min(at));
            out.push_str(&format!("\n{label}{before}{shown}{after}\n{:indent$}^", ""));
        }
        if let Some(detail) = self.detail() {
            out.push_str(&format!("\nDETAIL: {detail}"));
        }
        if let Some(hint) = self.hint() {
            out.push_str(&format!("\nHINT: {hint}"));
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {}: {}", self.state().code(), self.message())?;
        if let Some(p) = self.position() {
            write!(f, " (line {}, column {})", p.line, p.column)?;
        }
        if let Some(hint) = self.hint() {
            write!(f, "; hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_quote_long_values_have_their_beginning() {
        let long =
            Error::new(SqlState::InvalidParameterValue, format!("no digits: {}", "\u{e4}".repeat(1 << 20)));
        assert!(long.message().len() < MESSAGE_BYTES_MAX);
        assert!(long.message().starts_with("no digits: \u{e4}"), "{long}");
        assert!(long.message().ends_with("more bytes)"), "{long}");
        let long = long.clone().with_detail("x".repeat(1 << 20)).with_hint("y".repeat(1 << 20));
        assert!(long.detail().is_some_and(|text| text.len() < MESSAGE_BYTES_MAX));
        assert!(long.hint().is_some_and(|text| text.len() < MESSAGE_BYTES_MAX));
        let text = "x".repeat(MESSAGE_BYTES_MAX);
        assert_eq!(Error::internal(text.clone()).message(), text);
    }

    #[test]
    fn caret_stands_under_the_fault() {
        let error = Error::new(SqlState::UndefinedColumn, "column \"b\" does not exist")
            .at(Position { line: 2, column: 8, offset: 9 })
            .with_hint("did you mean \"a\"?");
        let text = error.render("-- x\nselect b from t");
        assert_eq!(
            text,
            "ERROR 42703: column \"b\" does not exist\nLINE 2: select b from t\n               ^\nHINT: did you mean \"a\"?"
        );
    }

    #[test]
    fn a_position_past_the_text_does_not_panic() {
        let error = Error::internal("x").at(Position { line: 1, column: 900, offset: 900 });
        assert!(error.render("select").contains("LINE 1"));
    }
}
