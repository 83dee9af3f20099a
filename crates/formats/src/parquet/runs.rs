//! Parquet's hybrid of run lengths and bit-packing, which holds dictionary indices, booleans and definition levels.
//!
//! ```text
//! run      = header (unsigned LEB128), then its values
//! header   = count << 1         one value, in as many whole bytes as the width needs, `count` times
//!          | groups << 1 | 1    groups * 8 values, `width` bits each, lowest bits first
//! ```
//! The bytes are not trusted: whatever they do not hold is `None`.

use bytes::Bytes;

/// Widest value: an index or a level has 32 bits.
pub const WIDTH_MAX: u32 = 32;

enum Run {
    Repeated {
        value: u32,
        left: usize,
    },
    /// Values `next..next + left` of the run whose first value begins at byte `start`.
    Packed {
        start: usize,
        next: usize,
        left: usize,
    },
}

/// The values of a hybrid stream, in order.
pub struct Runs {
    bytes: Bytes,
    /// Where the next run begins.
    at: usize,
    width: u32,
    run: Run,
}

impl Runs {
    /// The stream in `bytes`, of values of `width` bits; `None` when nothing can be that wide.
    pub fn new(bytes: Bytes, width: u32) -> Option<Runs> {
        (width <= WIDTH_MAX).then_some(Runs { bytes, at: 0, width, run: Run::Repeated { value: 0, left: 0 } })
    }

    /// Fills `out` with the next values; `None` when the stream ends before.
    pub fn read(&mut self, out: &mut [u32]) -> Option<()> {
        let mut done = 0;
        while done < out.len() {
            let wanted = &mut out[done..];
            match &mut self.run {
                Run::Repeated { left: 0, .. } | Run::Packed { left: 0, .. } => self.next_run()?,
                Run::Repeated { value, left } => {
                    let count = wanted.len().min(*left);
                    wanted[..count].fill(*value);
                    *left -= count;
                    done += count;
                }
                Run::Packed { start, next, left } => {
                    let count = wanted.len().min(*left);
                    unpack(self.bytes.get(*start..)?, self.width, *next, &mut wanted[..count])?;
                    *next += count;
                    *left -= count;
                    done += count;
                }
            }
        }
        Some(())
    }

    /// When the next `count` values are one repeated, takes them and returns it.
    pub fn read_repeated(&mut self, count: usize) -> Option<u32> {
        if let Run::Repeated { left: 0, .. } | Run::Packed { left: 0, .. } = self.run {
            self.next_run()?;
        }
        match &mut self.run {
            Run::Repeated { value, left } if *left >= count => {
                *left -= count;
                Some(*value)
            }
            _ => None,
        }
    }

    fn next_run(&mut self) -> Option<()> {
        let mut header = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            header |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                break;
            }
            if shift == 28 {
                return None;
            }
        }
        let count = (header >> 1) as usize;
        if header & 1 == 1 {
            // A last group may be cut off behind its last used value, so the length is checked where values are read.
            let bytes = count.checked_mul(self.width as usize)?;
            self.run = Run::Packed { start: self.at, next: 0, left: count.checked_mul(8)? };
            self.at = self.at.saturating_add(bytes);
        } else {
            let length = self.width.div_ceil(8) as usize;
            let mut raw = [0u8; 4];
            raw[..length].copy_from_slice(self.bytes.get(self.at..self.at + length)?);
            self.at += length;
            self.run = Run::Repeated { value: u32::from_le_bytes(raw), left: count };
        }
        // A run of nothing makes progress in the bytes, so that reading ends.
        Some(())
    }
}

/// Bytes from which eight values of any width can be read without looking at the end.
const GROUP_BYTES: usize = 40;

/// The values `first..first + out.len()` of a bit-packed run; `None` when the bytes end before.
fn unpack(bytes: &[u8], width: u32, first: usize, out: &mut [u32]) -> Option<()> {
    let end_bit = (first + out.len()).checked_mul(width as usize)?;
    if end_bit.div_ceil(8) > bytes.len() {
        return None;
    }
    // Up to the next whole group, and behind the last one, value by value.
    let head = (first.next_multiple_of(8) - first).min(out.len());
    let (head, rest) = out.split_at_mut(head);
    unpack_each(bytes, width, first, head);
    let groups = rest.len() / 8 * 8;
    let (whole, tail) = rest.split_at_mut(groups);
    let from = first.next_multiple_of(8);
    macro_rules! by_width {
        ($($w:literal)*) => {
            match width {
                0 => whole.fill(0),
                $($w => unpack_groups::<$w>(bytes.get(from / 8 * $w..).unwrap_or(&[]), whole),)*
                _ => return None,
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
    unpack_each(bytes, width, from + groups, tail);
    Some(())
}

/// Values one at a time; they lie inside `bytes`.
fn unpack_each(bytes: &[u8], width: u32, first: usize, out: &mut [u32]) {
    let mask = (1u64 << width) - 1;
    for (i, value) in out.iter_mut().enumerate() {
        let bit = (first + i) * width as usize;
        let mut raw = [0u8; 8];
        let from = bytes.get(bit / 8..).unwrap_or(&[]);
        let length = from.len().min(8);
        raw[..length].copy_from_slice(&from[..length]);
        *value = ((u64::from_le_bytes(raw) >> (bit % 8)) & mask) as u32;
    }
}

/// Whole groups of eight values, `W` bytes each. With the width a constant, every load, shift and mask is one, too.
fn unpack_groups<const W: usize>(bytes: &[u8], out: &mut [u32]) {
    for (group, out) in out.chunks_exact_mut(8).enumerate() {
        let from = bytes.get(group * W..).unwrap_or(&[]);
        let mut padded = [0u8; GROUP_BYTES];
        let raw: &[u8; GROUP_BYTES] = match from.first_chunk::<GROUP_BYTES>() {
            Some(raw) => raw,
            None => {
                padded[..from.len()].copy_from_slice(from);
                &padded
            }
        };
        for (i, value) in out.iter_mut().enumerate() {
            let bit = i * W;
            let mut word = [0u8; 8];
            word.copy_from_slice(&raw[bit / 8..bit / 8 + 8]);
            *value = ((u64::from_le_bytes(word) >> (bit % 8)) & ((1u64 << W) - 1)) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Random;

    /// The values bit-packed by the definition.
    fn packed(values: &[u32], width: u32) -> Vec<u8> {
        let mut bytes = vec![0u8; (values.len() * width as usize).div_ceil(8)];
        for (i, value) in values.iter().enumerate() {
            for bit in 0..width as usize {
                let at = i * width as usize + bit;
                bytes[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
            }
        }
        bytes
    }

    fn header(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    /// A stream of random runs and what it holds.
    fn stream(width: u32, random: &mut Random) -> (Vec<u8>, Vec<u32>) {
        let mask = ((1u64 << width) - 1) as u32;
        let (mut bytes, mut values) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.below(6) {
            if random.below(2) == 0 {
                let (value, count) = (random.bits() as u32 & mask, random.below(300));
                header((count as u64) << 1, &mut bytes);
                bytes.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
                values.extend(std::iter::repeat_n(value, count));
            } else {
                let groups = random.below(20);
                let run: Vec<u32> = (0..groups * 8).map(|_| random.bits() as u32 & mask).collect();
                header((groups as u64) << 1 | 1, &mut bytes);
                bytes.extend(packed(&run, width));
                values.extend(run);
            }
        }
        (bytes, values)
    }

    #[test]
    fn streams_of_every_width_come_back_in_any_steps() {
        let mut random = Random::new(41);
        for width in 0..=32 {
            for _ in 0..40 {
                let (bytes, expected) = stream(width, &mut random);
                let mut runs = Runs::new(Bytes::from(bytes), width).unwrap();
                let mut got = Vec::new();
                while got.len() < expected.len() {
                    let step = (1 + random.below(70)).min(expected.len() - got.len());
                    let mut part = vec![0; step];
                    match runs.read_repeated(step) {
                        Some(value) => part.fill(value),
                        None => runs.read(&mut part).unwrap(),
                    }
                    got.extend(part);
                }
                assert_eq!(got, expected, "width {width}");
                assert_eq!(runs.read(&mut [0]), None, "nothing behind the end");
            }
        }
    }

    #[test]
    fn cut_streams_end() {
        let mut random = Random::new(42);
        for width in [1, 3, 7, 8, 13, 32] {
            let (bytes, expected) = stream(width, &mut random);
            for cut in 0..bytes.len() {
                let mut runs = Runs::new(Bytes::from(bytes[..cut].to_vec()), width).unwrap();
                let mut all = vec![0; expected.len()];
                if runs.read(&mut all).is_some() {
                    assert_eq!(all, expected, "cut at {cut}");
                }
            }
        }
        assert!(Runs::new(Bytes::new(), 33).is_none());
        // A length that never ends, and one of more values than there is memory for.
        assert_eq!(Runs::new(Bytes::from(vec![0xFF; 20]), 1).unwrap().read(&mut [0; 4]), None);
        assert_eq!(
            Runs::new(Bytes::from(vec![0xFF, 0xFF, 0xFF, 0xFF, 0x0F]), 32).unwrap().read(&mut [0]),
            None
        );
    }
}
