//! Random expressions over random batches, judged by the slow twin: types, NULLs, constants, dictionaries, extremes.

mod drawn;
mod twin;

use expr::{Predicate, Program, Selected};
use plan::Expr;
use random::Random;
use types::{Type, Value};
use vector::Batch;

use drawn::{Draw, Generator, TYPES, column, identical};

/// Anything of it may raise an error.
fn fails(expression: &Expr) -> bool {
    expression.may_fail() || twin::fails(expression)
}

fn rounds() -> u64 {
    std::env::var("QUICKSTEP_EXPRESSION_ROUNDS").ok().and_then(|v| v.parse().ok()).unwrap_or(12_000)
}

#[test]
fn random_expressions_agree_with_the_twin() {
    let (mut errors, mut values) = (0u64, 0u64);
    for seed in 0..rounds() {
        let mut r = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(99));
        let wild = seed % 3 == 0;
        let rows = r.one_of(&[0, 1, 3, 63, 64, 70, 130]);
        let columns: Vec<Type> = TYPES.iter().chain(&TYPES).copied().collect();
        let batch = Batch::new(columns.iter().map(|ty| column(&mut r, *ty, rows, wild)).collect(), rows);
        let mut generator = Generator { r, columns, wild, library: false };
        let ty = TYPES[seed as usize % TYPES.len()];
        let depth = 1 + generator.r.below(3);
        let expression = generator.expression(ty, depth);
        let program = Program::compile(std::slice::from_ref(&expression)).unwrap();
        let expected: Vec<types::Result<Value>> = (0..rows)
            .map(|row| {
                let inputs: Vec<Value> = batch.columns.iter().map(|c| c.value(row)).collect();
                twin::evaluate(&expression, &inputs)
            })
            .collect();
        match program.evaluate(&batch) {
            Err(error) => {
                errors += 1;
                assert!(expected.iter().any(Result::is_err), "seed {seed}: {error}\n{expression:?}");
                assert_ne!(error.state().code(), "XX000", "seed {seed}: {error}");
            }
            Ok(result) => {
                assert_eq!((result.len(), result[0].len()), (1, rows), "seed {seed}");
                assert_eq!(result[0].ty(), ty, "seed {seed}");
                for (row, expected) in expected.iter().enumerate() {
                    let inputs: Vec<Value> = batch.columns.iter().map(|c| c.value(row)).collect();
                    let Ok(expected) = expected else {
                        panic!(
                            "seed {seed} row {row}: {expected:?} was not raised\n{expression:?}\n{inputs:?}"
                        );
                    };
                    let got = result[0].value(row);
                    values += 1;
                    assert!(
                        identical(&got, expected),
                        "seed {seed} row {row}: {got:?}, not {expected:?}\n{expression:?}\n{inputs:?}"
                    );
                }
            }
        }
    }
    // The generator must keep reaching both.
    assert!(errors * 50 > rounds() && values > rounds() * 10, "{errors} errors, {values} values");
}

#[test]
fn random_predicates_select_the_rows_that_are_true() {
    for seed in 0..rounds() / 2 {
        let mut r = Random::new(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(7));
        let rows = r.one_of(&[1, 3, 64, 130, 500]);
        let columns: Vec<Type> = TYPES.iter().chain(&TYPES).copied().collect();
        let batch = Batch::new(columns.iter().map(|ty| column(&mut r, *ty, rows, false)).collect(), rows);
        let mut generator = Generator { r, columns, wild: false, library: false };
        let mut parts: Vec<Expr> = (0..1 + generator.r.below(4)).map(|_| generator.condition(1)).collect();
        let mut seen = false;
        parts.retain(|p| {
            let keep = !(fails(p) && seen);
            seen |= fails(p);
            keep
        });
        // A row that a safe conjunct turns away, be it with NULL, never meets the one that may fail.
        parts.sort_by_key(fails);
        let condition = Expr::and(parts.clone());
        let expected: types::Result<Vec<u32>> = (0..rows)
            .filter_map(|row| {
                let inputs: Vec<Value> = batch.columns.iter().map(|c| c.value(row)).collect();
                for part in &parts {
                    match twin::evaluate(part, &inputs) {
                        Ok(Value::Bool(true)) => {}
                        Ok(_) => return None,
                        Err(error) => return Some(Err(error)),
                    }
                }
                Some(Ok(row as u32))
            })
            .collect();
        let got = Predicate::compile(&condition).unwrap().select(&batch);
        match (got, expected) {
            (Err(_), Err(_)) => {}
            (Ok(selected), Ok(expected)) => {
                let selected = match selected {
                    Selected::All => (0..rows as u32).collect(),
                    Selected::None => vec![],
                    Selected::Rows(rows_kept) => {
                        assert!(!rows_kept.is_empty() && rows_kept.len() < rows, "seed {seed}");
                        rows_kept
                    }
                };
                assert_eq!(selected, expected, "seed {seed}\n{condition:?}");
            }
            (got, expected) => {
                panic!("seed {seed}: {got:?}, not {:?}\n{condition:?}", expected.map(|e| e.len()))
            }
        }
    }
}
