//! What can go wrong for a program on global memory, as values with SQLSTATE and hint.
//!
//! The first error of any task on any node is the program's; other nodes get its text. Faults of the links keep their own
//! type. Made all over the crate, given out by `Runtime::run` and by what allocates.

use std::fmt;

use memory::BudgetExceeded;
use multiplexer::NetworkError;

/// Why a program ended, or why something was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GlobalError {
    /// The budget has no room for what was asked.
    NoMemory {
        /// Bytes that were asked for.
        wanted: u64,
        /// Bytes in use.
        used: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// An index beyond an array's end.
    OutOfRange {
        /// The index.
        index: u64,
        /// Elements of the array.
        length: u64,
    },
    /// A setting or an argument that makes no sense.
    Argument {
        /// Which one.
        what: &'static str,
        /// What was given.
        given: String,
    },
    /// A link or a node was lost.
    Network(NetworkError),
    /// Another node runs another build, or registered other handlers.
    OtherBuild {
        /// The node.
        node: u16,
        /// Its hash.
        theirs: u64,
        /// The hash of this process.
        ours: u64,
    },
    /// A task panicked.
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// The program was cancelled.
    Cancelled,
    /// Another node of the program ended with an error.
    OtherNode {
        /// The node.
        node: u16,
        /// Its error, as text.
        message: String,
    },
    /// Bytes from another node that mean nothing.
    Malformed {
        /// What was being read.
        what: &'static str,
    },
    /// A message that fits into no buffer of the transport.
    TooLarge {
        /// Bytes of the message.
        bytes: usize,
        /// The most that fit.
        limit: usize,
    },
    /// The root waits for something that nothing can bring about any more.
    Stuck,
}

impl GlobalError {
    /// The SQLSTATE of the condition.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            GlobalError::NoMemory { .. } => "53200",
            GlobalError::OutOfRange { .. } | GlobalError::Argument { .. } => "22023",
            GlobalError::Network(error) => error.sqlstate(),
            GlobalError::OtherBuild { .. } => "F0000",
            GlobalError::Panicked { .. } | GlobalError::Stuck => "XX000",
            GlobalError::Cancelled => "57014",
            GlobalError::OtherNode { .. } => "58000",
            GlobalError::Malformed { .. } => "08P01",
            GlobalError::TooLarge { .. } => "54000",
        }
    }

    /// What can be done about it.
    pub fn hint(&self) -> &'static str {
        match self {
            GlobalError::NoMemory { .. } => {
                "Raise the memory limit, or drop arrays that are not needed any more."
            }
            GlobalError::OutOfRange { .. } => "Indices begin at 0 and end before the array's length.",
            GlobalError::Argument { .. } => "The documentation of the setting names its range.",
            GlobalError::Network(error) => error.hint(),
            GlobalError::OtherBuild { .. } => {
                "Start the same program file on all nodes; handlers are known by their number in it."
            }
            GlobalError::Panicked { .. } => {
                "The message is the panic's; the program's other tasks were dropped."
            }
            GlobalError::Cancelled => "The program was asked to end, or its time was up.",
            GlobalError::OtherNode { .. } => "See the log of that node.",
            GlobalError::Malformed { .. } => "Only nodes of one build belong to a program.",
            GlobalError::TooLarge { .. } => "Send the value in parts, or give the transport larger messages.",
            GlobalError::Stuck => {
                "Every task that was enrolled has to be completed; a future has to be woken."
            }
        }
    }
}

impl fmt::Display for GlobalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GlobalError::NoMemory { wanted, used, limit } => {
                write!(f, "no room for {wanted} bytes: {used} of {limit} are in use")
            }
            GlobalError::OutOfRange { index, length } => {
                write!(f, "index {index} is beyond an array of {length} elements")
            }
            GlobalError::Argument { what, given } => write!(f, "{what} cannot be {given}"),
            GlobalError::Network(error) => error.fmt(f),
            GlobalError::OtherBuild { node, theirs, ours } => {
                write!(f, "node {node} runs build {theirs:016x}, this node runs {ours:016x}")
            }
            GlobalError::Panicked { message } => write!(f, "a task panicked: {message}"),
            GlobalError::Cancelled => f.write_str("the program was cancelled"),
            GlobalError::OtherNode { node, message } => write!(f, "node {node} ended the program: {message}"),
            GlobalError::Malformed { what } => write!(f, "{what} from another node cannot be read"),
            GlobalError::TooLarge { bytes, limit } => {
                write!(f, "a message of {bytes} bytes does not fit into a buffer of {limit}")
            }
            GlobalError::Stuck => f.write_str("the program waits for what nobody will do"),
        }
    }
}

impl std::error::Error for GlobalError {}

impl From<BudgetExceeded> for GlobalError {
    fn from(error: BudgetExceeded) -> Self {
        GlobalError::NoMemory { wanted: error.wanted, used: error.used, limit: error.limit }
    }
}

impl From<NetworkError> for GlobalError {
    fn from(error: NetworkError) -> Self {
        GlobalError::Network(error)
    }
}
