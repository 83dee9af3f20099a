//! The tree against plain addition, and the sort that looks at the signal against the one that does not.

use plan::{Expr, SortKey};
use types::{Error, SqlState, Type};
use vector::{Data, StringBuilder, Vector};

use crate::sort::keys::{Keys, shape};

/// Numbers in no order, many of them equal.
fn mixed(rows: i64) -> Vector {
    Vector::from_i64(Type::BigInt, (0..rows).map(|n| n * 7919 % 10_007).collect())
}

fn encoded(column: &Vector) -> Keys {
    let key = SortKey { expr: Expr::input(0, Type::BigInt), descending: true, nulls_first: false };
    let keys = [key];
    Keys::encode(shape(&keys), std::slice::from_ref(column), &keys, column.len())
}

#[test]
fn a_checked_sort_is_the_plain_one() {
    for rows in [0, 1, 1000, 131_072, 131_073, 700_001] {
        let keys = encoded(&mixed(rows));
        assert_eq!(keys.sorted_checked(&|| Ok(())).unwrap(), keys.sorted(false), "{rows} rows");
    }
}

#[test]
fn long_keys_of_which_many_are_equal_are_sorted_in_parts() {
    let rows = 300_000i64;
    // Half of the rows share one text of more than a prefix, others are all over.
    let mut texts = StringBuilder::with_capacity(rows as usize);
    for n in 0..rows {
        let text = match n % 4 {
            0 | 1 => "the text that half of the rows have".to_owned(),
            2 => format!("the text that half of the rows ha{}", n * 7919 % 1009),
            _ => format!("{}", n * 104_729 % 100_003),
        };
        texts.push(text.as_bytes());
    }
    let columns = [Vector::new(Type::Text, Data::Bytes(texts.finish()), None), mixed(rows)];
    let key = |at: usize, descending: bool| SortKey {
        expr: Expr::input(at, columns[at].ty()),
        descending,
        nulls_first: false,
    };
    let order = [key(0, false), key(1, true)];
    let keys = Keys::encode(shape(&order), &columns, &order, rows as usize);
    assert_eq!(keys.sorted_checked(&|| Ok(())).unwrap(), keys.sorted(false));
}

#[test]
fn a_checked_sort_ends_with_the_signal() {
    let keys = encoded(&mixed(400_000));
    let stop = || Err(Error::new(SqlState::QueryCanceled, "stop"));
    assert_eq!(keys.sorted_checked(&stop).unwrap_err().state(), SqlState::QueryCanceled);
}
