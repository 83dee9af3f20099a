//! Policies: what share of the workers each query has a right to, apart from how that is brought about.
//!
//! Quickstep (Patel and others, PVLDB 2018, "Policy / mechanism"). A policy says of each query by itself in which *tier* it
//! stands and with which *weight*. The mechanism (`enforcer.rs`) does the rest: a tier gets what those above it leave, and
//! within a tier CPU time, not work orders, is shared by weight.
//!
//! | policy | tier | weight |
//! | --- | --- | --- |
//! | `priority` (Highest Priority First, the default) | its priority | 1 |
//! | `fair` | one for all | 1 |
//! | `proportional` | one for all | its priority |
//!
//! So where all queries have the default priority, all three are Fair.

/// The largest priority of a query; priorities begin at 0, and more is more urgent.
pub const PRIORITY_MAX: u32 = 1_000;
/// The priority of a query that sets none.
pub const PRIORITY_DEFAULT: u32 = 1;

/// A query's right to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// A higher one goes first, as long as it has work.
    pub tier: u32,
    /// Its share of the CPU time that its tier gets, relative to the others' weights; at least 1.
    pub weight: u32,
}

/// How queries stand to each other. Without state: the same query always stands the same.
pub trait Policy: Send + Sync {
    /// The name that `SET policy` takes.
    fn name(&self) -> &'static str;

    /// Where a query of that priority (0 to [`PRIORITY_MAX`]) stands.
    fn standing(&self, priority: u32) -> Standing;
}

/// Equal CPU time, whatever the priorities.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fair;

/// The highest priority takes all that it can use; equals share equally.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighestPriorityFirst;

/// CPU time in proportion to the priorities.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proportional;

impl Policy for Fair {
    fn name(&self) -> &'static str {
        "fair"
    }
    fn standing(&self, _priority: u32) -> Standing {
        Standing { tier: 0, weight: 1 }
    }
}

impl Policy for HighestPriorityFirst {
    fn name(&self) -> &'static str {
        "priority"
    }
    fn standing(&self, priority: u32) -> Standing {
        Standing { tier: priority, weight: 1 }
    }
}

impl Policy for Proportional {
    fn name(&self) -> &'static str {
        "proportional"
    }
    fn standing(&self, priority: u32) -> Standing {
        Standing { tier: 0, weight: priority.max(1) }
    }
}

/// The names of the policies; messages name a policy by its position here.
pub const POLICIES: [&str; 3] = ["priority", "fair", "proportional"];

/// The policy of that name; `None` for another word.
pub fn policy(name: &str) -> Option<Box<dyn Policy>> {
    Some(match name {
        "fair" => Box::new(Fair),
        "priority" => Box::new(HighestPriorityFirst),
        "proportional" => Box::new(Proportional),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_known_by_their_names() {
        for name in POLICIES {
            assert_eq!(policy(name).map(|policy| policy.name()), Some(name));
        }
        assert!(policy("random").is_none());
        assert_eq!(Proportional.standing(0).weight, 1);
        assert!(HighestPriorityFirst.standing(2).tier > HighestPriorityFirst.standing(1).tier);
    }
}
