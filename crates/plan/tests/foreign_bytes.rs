//! Bytes that are no encoding, and encodings that were damaged: an error or a valid plan comes out, nothing else.

mod plans;

use plan::encoding::{VERSION, decode, encode};
use plan::{LogicalQuery, PhysicalPlan};
use random::Random;
use types::SqlState;

/// Counts what is held, and what was at most.
#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<std::alloc::System> =
    memory::CountingAllocator(std::alloc::System);

/// One of the ways in which bytes come to harm.
fn damage(good: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    // The first bytes are checked before all else; most damage is behind them.
    let at = 10 + random.below(bytes.len() - 10);
    match random.below(7) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.below(256) as u8,
        2 => bytes.truncate(at),
        3 => {
            let end = (at + random.below(40)).min(bytes.len());
            bytes.drain(at..end);
        }
        4 => {
            let from = random.below(other.len());
            let piece = &other[from..(from + random.below(60)).min(other.len())];
            bytes.splice(at..at, piece.iter().copied());
        }
        5 => {
            let from = random.below(other.len());
            let length = random.below(60).min(other.len() - from).min(bytes.len() - at);
            bytes[at..at + length].copy_from_slice(&other[from..from + length]);
        }
        _ => {
            // Lengths and counts: the kinds of markers that tell them.
            bytes[at] = [0xDC, 0xDD, 0xDE, 0xDF, 0xC6, 0xDB, 0x9F, 0x8F, 0x00, 0xC0][random.below(10)];
        }
    }
    bytes
}

#[test]
fn damaged_plans_are_errors_or_valid() {
    let plans = plans::all();
    let encoded: Vec<Vec<u8>> = plans.iter().map(|plan| encode(plan).unwrap()).collect();
    let mut random = Random::new(42);
    let (mut refused, mut valid) = (0, 0);
    for round in 0..40_000 {
        let good = &encoded[round % encoded.len()];
        let other = &encoded[random.below(encoded.len())];
        let mut bytes = damage(good, other, &mut random);
        if random.below(3) == 0 && bytes.len() > 20 {
            bytes = damage(&bytes, other, &mut random);
        }
        memory::reset_peaks();
        let before = memory::allocated_bytes();
        match decode::<PhysicalPlan>(&bytes) {
            Err(error) => {
                assert!(
                    matches!(error.state(), SqlState::DataCorrupted | SqlState::StatementTooComplex),
                    "{error}"
                );
                refused += 1;
            }
            Ok(plan) => {
                plan.validate().unwrap();
                let again = encode(&plan).unwrap();
                assert_eq!(encode(&decode::<PhysicalPlan>(&again).unwrap()).unwrap(), again);
                valid += 1;
            }
        }
        let most = memory::peak_allocated_bytes().saturating_sub(before);
        assert!(most < 400 * bytes.len() as u64 + (4 << 20), "{most} bytes for {}", bytes.len());
    }
    println!("{refused} refused, {valid} valid");
    assert!(refused > 20_000 && valid > 0);
}

#[test]
fn what_is_no_encoding_is_said() {
    let plan = &plans::all()[0];
    let good = encode(plan).unwrap();
    assert!(decode::<PhysicalPlan>(&good).unwrap() == *plan);
    let cause = |bytes: &[u8]| {
        let error = decode::<PhysicalPlan>(bytes).unwrap_err();
        assert_eq!(error.state(), SqlState::DataCorrupted);
        error.message().to_owned()
    };
    assert!(cause(b"").contains("do not begin as one"));
    assert!(cause(b"SELECT 1 + 1").contains("do not begin as one"));
    for end in 8..good.len() {
        assert!(!cause(&good[..end]).is_empty());
    }
    let mut newer = good.clone();
    newer[8..10].copy_from_slice(&(VERSION + 1).to_le_bytes());
    assert!(cause(&newer).contains(&format!("version {}", VERSION + 1)));
    assert!(cause(&[&good[..], &[0xC0]].concat()).contains("more follows"));
    // A plan is no query.
    let error = decode::<LogicalQuery>(&good).unwrap_err();
    assert!(error.message().contains("physical plan"), "{error}");
    let mut random = Random::new(7);
    for _ in 0..20_000 {
        let noise: Vec<u8> = (0..random.below(200)).map(|_| random.below(256) as u8).collect();
        assert!(decode::<PhysicalPlan>(&[&good[..10], &noise].concat()).is_err());
    }
}
