//! Conditions of filters: three-valued, over what their sides lead to.
//!
//! A side is found apart from the path around it (`Evaluation::apart`): what it found is let go of again, and a soft error
//! makes the condition unknown. Pairs of items are looked at until one decides.

use std::cmp::Ordering;

use types::jsonb::{Tree, order_key};
use types::stop;

use super::{Evaluation, Fault, Item, Run, Truth};
use crate::jsonpath::{Comparison, Node, Predicate};
use crate::regular::Pattern;

impl<'a> Evaluation<'a> {
    pub(super) fn predicate(&mut self, predicate: &'a Predicate) -> Run<Truth> {
        Ok(match predicate {
            Predicate::And(left, right) => match self.predicate(left)? {
                Truth::False => Truth::False,
                first => match self.predicate(right)? {
                    Truth::True => first,
                    second => second,
                },
            },
            Predicate::Or(left, right) => match self.predicate(left)? {
                Truth::True => Truth::True,
                first => match self.predicate(right)? {
                    Truth::False => first,
                    second => second,
                },
            },
            Predicate::Not(inner) => match self.predicate(inner)? {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Unknown => Truth::Unknown,
            },
            Predicate::IsUnknown(inner) => Truth::from(self.predicate(inner)? == Truth::Unknown),
            Predicate::Compare { comparison, left, right } => {
                self.pairs(left, Some((right, true)), &|left, right, zone| {
                    compare(*comparison, left, right, zone)
                })?
            }
            Predicate::StartsWith { whole, start } => {
                self.pairs(whole, Some((start, false)), &|whole, start, _| {
                    Ok(match (whole.text(), start.text()) {
                        (Some(whole), Some(start)) => Truth::from(whole.starts_with(start)),
                        _ => Truth::Unknown,
                    })
                })?
            }
            Predicate::LikeRegex { text, pattern, flags, letters: _ } => {
                let pattern = Pattern::recent(pattern, *flags).map_err(Fault::Hard)?;
                self.pairs(text, None, &|text, _, _| {
                    Ok(match text.text() {
                        Some(text) => Truth::from(pattern.is_match(text).map_err(Fault::Hard)?),
                        None => Truth::Unknown,
                    })
                })?
            }
            Predicate::Exists(node) => {
                let run = self.apart(|this| match this.strict {
                    true => this.items(node, false).map(|items| !items.is_empty()),
                    false => this.node(node, &[], None),
                });
                match run {
                    Ok(any) => Truth::from(any),
                    Err(Fault::Soft(_)) => Truth::Unknown,
                    Err(hard) => return Err(hard),
                }
            }
        })
    }

    /// Whether a condition holds for any pair of items. Strict, all pairs are looked at, and one that is unknown makes
    /// all unknown; lax, the first pair for which it holds decides.
    fn pairs(
        &mut self,
        left: &'a Node,
        right: Option<(&'a Node, bool)>,
        holds: &dyn Fn(&Item<'a>, &Item<'a>, Option<types::Zone>) -> Run<Truth>,
    ) -> Run<Truth> {
        let sides = self.apart(|this| {
            let left = this.items(left, true)?;
            let right = right.map(|(node, unwrap)| this.items(node, unwrap)).transpose()?;
            Ok((left, right))
        });
        let (left, right) = match sides {
            Ok(sides) => sides,
            Err(Fault::Soft(_)) => return Ok(Truth::Unknown),
            Err(hard) => return Err(hard),
        };
        let right = right.unwrap_or_else(|| vec![Item::made(Tree::Null)]);
        let (mut unknown, mut found) = (false, false);
        for one in &left {
            for other in &right {
                stop::check(stop::Place::Evaluate).map_err(Fault::Hard)?;
                match holds(one, other, self.how.zone)? {
                    Truth::Unknown if self.strict => return Ok(Truth::Unknown),
                    Truth::Unknown => unknown = true,
                    Truth::True if !self.strict => return Ok(Truth::True),
                    Truth::True => found = true,
                    Truth::False => {}
                }
            }
        }
        Ok(match (found, unknown) {
            (true, _) => Truth::True,
            (false, true) => Truth::Unknown,
            (false, false) => Truth::False,
        })
    }
}

fn compare(
    comparison: Comparison,
    left: &Item<'_>,
    right: &Item<'_>,
    zone: Option<types::Zone>,
) -> Run<Truth> {
    let ordering = match (left, right) {
        (Item::Moment(left), Item::Moment(right)) => match left.compare(right, zone).map_err(Fault::Hard)? {
            Some(ordering) => ordering,
            None => return Ok(Truth::Unknown),
        },
        _ => match (left.tree(), right.tree()) {
            (Some(Tree::Null), Some(Tree::Null)) => Ordering::Equal,
            (Some(Tree::Null), _) | (_, Some(Tree::Null)) => {
                return Ok(Truth::from(comparison == Comparison::NotEqual));
            }
            (Some(Tree::Bool(a)), Some(Tree::Bool(b))) => a.cmp(b),
            (Some(a @ Tree::Number(_)), Some(b @ Tree::Number(_))) => order_key(a).cmp(&order_key(b)),
            (Some(Tree::Text(a)), Some(Tree::Text(b))) => a.cmp(b),
            _ => return Ok(Truth::Unknown),
        },
    };
    Ok(Truth::from(match comparison {
        Comparison::Equal => ordering.is_eq(),
        Comparison::NotEqual => ordering.is_ne(),
        Comparison::Less => ordering.is_lt(),
        Comparison::LessOrEqual => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::GreaterOrEqual => ordering.is_ge(),
    }))
}
