//! From a failing case to a small one: smaller queries and fewer rows are tried as long as the difference stays.

use super::judge::Verdict;
use super::round::{Case, judge, judged_by, session_with};
use super::tables::FuzzTable;
use super::tree::Query;

/// Tries that one case may cost.
const TRIES_MAX: usize = 1500;

/// The difference that a case still shows. Both judges start anew, so what a change broke shows as no difference.
fn difference(case: &Case, tables: &[FuzzTable], query: &Query, steps: u64) -> Option<String> {
    let known = judged_by(&query.to_string(), tables, steps)?;
    let session = session_with(&case.configuration, tables).ok()?;
    match judge(&session, &query.to_string(), !query.order.is_empty(), &known) {
        Verdict::Different(difference) => Some(difference),
        _ => None,
    }
}

/// A smaller case with the same kind of failure, after at most `TRIES_MAX` tries. `steps` bounds the reference's row
/// visits for each try. A case that does not fail again is returned unchanged, with a note in its difference.
pub fn reduce(mut case: Case, steps: u64) -> Case {
    // What does not fail again (a race, a timeout) is reported as it is.
    if difference(&case, &case.tables, &case.query, steps).is_none() {
        case.difference.push_str(" [not seen a second time]");
        return case;
    }
    let mut tries = 0;
    loop {
        let before = tries;
        let smaller_rows = fewer_rows(&mut case, steps, &mut tries);
        let smaller_query = smaller_query(&mut case, steps, &mut tries);
        if tries >= TRIES_MAX || before == tries || !(smaller_rows || smaller_query) {
            return case;
        }
    }
}

fn smaller_query(case: &mut Case, steps: u64, tries: &mut usize) -> bool {
    let mut any = false;
    'again: while *tries < TRIES_MAX {
        let mut candidates = case.query.smaller();
        candidates.sort_by_cached_key(|q| q.to_string().len());
        let length = case.query.to_string().len();
        for candidate in candidates.into_iter().filter(|c| c.to_string().len() < length) {
            if *tries >= TRIES_MAX {
                break;
            }
            *tries += 1;
            if let Some(found) = difference(case, &case.tables, &candidate, steps) {
                case.query = candidate;
                case.difference = found;
                any = true;
                continue 'again;
            }
        }
        break;
    }
    any
}

/// Takes rows out of the tables, in halves, quarters and so on.
fn fewer_rows(case: &mut Case, steps: u64, tries: &mut usize) -> bool {
    let mut any = false;
    for table in 0..case.tables.len() {
        let mut chunk = case.tables[table].rows.len();
        while chunk > 0 {
            let mut from = 0;
            while from < case.tables[table].rows.len() && *tries < TRIES_MAX {
                let mut tables = case.tables.clone();
                let to = (from + chunk).min(tables[table].rows.len());
                tables[table].rows.drain(from..to);
                *tries += 1;
                match difference(case, &tables, &case.query, steps) {
                    Some(found) => {
                        case.tables = tables;
                        case.difference = found;
                        any = true;
                    }
                    None => from = to,
                }
            }
            chunk /= 2;
        }
    }
    any
}
