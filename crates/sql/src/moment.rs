//! Texts that stand for a moment: `'now'`, `'today'`, `'tomorrow'`, `'yesterday'` and `'allballs'` where a date or a time is
//! expected.
//!
//! They are read where a literal gets its type, which has no binder to ask; so the moment of the statement, or of its
//! transaction, is put into reach of the thread that plans it. It is asked for only where the text of the statement has
//! such a word between quotes: a plan that depends on the clock is not kept.

use std::cell::Cell;

use types::datetime::MICROS_PER_DAY;
use types::{Type, Value, zone};

use crate::Relations;

thread_local! {
    /// Of the transaction, and of the statement.
    static MOMENT: Cell<Option<(i64, i64)>> = const { Cell::new(None) };
}

const WORDS: [&str; 5] = ["now", "today", "tomorrow", "yesterday", "allballs"];

/// Whether a text has one of the words between single quotes.
fn is_asked_for(text: &str) -> bool {
    let mut pieces = text.split('\'');
    // What stands before the first quote is none.
    pieces.next();
    pieces.any(|piece| {
        let piece = piece.trim();
        piece.len() <= 9 && WORDS.iter().any(|word| piece.eq_ignore_ascii_case(word))
    })
}

/// Plans a statement with its moment in reach.
pub(crate) fn within<T>(text: &str, relations: &dyn Relations, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<(i64, i64)>);
    impl Drop for Restore {
        fn drop(&mut self) {
            MOMENT.set(self.0.take());
        }
    }
    let moment = is_asked_for(text).then(|| {
        let asked = relations.moment();
        (relations.transaction_moment().unwrap_or(asked), asked)
    });
    let _restore = Restore(MOMENT.replace(moment));
    work()
}

/// When the statement that this thread plans began, where that was asked for already.
pub(crate) fn asked() -> Option<i64> {
    MOMENT.get().map(|(_, asked)| asked)
}

/// The value of such a word as a type of dates and times.
pub(crate) fn value_of(word: &str, to: Type) -> Option<Value> {
    let (now, _) = MOMENT.get()?;
    let word = word.trim();
    if word.len() > 9 {
        return None;
    }
    let local = zone::current().local(now).unwrap_or(now);
    let midnight = local - local.rem_euclid(MICROS_PER_DAY);
    let wanted = match word.to_ascii_lowercase().as_str() {
        "now" => local,
        "today" => midnight,
        "tomorrow" => midnight + MICROS_PER_DAY,
        "yesterday" => midnight - MICROS_PER_DAY,
        "allballs" if to == Type::Time => return Some(Value::I64(0)),
        _ => return None,
    };
    let is_now = wanted == local;
    Some(match to {
        Type::Date => Value::I32((wanted / MICROS_PER_DAY) as i32),
        Type::Timestamp => Value::I64(wanted),
        Type::TimestampTz if is_now => Value::I64(now),
        Type::TimestampTz => Value::I64(zone::current().instant(wanted)?),
        Type::Time if is_now => Value::I64(local - midnight),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::is_asked_for;

    #[test]
    fn words_count_between_quotes() {
        assert!(is_asked_for("SELECT DATE 'today'") && is_asked_for("SELECT ' Now '::timestamp"));
        assert!(!is_asked_for("SELECT now(), today FROM t WHERE x = 'nowhere'"));
        assert!(!is_asked_for("now"));
    }
}
