//! One suite for every kind of table: random keys, with and without duplicates, in one and several partitions.
//!
//! `check` fills a table batch by batch, starts again where `finish` asks for it, and compares every key's rows with
//! a hash map's; it also holds `JoinTable::bytes` against what `JoinShape::bytes` announced. The other tests take the
//! cases that random keys miss: rows without a code, crowded hashes, partitions and shared tables filled by threads.

use std::collections::HashMap;

use super::*;
use crate::hashing::hash_i64;
use crate::key_code::NO_CODE;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Builds a table from codes, in batches, and compares it with a map.
fn check(shape: JoinShape, codes: &[u64], asked: &[u64]) {
    let mut filling = shape.allocate();
    let table = loop {
        for partition in 0..filling.shape().partitions {
            for (batch, codes) in codes.chunks(700).enumerate() {
                filling.insert(partition, batch as u32 * 700, codes);
            }
        }
        match filling.finish() {
            Ok(table) => break table,
            Err(again) => filling = again,
        }
    };
    let mut expected: HashMap<u64, Vec<u32>> = HashMap::new();
    for (row, code) in codes.iter().enumerate().filter(|(_, c)| **c != NO_CODE) {
        expected.entry(*code).or_default().push(row as u32);
    }
    let unique = expected.values().all(|rows| rows.len() == 1);
    let mut found = Vec::new();
    table.find(asked, &mut found);
    assert_eq!(found.len(), asked.len());
    for (code, head) in asked.iter().zip(&found) {
        let wanted = expected.get(code).map_or(&[][..], Vec::as_slice);
        if table.kind() == JoinTableKind::Bits {
            assert_eq!(*head != NO_ROW, !wanted.is_empty(), "{shape:?} code {code}");
            continue;
        }
        let mut rows = Vec::new();
        let mut row = *head;
        while row != NO_ROW {
            rows.push(row);
            row = table.next().map_or(NO_ROW, |n| n[row as usize].wrapping_sub(1));
        }
        rows.sort_unstable();
        assert_eq!(rows, wanted, "{shape:?} code {code}");
    }
    if table.kind() != JoinTableKind::Bits {
        assert_eq!(table.next().is_none(), unique, "{shape:?}");
    }
    assert!(table.bytes() as u64 <= shape.bytes() + 1024, "{shape:?}: {} bytes", table.bytes());
}

#[test]
fn every_kind_finds_what_a_map_finds() {
    let mut state = 7;
    for rows in [0usize, 1, 5, 300, 5000] {
        for spread in [1u64, 3, 50, 1 << 40] {
            let range = (rows as u64 * spread).max(1);
            let mut codes: Vec<u64> = (0..rows).map(|_| random(&mut state) % range).collect();
            for unique in [false, true] {
                if unique {
                    codes.sort_unstable();
                    codes.dedup();
                }
                let mut asked = codes.clone();
                asked.extend((0..500).map(|_| random(&mut state) % (range + 100)));
                asked.extend([NO_CODE, range, range - 1, 0]);
                let keys = JoinKeys::Codes {
                    range,
                    order: if unique { KeyOrder::Ascending } else { KeyOrder::Any },
                };
                for existence_only in [false, true] {
                    for dense in [false, true] {
                        let wants = JoinWants {
                            existence_only,
                            dense,
                            partitions_max: 4,
                            shared: false,
                            payload_columns: None,
                        };
                        let shape = JoinShape::choose(codes.len(), keys, wants);
                        check(shape, &codes, &asked);
                        for partitions in [2, 8] {
                            check(JoinShape { partitions, ..shape }, &codes, &asked);
                        }
                        let shared =
                            JoinShape::choose(codes.len(), keys, JoinWants { shared: true, ..wants });
                        check(shared, &codes, &asked);
                    }
                }
                let hashed: Vec<u64> = codes.iter().map(|c| hash_i64(*c as i64)).collect();
                let asked: Vec<u64> = asked.iter().map(|c| hash_i64(*c as i64)).collect();
                for partitions in [1, 4] {
                    let shape = JoinShape {
                        kind: JoinTableKind::Slots,
                        keys: JoinKeys::Hashes,
                        rows: codes.len(),
                        partitions,
                        shared: partitions == 1,
                        payload: false,
                    };
                    check(shape, &hashed, &asked);
                }
            }
        }
    }
}

#[test]
fn runs_of_equal_keys_in_order() {
    let mut state = 11;
    for rows in [0usize, 1, 2, 699, 700, 701, 5000, 70_000] {
        for range in [1u64, 3, 64, 1000, 1 << 20] {
            let mut codes: Vec<u64> = (0..rows).map(|_| random(&mut state) % range).collect();
            codes.sort_unstable();
            let asked: Vec<u64> =
                (0..range.min(2000)).chain([range - 1, range, range + 64, NO_CODE]).collect();
            for partitions in [1, 2, 8] {
                let keys = JoinKeys::Codes { range, order: KeyOrder::Sorted };
                let kind = JoinTableKind::RankedRuns;
                check(
                    JoinShape { kind, keys, rows, partitions, shared: false, payload: false },
                    &codes,
                    &asked,
                );
            }
        }
    }
    let wants = JoinWants {
        existence_only: false,
        dense: true,
        partitions_max: 2,
        shared: false,
        payload_columns: None,
    };
    let keys = JoinKeys::Codes { range: 1 << 20, order: KeyOrder::Sorted };
    assert_eq!(JoinShape::choose(100_000, keys, wants).kind, JoinTableKind::RankedRuns);
}

#[test]
fn rows_without_a_code_are_passed_over() {
    let codes = [3, NO_CODE, 1, NO_CODE, 3];
    for kind in [JoinTableKind::Array, JoinTableKind::Bits, JoinTableKind::Slots] {
        let shape = JoinShape {
            kind,
            keys: JoinKeys::Codes { range: 4, order: KeyOrder::Any },
            rows: 5,
            partitions: 1,
            shared: false,
            payload: false,
        };
        check(shape, &codes, &[0, 1, 2, 3, 4, NO_CODE]);
    }
}

#[test]
fn row_numbers_need_no_table() {
    let wants = JoinWants {
        existence_only: false,
        dense: true,
        partitions_max: 4,
        shared: false,
        payload_columns: None,
    };
    let shape = JoinShape::choose(1000, JoinKeys::Codes { range: 1000, order: KeyOrder::Ascending }, wants);
    assert_eq!(shape.kind, JoinTableKind::RowNumbers);
    assert_eq!(shape.bytes(), 0);
    check(shape, &(0..1000).collect::<Vec<u64>>(), &[0, 999, 1000, NO_CODE]);
}

#[test]
fn hashes_that_crowd_start_again_in_one_partition() {
    // All in the first of 64 partitions, whose slots are too few.
    let hashes: Vec<u64> = (0..2000u64).map(|i| i << 32 | i).collect();
    let shape = JoinShape {
        kind: JoinTableKind::Slots,
        keys: JoinKeys::Hashes,
        rows: 2000,
        partitions: 64,
        shared: false,
        payload: false,
    };
    let filling = shape.allocate();
    (0..64).for_each(|p| filling.insert(p, 0, &hashes));
    let Err(again) = filling.finish() else {
        panic!("two thousand hashes fitted a sixty-fourth of the slots")
    };
    assert_eq!(again.shape().partitions, 1);
    check(shape, &hashes, &hashes);
}

#[test]
fn many_rows_of_one_key_chain() {
    for keys in [JoinKeys::Codes { range: 1 << 40, order: KeyOrder::Any }, JoinKeys::Hashes] {
        let wants = JoinWants {
            existence_only: false,
            dense: true,
            partitions_max: 1,
            shared: false,
            payload_columns: None,
        };
        check(JoinShape::choose(100_000, keys, wants), &vec![12_345; 100_000], &[12_345, 12_346]);
    }
}

#[test]
fn partitions_fill_at_the_same_time() {
    let mut state = 99;
    let rows = 40_000;
    for (range, kind, order) in [
        (1 << 16, JoinTableKind::Array, KeyOrder::Any),
        (1 << 20, JoinTableKind::Slots, KeyOrder::Any),
        (1 << 40, JoinTableKind::Slots, KeyOrder::Any),
        (1 << 16, JoinTableKind::RankedBits, KeyOrder::Ascending),
        (1 << 15, JoinTableKind::RankedRuns, KeyOrder::Sorted),
    ] {
        let mut codes: Vec<u64> = (0..rows as u64)
            .map(|row| if order == KeyOrder::Ascending { row + row / 3 } else { random(&mut state) % range })
            .collect();
        if order == KeyOrder::Sorted {
            codes.sort_unstable();
        }
        let shape = JoinShape {
            kind,
            keys: JoinKeys::Codes { range, order },
            rows,
            partitions: 4,
            shared: false,
            payload: false,
        };
        let filling = shape.allocate();
        std::thread::scope(|scope| {
            for partition in 0..4 {
                let (filling, codes) = (&filling, &codes);
                scope.spawn(move || {
                    // The last partition is left for `finish` to close.
                    for (at, batch) in codes.chunks(1000).enumerate() {
                        filling.insert(partition, at as u32 * 1000, batch);
                    }
                    if partition < 3 {
                        filling.close(partition);
                    }
                });
            }
        });
        let Ok(table) = filling.finish() else { panic!("overflow") };
        let mut found = Vec::new();
        table.find(&codes, &mut found);
        for (row, (code, head)) in codes.iter().zip(found).enumerate() {
            assert_eq!(codes[head as usize], *code);
            match order {
                KeyOrder::Ascending => assert_eq!(head as usize, row),
                KeyOrder::Sorted => {
                    assert!(head == 0 || codes[head as usize - 1] != *code, "a run's first row")
                }
                KeyOrder::Any => {}
            }
        }
        let mut outside = Vec::new();
        table.find(&[range, range + 64, NO_CODE], &mut outside);
        assert_eq!(outside, [NO_ROW; 3]);
    }
}

/// Four workers, each with every fourth batch, few keys: they meet at the same slots all the time.
#[test]
fn a_shared_table_loses_no_row() {
    for range in [50u64, 3000, 1 << 40] {
        let mut state = 5;
        let rows = if cfg!(miri) { 400 } else { 40_000 };
        let codes: Vec<u64> = (0..rows).map(|_| random(&mut state) % range).collect();
        let keys = JoinKeys::Codes { range, order: KeyOrder::Any };
        let shape =
            JoinShape { kind: JoinTableKind::Slots, keys, rows, partitions: 1, shared: true, payload: false };
        let filling = shape.allocate();
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (filling, codes) = (&filling, &codes);
                scope.spawn(move || {
                    for (batch, codes) in codes.chunks(100).enumerate().filter(|(b, _)| b % 4 == worker) {
                        filling.insert(0, batch as u32 * 100, codes);
                    }
                });
            }
        });
        let Ok(table) = filling.finish() else { panic!("overflow") };
        let mut expected: HashMap<u64, Vec<u32>> = HashMap::new();
        for (row, code) in codes.iter().enumerate() {
            expected.entry(*code).or_default().push(row as u32);
        }
        let mut found = Vec::new();
        let asked: Vec<u64> = expected.keys().copied().collect();
        table.find(&asked, &mut found);
        for (code, head) in asked.iter().zip(found) {
            let (mut chained, mut row) = (Vec::new(), head);
            while row != NO_ROW {
                chained.push(row);
                row = table.next().map_or(NO_ROW, |n| n[row as usize].wrapping_sub(1));
            }
            chained.sort_unstable();
            assert_eq!(&chained, &expected[code], "range {range}, code {code}");
        }
    }
}
