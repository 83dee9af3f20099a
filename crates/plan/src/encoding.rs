//! Plans as bytes that another process reads.
//!
//! ```text
//!  magic     8 bytes   "QSPLAN" CR LF, so that a transfer as text shows
//!  version   2 bytes   little endian; any other than VERSION is refused
//!  content   the rest  MessagePack: an array of the document's kind and the document itself
//! ```
//! Structures are arrays of their fields, variants go by their names. What a document says more than once and what has an
//! identity is numbered within it: nested types (`types::written`), volatile calls, and functions of the host program
//! (`shared`). Equal plans have equal bytes.
//!
//! **Foreign bytes are not trusted.** They are walked once without recursion (`walk`): lengths lie within the input, so
//! that nothing is allocated for what is not there, nothing follows the content, and nesting is bounded. It says how
//! large a stack reading needs. What was read is then validated ([`Document::validate`]) before anyone sees it.

mod shared;
mod walk;

pub(crate) use shared::{called, external};

use serde::Serialize;
use serde::de::DeserializeOwned;
use types::{Error, Result, SqlState, stop};

/// The version of the format. Any change of what a document is made of is another version.
pub const VERSION: u16 = 3;

const MAGIC: [u8; 8] = *b"QSPLAN\r\n";
const HEADER_BYTES: usize = MAGIC.len() + 2;

/// Deepest nesting of MessagePack's arrays and maps. A node or an expression is three to five of them: this is some
/// thousands of each.
const DEPTH_MAX: usize = 30_000;
/// Nesting that the smallest stack we may be called on surely has room for.
const DEPTH_IN_PLACE: usize = 48;
const STACK_BYTES_BASE: usize = 4 << 20;
/// Code without optimisation was seen to take 6 KiB.
const STACK_BYTES_PER_LEVEL: usize = 24 << 10;
/// How deep a document is shows only once it is written.
const WRITING_STACK_BYTES: usize = 512 << 20;

/// What can be a document of its own.
pub trait Document: Serialize + DeserializeOwned + Send + Sync {
    /// The name that bytes of this kind begin with; no two kinds have the same.
    const KIND: &'static str;

    /// Whether the document can be trusted to be what planning makes: an error says what is wrong with it.
    fn validate(&self) -> Result<()>;
}

/// The bytes of a document.
///
/// # Errors
/// Documents that are nested too deeply, or have more of something than can be read again, are refused.
pub fn encode<T: Document>(document: &T) -> Result<Vec<u8>> {
    let write = || {
        let mut bytes = Vec::with_capacity(1024);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        let mut serializer = rmp_serde::Serializer::new(&mut bytes);
        shared::within_document(|| (T::KIND, document).serialize(&mut serializer)).map_err(|error| {
            Error::new(SqlState::StatementTooComplex, format!("the plan cannot be encoded: {error}"))
        })?;
        Ok(bytes)
    };
    let bytes = on_stack(WRITING_STACK_BYTES, write)?;
    walk::depth(&bytes[HEADER_BYTES..], DEPTH_MAX)?;
    Ok(bytes)
}

/// The document of the bytes, if they are one of this kind, whole, and valid. Functions of the host program in it have
/// no body yet (`ExternalFunction::body`).
///
/// # Errors
/// Anything else is refused with what is wrong; nothing panics.
pub fn decode<T: Document>(bytes: &[u8]) -> Result<T> {
    let Some(content) = bytes.strip_prefix(&MAGIC) else { return Err(refused("they do not begin as one")) };
    let Some((version, content)) = content.split_first_chunk::<2>() else {
        return Err(refused("they end early"));
    };
    let version = u16::from_le_bytes(*version);
    if version != VERSION {
        return Err(refused(&format!("its format has version {version}, and this program reads {VERSION}"))
            .with_hint("use the same release on both sides"));
    }
    let depth = walk::depth(content, DEPTH_MAX)?;
    let read = || {
        let mut deserializer = rmp_serde::Deserializer::from_read_ref(content);
        deserializer.set_max_depth(DEPTH_MAX);
        let (kind, document): (Kind<T>, T) =
            shared::within_document(|| serde::Deserialize::deserialize(&mut deserializer))
                .map_err(|error| refused(&error.to_string()))?;
        let Kind(_) = kind;
        document.validate()?;
        Ok(document)
    };
    if depth <= DEPTH_IN_PLACE {
        read()
    } else {
        on_stack(STACK_BYTES_BASE + depth * STACK_BYTES_PER_LEVEL, read)
    }
}

/// The name of the document's kind, read before the document.
struct Kind<T>(std::marker::PhantomData<T>);

impl<'de, T: Document> serde::Deserialize<'de> for Kind<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let kind = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        if kind == T::KIND {
            return Ok(Kind(std::marker::PhantomData));
        }
        let shown: String = kind.chars().take(40).collect();
        Err(serde::de::Error::custom(format!("they are a {shown:?}, not a {:?}", T::KIND)))
    }
}

/// The error of bytes that are no document.
pub(crate) fn refused(cause: &str) -> Error {
    Error::new(SqlState::DataCorrupted, format!("these bytes are no plan: {cause}"))
}

fn on_stack<T: Send>(bytes: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    // Reserved address space; only the pages that are touched cost memory.
    stop::on_stack("plan", bytes, work).unwrap_or_else(|_| {
        Err(Error::new(SqlState::OutOfMemory, "no memory for the stack that a deep plan needs"))
    })
}
