//! Packed files read as the bytes they were made of, and damaged ones are refused.
use super::*;
use random::Random;

#[derive(Debug)]
struct Bytes(Vec<u8>);

impl FileReader for Bytes {
    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let from = at as usize;
        let there = from.checked_add(into.len()).and_then(|end| self.0.get(from..end));
        into.copy_from_slice(there.ok_or_else(|| Error::new(SqlState::IoError, "the file ends before"))?);
        Ok(())
    }
    fn describe(&self) -> String {
        "a file".into()
    }
}

/// A head, a text, rising offsets (with three bytes behind them), noise, codes of few values; and where they begin.
fn extents() -> (Vec<u8>, Vec<usize>) {
    let mut random = Random::new(7);
    let mut bytes: Vec<u8> = (0..9000).map(|at| (at % 251) as u8).collect();
    let mut cuts = vec![bytes.len()];
    let words = ["carefully", " final", " deposits", " sleep", " furiously", ", quick", "ly the"];
    while bytes.len() < 1_300_000 {
        bytes.extend(words[random.below(words.len())].as_bytes());
    }
    cuts.push(bytes.len());
    let mut offset = 0u32;
    for _ in 0..200_000 {
        offset += random.below(40) as u32;
        bytes.extend(offset.to_le_bytes());
    }
    bytes.extend([1, 2, 3]);
    cuts.push(bytes.len());
    bytes.extend((0..150_000).map(|_| random.below(256) as u8));
    cuts.push(bytes.len());
    bytes.extend((0..150_000).map(|_| random.below(3) as u8));
    (bytes, cuts)
}

fn opened(packed: Vec<u8>, before: usize) -> Result<Option<PackedReader>> {
    let length = packed.len() as u64;
    let file: Arc<dyn FileReader> = Arc::new(Bytes([vec![9; before], packed].concat()));
    PackedReader::open(&file, before as u64, length)
}

#[test]
fn every_range_comes_back() {
    let (bytes, cuts) = extents();
    let mut sizes = Vec::new();
    for packing in [Packing::Fast, Packing::Small] {
        let packed = pack(&bytes, 8999, &cuts, packing).unwrap();
        sizes.push(packed.len());
        let reader = opened(packed, 4096).unwrap().unwrap();
        let methods: Vec<u32> = reader.pieces.iter().map(|piece| piece.method).collect();
        for method in [AS_IS, FRAME, DIFFERENCES] {
            assert!(methods.contains(&method), "{methods:?}");
        }
        assert_eq!(reader.bytes(), bytes.len() as u64);
        assert_eq!(reader.contents().unwrap(), bytes);
        let mut random = Random::new(3);
        for _ in 0..300 {
            let from = random.below(bytes.len());
            let to = from + random.below((bytes.len() - from).min(700_000) + 1);
            let mut into = vec![0; to - from];
            reader.read_at(from as u64, &mut into).unwrap();
            assert!(into == bytes[from..to], "{from}..{to}");
        }
        assert!(reader.read_at(bytes.len() as u64, &mut [0]).is_err());
        assert!(reader.read_at(u64::MAX, &mut [0]).is_err());
        reader.read_at(bytes.len() as u64, &mut []).unwrap();
    }
    // The text and the offsets shrink to a fraction, the noise stays.
    assert!(sizes[0] < bytes.len() / 3 && sizes[0] > 150_000 && sizes[1] <= sizes[0], "{sizes:?}");
}

#[test]
fn what_does_not_shrink_is_not_packed() {
    let mut random = Random::new(5);
    let noise: Vec<u8> = (0..500_000).map(|_| random.below(256) as u8).collect();
    assert_eq!(pack(&noise, 100, &[100, 400_000], Packing::Small), None);
    assert_eq!(pack(&extents().0, 100, &[], Packing::None), None);
    assert_eq!(pack(&[], 0, &[], Packing::Small), None);
    assert!(opened(noise, 0).unwrap().is_none());
    assert!(opened(Vec::new(), 0).unwrap().is_none());
    for packing in [Packing::None, Packing::Fast, Packing::Small] {
        assert_eq!(Packing::from_name(packing.name()), Some(packing));
    }
}

/// Bytes flipped, cut and overwritten, with the directory's checksum as it was and made right again: an error or bytes,
/// never a panic, and nothing but what the directory says is given memory.
#[test]
fn damaged_bytes_are_errors_or_other_bytes() {
    let (bytes, cuts) = extents();
    let good = pack(&bytes, 9000, &cuts, Packing::Small).unwrap();
    let count = u32::from_le_bytes(good[12..16].try_into().unwrap()) as usize;
    let directory = HEADER_BYTES + count * ENTRY_BYTES;
    let mut random = Random::new(11);
    let (mut refused, mut unreadable, mut other) = (0, 0, 0);
    for round in 0..600 {
        let mut damaged = good.clone();
        // Every other time in the header or the directory.
        let at = random.below(if round % 2 == 0 { directory } else { damaged.len() });
        match round % 5 {
            0 => damaged.truncate(at),
            1 => damaged[at..].iter_mut().take(5).for_each(|byte| *byte = 0xFF),
            _ => damaged[at] ^= 1 << random.below(8),
        }
        if round % 3 == 0 && damaged.len() > directory {
            let checked = [&damaged[..HEADER_BYTES - 8], &damaged[HEADER_BYTES..directory]].concat();
            let checksum = simd::checksum(&checked).to_le_bytes();
            damaged[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&checksum);
        }
        match opened(damaged, 16) {
            Err(_) | Ok(None) => refused += 1,
            Ok(Some(reader)) => {
                let mut into = vec![0; reader.bytes() as usize];
                match reader.read_at(0, &mut into) {
                    Err(_) => unreadable += 1,
                    Ok(()) => other += usize::from(into != bytes),
                }
                // The rest is still to be had.
                let _ = reader.contents();
            }
        }
    }
    assert!(refused > 100 && unreadable > 10 && other > 10, "{refused} {unreadable} {other}");
}

/// What unpacking costs: `cargo test --release -p files -- --ignored --nocapture unpacking`.
#[test]
#[ignore = "a measurement"]
fn unpacking_costs() {
    let (bytes, cuts) = extents();
    let packed = pack(&bytes, 9000, &cuts, Packing::Fast).unwrap();
    let reader = opened(packed, 0).unwrap().unwrap();
    let mut into = vec![0; bytes.len()];
    let began = std::time::Instant::now();
    for _ in 0..100 {
        reader.read_at(0, &mut into).unwrap();
    }
    let seconds = began.elapsed().as_secs_f64() / 100.0;
    println!("{:.2} GB/s unpacked", bytes.len() as f64 / 1e9 / seconds);
}
