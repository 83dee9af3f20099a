//! A path as PostgreSQL prints it: keys in quotes, brackets where operators need them, `lax` left out.
//!
//! What is printed reads as the same path, which a test holds for random ones. Each side of an operator has brackets
//! where it binds no tighter than the operator (`priority`), and so has an operator that is all of a path. Casts to
//! JSONPATH call it, through `Display`.

use std::fmt::{self, Display, Formatter, Write};

use types::jsonb::Tree;

use super::{Arithmetic, JsonPath, Node, Predicate, Step};

impl Display for JsonPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.strict { "strict " } else { "" })?;
        node(&self.root, true, f)
    }
}

fn text(value: &str) -> String {
    Tree::Text(value.to_owned()).shown()
}

/// How tightly a node binds.
fn priority(node: &Node) -> u8 {
    match node {
        Node::Predicate(inner) => match **inner {
            Predicate::Or(..) => 0,
            Predicate::And(..) => 1,
            Predicate::Compare { .. } | Predicate::StartsWith { .. } => 2,
            _ => 6,
        },
        Node::Arithmetic { operator: Arithmetic::Add | Arithmetic::Subtract, .. } => 3,
        Node::Arithmetic { .. } => 4,
        Node::Sign { .. } => 5,
        _ => 6,
    }
}

fn within(inner: &Node, outer: u8, f: &mut Formatter<'_>) -> fmt::Result {
    node(inner, priority(inner) <= outer, f)
}

fn node(of: &Node, bracketed: bool, f: &mut Formatter<'_>) -> fmt::Result {
    let (open, close) = if bracketed { ("(", ")") } else { ("", "") };
    match of {
        Node::Literal(value) => f.write_str(&value.shown()),
        Node::Variable(name) => write!(f, "${}", text(name)),
        Node::Root => f.write_char('$'),
        Node::Current => f.write_char('@'),
        Node::Last => f.write_str("last"),
        Node::Sign { minus, operand } => {
            f.write_str(open)?;
            f.write_char(if *minus { '-' } else { '+' })?;
            within(operand, 5, f)?;
            f.write_str(close)
        }
        Node::Arithmetic { operator, left, right } => {
            f.write_str(open)?;
            within(left, priority(of), f)?;
            write!(f, " {} ", operator.symbol())?;
            within(right, priority(of), f)?;
            f.write_str(close)
        }
        Node::Predicate(inner) => predicate(inner, bracketed, f),
        Node::Path { start, steps } => {
            // A number before a point would become another one.
            let number = matches!(&**start, Node::Literal(Tree::Number(_)));
            match number {
                true => {
                    f.write_char('(')?;
                    node(start, false, f)?;
                    f.write_char(')')?;
                }
                false => node(start, priority(start) < 6, f)?,
            }
            steps.iter().try_for_each(|s| step(s, f))
        }
    }
}

fn step(of: &Step, f: &mut Formatter<'_>) -> fmt::Result {
    match of {
        Step::Key(key) => write!(f, ".{}", text(key)),
        Step::AnyKey => f.write_str(".*"),
        Step::AnyElement => f.write_str("[*]"),
        Step::Elements(places) => {
            f.write_char('[')?;
            for (at, (first, last)) in places.iter().enumerate() {
                f.write_str(if at > 0 { "," } else { "" })?;
                node(first, false, f)?;
                if let Some(last) = last {
                    f.write_str(" to ")?;
                    node(last, false, f)?;
                }
            }
            f.write_char(']')
        }
        Step::Deep { first: Some(0), last: None } => f.write_str(".**"),
        Step::Deep { first, last } => {
            let level = |level: &Option<u32>| level.map_or("last".to_owned(), |level| level.to_string());
            match first == last {
                true => write!(f, ".**{{{}}}", level(first)),
                false => write!(f, ".**{{{} to {}}}", level(first), level(last)),
            }
        }
        Step::Filter(inner) => {
            f.write_str("?(")?;
            predicate(inner, false, f)?;
            f.write_char(')')
        }
        Step::Method(method) => write!(f, ".{}()", method.name()),
    }
}

fn connected(left: &Predicate, word: &str, right: &Predicate, own: u8, f: &mut Formatter<'_>) -> fmt::Result {
    let side = |side: &Predicate, f: &mut Formatter<'_>| {
        let binds = match side {
            Predicate::Or(..) => 0,
            Predicate::And(..) => 1,
            Predicate::Compare { .. } | Predicate::StartsWith { .. } => 2,
            _ => 6,
        };
        predicate(side, binds <= own, f)
    };
    side(left, f)?;
    write!(f, " {word} ")?;
    side(right, f)
}

fn predicate(of: &Predicate, bracketed: bool, f: &mut Formatter<'_>) -> fmt::Result {
    let (open, close) = if bracketed { ("(", ")") } else { ("", "") };
    match of {
        Predicate::Or(left, right) => {
            f.write_str(open)?;
            connected(left, "||", right, 0, f)?;
            f.write_str(close)
        }
        Predicate::And(left, right) => {
            f.write_str(open)?;
            connected(left, "&&", right, 1, f)?;
            f.write_str(close)
        }
        Predicate::Not(inner) => {
            f.write_str("!(")?;
            predicate(inner, false, f)?;
            f.write_char(')')
        }
        Predicate::IsUnknown(inner) => {
            f.write_char('(')?;
            predicate(inner, false, f)?;
            f.write_str(") is unknown")
        }
        Predicate::Compare { comparison, left, right } => {
            f.write_str(open)?;
            within(left, 2, f)?;
            write!(f, " {} ", comparison.symbol())?;
            within(right, 2, f)?;
            f.write_str(close)
        }
        Predicate::StartsWith { whole, start } => {
            f.write_str(open)?;
            within(whole, 2, f)?;
            f.write_str(" starts with ")?;
            within(start, 2, f)?;
            f.write_str(close)
        }
        Predicate::LikeRegex { text: of, pattern, letters, flags: _ } => {
            f.write_str(open)?;
            within(of, 2, f)?;
            write!(f, " like_regex {}", text(pattern))?;
            if !letters.is_empty() {
                // In the order in which they are kept.
                let kept: String = "ismxq".chars().filter(|c| letters.contains(*c)).collect();
                write!(f, " flag \"{kept}\"")?;
            }
            f.write_str(close)
        }
        Predicate::Exists(inner) => {
            f.write_str("exists (")?;
            node(inner, false, f)?;
            f.write_char(')')
        }
    }
}
