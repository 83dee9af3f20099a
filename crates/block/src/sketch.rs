//! Distinct counts by a mergeable sketch: HyperLogLog (Flajolet et al., 2007) with 1024 registers, standard error 3 %.
//!
//! The hash of a value depends on the value alone, not on its coding or its place, so that sketches of blocks merge
//! into a table's. Sketches are made while a block is encoded and are not part of its bytes: they can be made again
//! from them. Deviation from the paper: no correction for large counts, which 64-bit hashes do not need.

use vector::{Data, Vector};

/// log2 of the number of registers.
const INDEX_BITS: u32 = 10;
/// Registers of a sketch, a byte each.
pub const REGISTERS: usize = 1 << INDEX_BITS;

/// A mergeable approximate count of distinct values, in 1 KiB: per register the highest rank of a hash that fell to
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    registers: Box<[u8; REGISTERS]>,
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch { registers: Box::new([0; REGISTERS]) }
    }
}

const MIX_A: u64 = 0xBF58_476D_1CE4_E5B9;
const MIX_B: u64 = 0x94D0_49BB_1331_11EB;

/// Spreads 64 bits over 64 bits.
#[inline(always)]
pub fn hash_u64(value: u64) -> u64 {
    let mut h = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    h = (h ^ (h >> 30)).wrapping_mul(MIX_A);
    h = (h ^ (h >> 27)).wrapping_mul(MIX_B);
    h ^ (h >> 31)
}

/// Hash of an integer, the same in columns of every width.
#[inline(always)]
pub fn hash_i128(value: i128) -> u64 {
    let (low, high) = (value as u64, (value >> 64) as u64);
    // Values that fit 64 bits hash as such, whatever the column's width.
    if high == 0 && low <= i64::MAX as u64 || high == u64::MAX && low > i64::MAX as u64 {
        hash_u64(low)
    } else {
        hash_u64(low ^ hash_u64(high))
    }
}

/// Hash of a string's bytes. Of long strings only the length, the first 16 and the last 16 bytes count: enough to
/// tell apart nearly all that differ, and its cost is bounded. Not for hash tables that compare by hash alone.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    let word = |at: usize| {
        let mut raw = [0; 8];
        raw.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(raw)
    };
    let (a, b, c, d) = if n >= 16 {
        (word(0), word(8), word(n - 16), word(n - 8))
    } else if n >= 8 {
        (word(0), word(n - 8), 0, 0)
    } else {
        let mut raw = [0; 8];
        raw[..n].copy_from_slice(bytes);
        (u64::from_le_bytes(raw), 0, 0, 0)
    };
    let low = (a ^ MIX_A).wrapping_mul(MIX_B) ^ c.rotate_left(23);
    let high = (b ^ MIX_B).wrapping_mul(MIX_A) ^ d.rotate_left(41);
    hash_u64(low ^ high.rotate_left(32) ^ (n as u64) << 3)
}

/// NaN is one value and zero has one sign, as in comparisons.
#[inline(always)]
pub fn hash_f64(value: f64) -> u64 {
    let canonical = if value.is_nan() { f64::NAN } else { value + 0.0 };
    hash_u64(canonical.to_bits())
}

impl Sketch {
    /// Counts a value by its hash; a hash counts once however often it comes.
    #[inline(always)]
    pub fn add_hash(&mut self, hash: u64) {
        let index = (hash >> (64 - INDEX_BITS)) as usize;
        // The lowest bit stops the count where the hash ends.
        let rank = ((hash << INDEX_BITS) | (1 << (INDEX_BITS - 1))).leading_zeros() as u8 + 1;
        let register = &mut self.registers[index];
        *register = (*register).max(rank);
    }
    /// The sketch's whole state, as it is stored.
    pub fn registers(&self) -> &[u8; REGISTERS] {
        &self.registers
    }
    /// A sketch that was stored.
    pub fn from_registers(registers: [u8; REGISTERS]) -> Self {
        Sketch { registers: Box::new(registers) }
    }
    /// Counts everything that `other` has counted, too.
    pub fn merge(&mut self, other: &Sketch) {
        for (mine, theirs) in self.registers.iter_mut().zip(other.registers.iter()) {
            *mine = (*mine).max(*theirs);
        }
    }
    /// The estimated number of distinct values added, 0 for none; the standard error is 3 %.
    pub fn estimate(&self) -> u64 {
        let m = REGISTERS as f64;
        let (mut sum, mut zeros) = (0.0, 0u32);
        for register in self.registers.iter() {
            sum += 1.0 / (1u64 << (*register).min(63)) as f64;
            zeros += u32::from(*register == 0);
        }
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let estimate = if raw <= 2.5 * m && zeros > 0 { m * (m / f64::from(zeros)).ln() } else { raw };
        estimate.round() as u64
    }
}

/// Adds the values of a vector that are not NULL.
pub(crate) fn add_to_sketch(vector: &Vector, sketch: &mut Sketch) {
    let flat = vector.flatten();
    let present = |row: usize| !flat.is_null(row);
    macro_rules! add {
        ($values:expr, $hash:expr) => {
            for (row, value) in $values.iter().enumerate() {
                if present(row) {
                    sketch.add_hash($hash(*value));
                }
            }
        };
    }
    match flat.data() {
        Data::Bool(b) => {
            for row in (0..b.len()).filter(|row| present(*row)) {
                sketch.add_hash(hash_u64(u64::from(b.value(row))));
            }
        }
        Data::I16(v) => add!(v, |x: i16| hash_i128(i128::from(x))),
        Data::I32(v) => add!(v, |x: i32| hash_i128(i128::from(x))),
        Data::I64(v) => add!(v, |x: i64| hash_i128(i128::from(x))),
        Data::I128(v) => add!(v, hash_i128),
        Data::F32(v) => add!(v, |x: f32| hash_f64(f64::from(x))),
        Data::F64(v) => add!(v, hash_f64),
        Data::Bytes(s) => {
            for (row, bytes) in s.iter().enumerate().filter(|(row, _)| !flat.is_null(*row)) {
                let _ = row;
                sketch.add_hash(hash_bytes(bytes));
            }
        }
        Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => unreachable!("flattened above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_and_merges() {
        for n in [0u64, 1, 25, 1000, 50_000, 1_000_000] {
            let (mut even, mut odd) = (Sketch::default(), Sketch::default());
            for v in 0..n {
                let target = if v % 2 == 0 { &mut even } else { &mut odd };
                target.add_hash(hash_i128(i128::from(v) * 7 - 100));
                target.add_hash(hash_i128(i128::from(v) * 7 - 100));
            }
            even.merge(&odd);
            let got = even.estimate() as f64;
            assert!((got - n as f64).abs() <= n as f64 * 0.1 + 1.0, "{got} for {n}");
        }
        let mut strings = Sketch::default();
        for v in 0..20_000 {
            strings.add_hash(hash_bytes(format!("Customer#{v:09}").as_bytes()));
        }
        assert!((18_000..22_000).contains(&strings.estimate()), "{}", strings.estimate());
    }
}
