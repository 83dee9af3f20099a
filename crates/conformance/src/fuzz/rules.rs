//! The rewrite fuzzer: a seed's queries with every rule of the optimizer, without each of them and without all,
//! compared with the reference interpreter.
//!
//! A rule that changes an answer shows as a difference between two of these runs, or as an internal error. The answer
//! that counts is the reference's; where it does not know a query (lists, most functions), the engine's own with
//! every rule. Queries with volatile calls have the answer of their twins (see `rewrites`).
//!
//! That it would find a fault is tested by faults planted in the text that runs without a rule.

use types::{Result, SqlState};

use super::judge::{Verdict, compare};
use super::queries::rewrite_query;
use super::reduce;
use super::rewrites::twins;
use super::round::{
    Case, Counts, Expected, Known, TIME_LIMIT, TIME_LIMIT_UNKNOWN, expected, general, judge, limit_time,
    session_with,
};
use super::tables::rewrite_tables;
use crate::configuration::{self, Configuration};
use random::Random;

/// What a run of the rewrite fuzzer does for each seed.
#[derive(Clone, Debug)]
pub struct RuleOptions {
    /// Queries of each seed.
    pub queries: usize,
    /// The most row visits that the reference may make for a query.
    pub steps: u64,
    /// Failing cases are made smaller.
    pub reduce: bool,
    /// Every query without each rule; otherwise without some of them in turn.
    pub thorough: bool,
    /// A fault of a rule: what runs without some rule is this in the query's place.
    pub planted: Option<fn(&str) -> String>,
}

impl Default for RuleOptions {
    fn default() -> Self {
        RuleOptions { queries: 60, steps: 1_000_000, reduce: true, thorough: false, planted: None }
    }
}

/// Rules that a query is run without, one at a time, in addition to the runs with all rules and with none.
const RULES_IN_TURN: usize = 4;

/// What a query has to answer, where `alone` says it of one without volatile calls.
pub(super) fn told(sql: &str, alone: &mut dyn FnMut(&str) -> Option<Known>) -> Option<Known> {
    let Some([one, other]) = twins(sql) else { return alone(sql) };
    let (one, other) = (alone(&one)?, alone(&other)?);
    // Otherwise the calls change the answer.
    (compare(&one.outcome, &other.outcome, &one.types, false) == Verdict::Same).then_some(one)
}

/// All of one seed. Cases are reduced before `report` gets them.
pub fn run_rules(seed: u64, options: &RuleOptions, report: &mut dyn FnMut(Case)) -> Result<Counts> {
    let mut random = Random::new(seed);
    let tables = rewrite_tables(&mut random, false);
    let standard = configuration::standard();
    let session = session_with(&standard, &tables)?;
    let without_all = configuration::without_rules();
    let without_one = configuration::without_each_rule();
    let mut turn = random.below(without_one.len());
    let mut counts = Counts { rounds: 1, ..Counts::default() };
    for _ in 0..options.queries {
        let (mut query, inexact) = rewrite_query(&mut random, &tables, false);
        if inexact {
            // Rows that rounding may swap are compared as a multiset.
            query.order.clear();
        }
        let sql = query.to_string();
        let (mut refused, mut too_long, mut by_each_other) = (None, false, false);
        let known = told(&sql, &mut |sql| match expected(sql, &tables, options.steps) {
            Expected::NotPlanned(error) => {
                refused = Some(error);
                None
            }
            Expected::NotInterpreted(types) => {
                by_each_other = true;
                limit_time(&session, TIME_LIMIT_UNKNOWN).ok()?;
                let known = Known::by_session(&session, sql, types);
                too_long |= known.is_none();
                known
            }
            Expected::Known(outcome, types) => Some(Known::by_reference(outcome, types)),
        });
        // What the front end refuses of volatile calls it does not refuse of their twins.
        if twins(&sql).is_some()
            && let Expected::NotPlanned(error) = expected(&sql, &tables, 0)
            && error.state() == SqlState::FeatureNotSupported
        {
            refused = Some(error);
        }
        let case = |configuration, difference| Case {
            seed,
            configuration,
            tables: tables.clone(),
            query: query.clone(),
            difference,
        };
        counts.not_interpreted += usize::from(by_each_other);
        counts.by_each_other += usize::from(by_each_other);
        counts.too_long += usize::from(too_long);
        if let Some(error) = refused {
            counts.not_planned += 1;
            let reason = format!("{} {}", error.state().code(), general(error.message()));
            *counts.refusals.entry(reason).or_default() += 1;
            if error.state() == SqlState::Internal {
                counts.different += 1;
                report(case(standard.clone(), format!("the front end fails: {error}")));
            }
            continue;
        }
        let Some(known) = known else { continue };
        counts.queries += 1;
        match &known.outcome {
            Ok(rows) => {
                counts.rows += rows.len();
                counts.with_rows += usize::from(!rows.is_empty());
            }
            Err(_) => counts.with_error += 1,
        }
        limit_time(&session, if known.by_each_other { TIME_LIMIT_UNKNOWN } else { TIME_LIMIT })?;
        let singles = if options.thorough { without_one.len() } else { RULES_IN_TURN };
        let in_turn: Vec<&Configuration> = without_one.iter().cycle().skip(turn).take(singles).collect();
        turn = (turn + singles) % without_one.len();
        for configuration in [&standard, &without_all].into_iter().chain(in_turn) {
            for (name, value) in &configuration.settings {
                session.query(&format!("SET {name} = '{value}'"))?;
            }
            let text = match options.planted {
                Some(fault) if !configuration.settings.is_empty() => fault(&sql),
                _ => sql.clone(),
            };
            counts.runs += 1;
            let verdict = judge(&session, &text, !query.order.is_empty(), &known);
            for (name, _) in &configuration.settings {
                session.query(&format!("RESET {name}"))?;
            }
            match verdict {
                Verdict::Unknown => counts.too_long += 1,
                Verdict::Same => counts.same += 1,
                Verdict::Tolerated => counts.tolerated += 1,
                Verdict::Different(difference) => {
                    counts.different += 1;
                    let case = case(configuration.clone(), difference);
                    report(if options.reduce { reduce::reduce(case, options.steps) } else { case });
                    break;
                }
            }
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds until the fault shows.
    fn found_within(seeds: u64, planted: fn(&str) -> String) -> bool {
        let options = RuleOptions { reduce: false, planted: Some(planted), ..RuleOptions::default() };
        (1..=seeds).any(|seed| {
            let mut found = false;
            run_rules(seed, &options, &mut |_| found = true).expect("tables load");
            found
        })
    }

    /// A filter over a volatile column that evaluates the call again.
    #[test]
    fn a_volatile_call_that_is_copied_is_found() {
        let again = |sql: &str| {
            let call = "CAST(floor(random() * 100) AS INTEGER)";
            let sql = sql.replace("WHERE k = 1)", &format!("WHERE {call} % 3 = 1)"));
            sql.replace("WHERE w = v + 1)", &format!("WHERE w = {call} + 1)"))
        };
        assert!(found_within(20, again));
    }

    /// A NULL in an IN list that is forgotten.
    #[test]
    fn a_null_that_is_lost_is_found() {
        assert!(found_within(20, |sql| sql.replace(", NULL)", ")")));
    }
}
