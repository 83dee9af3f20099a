//! SQL/JSON paths, as PostgreSQL's `jsonpath` has them: which parts of a JSONB value a path leads to.
//!
//! A path is read once (`parse`) into a tree and evaluated over values (`evaluate`). It is lax, where structure that is
//! missing is no error and arrays are opened as accessors need it, or strict, where both are errors. A predicate is
//! true, false or unknown; an error inside of one makes it unknown. The rules are those of ISO/IEC 9075-2:2016, 9.39,
//! as PostgreSQL 15 reads them (`src/backend/utils/adt/jsonpath_exec.c`). What differs: the ids of `keyvalue()` number
//! the objects of a value in their order, zeros at the end of numbers are not kept (JSONB here has none), and templates
//! of `datetime()` are refused.
//!
//! ```text
//!  text --lex--> tokens --parse--> JsonPath { strict, Node } --evaluate over Tree--> items --> JSONB
//! ```

mod evaluate;
mod lex;
mod moment;
mod number;
mod parse;
mod print;

use types::jsonb::Tree;
use types::{Error, Result, SqlState};

use crate::regular::Flags;

/// Levels of a path's tree, steps included; each is a level of the stack.
const DEPTH_MAX: usize = 300;

/// A path that was read.
#[derive(Debug, PartialEq)]
pub(crate) struct JsonPath {
    /// Missing structure is an error.
    strict: bool,
    root: Node,
}

/// What gives items.
#[derive(Debug, PartialEq)]
enum Node {
    /// A number, text, truth value or null.
    Literal(Tree),
    /// `$name`.
    Variable(String),
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`: the place of an array's last element.
    Last,
    Sign {
        minus: bool,
        operand: Box<Node>,
    },
    Arithmetic {
        operator: Arithmetic,
        left: Box<Node>,
        right: Box<Node>,
    },
    /// A predicate as a value: true, false, or null where it is unknown.
    Predicate(Box<Predicate>),
    /// What steps lead to.
    Path {
        start: Box<Node>,
        steps: Vec<Step>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

/// One step from an item to others.
#[derive(Debug, PartialEq)]
enum Step {
    /// `.key`
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[1, 2 to last]`
    Elements(Vec<(Node, Option<Node>)>),
    /// `.**{first to last}`: values at these depths; `None` is the depth of the leaves.
    Deep {
        first: Option<u32>,
        last: Option<u32>,
    },
    /// `?(predicate)`
    Filter(Predicate),
    Method(Method),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Type,
    Size,
    Double,
    Ceiling,
    Floor,
    Abs,
    KeyValue,
    Datetime,
}

const METHODS: [(&str, Method); 8] = [
    ("type", Method::Type),
    ("size", Method::Size),
    ("double", Method::Double),
    ("ceiling", Method::Ceiling),
    ("floor", Method::Floor),
    ("abs", Method::Abs),
    ("keyvalue", Method::KeyValue),
    ("datetime", Method::Datetime),
];

impl Method {
    fn name(self) -> &'static str {
        METHODS.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

#[derive(Debug, PartialEq)]
enum Predicate {
    And(Box<Predicate>, Box<Predicate>),
    Or(Box<Predicate>, Box<Predicate>),
    Not(Box<Predicate>),
    IsUnknown(Box<Predicate>),
    Compare { comparison: Comparison, left: Node, right: Node },
    StartsWith { whole: Node, start: Node },
    LikeRegex { text: Node, pattern: String, letters: String, flags: Flags },
    Exists(Node),
}

impl JsonPath {
    /// Reads a path. One that is malformed, nested deeper than 300 levels, or has a clause that is not done, is an error.
    pub fn read(text: &str) -> Result<JsonPath> {
        parse::read(text)
    }

    /// What the path leads to in `value`. `variables` is an object with the values of `$name`.
    pub fn query(&self, value: &Tree, variables: &Tree, how: How) -> Result<Vec<Tree>> {
        evaluate::query(self, value, variables, how)
    }

    /// Whether the path leads to anything; `None` where that is an error that `how` silences.
    pub fn exists(&self, value: &Tree, variables: &Tree, how: How) -> Result<Option<bool>> {
        evaluate::exists(self, value, variables, how)
    }

    /// The truth value that the path, a predicate, gives; `None` for unknown and for errors that `how` silences.
    pub fn matches(&self, value: &Tree, variables: &Tree, how: How) -> Result<Option<bool>> {
        evaluate::matches(self, value, variables, how)
    }
}

/// How a path is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// Errors of structure and of values are no errors.
    pub silent: bool,
    /// The zone in which moments without one are compared with those that have one; an error without.
    pub zone: Option<types::Zone>,
}

/// Whether a text is a path: an error where it is not.
pub fn check(text: &str) -> Result<()> {
    JsonPath::read(text).map(|_| ())
}

fn too_deep() -> Error {
    Error::new(
        SqlState::StatementTooComplex,
        format!("a jsonpath has at most {DEPTH_MAX} levels of steps and operators"),
    )
}

#[cfg(test)]
mod tests;
