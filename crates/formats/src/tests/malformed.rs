//! Damage of every kind, from seeds: rows or an error, nothing else, and soon.

use std::time::{Duration, Instant};

use super::arrow_files::{file_of, stream_of};
use super::parquet_files::{sample, written};
use super::{Random, Scratch, read_all};

const INPUTS: u64 = 200;

/// One way of damage: bits flipped, the end cut off, a part repeated or put elsewhere, a stretch overwritten.
fn damaged(sound: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    let length = bytes.len();
    match random.below(6) {
        0 => {
            for _ in 0..=random.below(8) {
                let at = random.below(length);
                bytes[at] ^= 1 << random.below(8);
            }
        }
        // The end holds the footer, where a flipped bit does most.
        1 => {
            let tail = length.min(1 + random.below(2000));
            let at = length - 1 - random.below(tail);
            bytes[at] = random.bits() as u8;
        }
        2 => bytes.truncate(random.below(length)),
        3 => {
            let (from, to) = (random.below(length), random.below(length));
            let part = sound[from.min(to)..from.max(to)].to_vec();
            let at = random.below(length);
            bytes.splice(at..at, part);
        }
        4 => {
            let from = random.below(length);
            let to = (from + random.below(64)).min(length);
            let fill = random.bits() as u8;
            bytes[from..to].fill(fill);
        }
        _ => {
            let from = random.below(length);
            let to = (from + random.below(200)).min(length);
            bytes.drain(from..to);
        }
    }
    bytes
}

fn endure(name: &str, sound: &[u8]) {
    let file = Scratch::new(name, sound);
    read_all(file.path()).unwrap();
    let mut errors = 0;
    for seed in 0..INPUTS {
        let bytes = damaged(sound, &mut Random::new(seed));
        let file = Scratch::new(name, &bytes);
        let begin = Instant::now();
        if let Err(e) = read_all(file.path()) {
            assert!(!e.message().is_empty() && e.state().code() != "XX000", "seed {seed}: {e}");
            errors += 1;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "seed {seed} of {name} takes too long");
    }
    assert!(errors > 0, "no damage to {name} was noticed");
}

#[test]
fn parquet() {
    let (_, batch) = sample(300, 4);
    endure("bad.parquet", &written(&batch, 100, 50));
}

#[test]
fn arrow_file() {
    let (_, batch) = sample(200, 5);
    endure("bad.arrow", &file_of(&[batch.slice(0, 90), batch.slice(90, 110)]));
}

#[test]
fn arrow_stream() {
    let (_, batch) = sample(200, 6);
    endure("bad.arrows", &stream_of(&[batch.slice(0, 90), batch.slice(90, 110)]));
}

#[test]
fn csv() {
    let mut text = String::from("id,name,price,day\n");
    for row in 0..300 {
        text.push_str(&format!("{row},\"na\"\"me, {row}\",{}.25,2020-01-{:02}\r\n", row * 3, row % 28 + 1));
    }
    endure("bad.csv", text.as_bytes());
    let table: String = (0..300).map(|r| format!("{r}|text {r}|{}.5|2021-02-03|\n", r)).collect();
    endure("bad.tbl", table.as_bytes());
}
