//! Definition levels of flat columns: which rows of a page are NULL.

use arrow_buffer::NullBufferBuilder;
use bytes::Bytes;

use super::runs::Runs;

/// Levels looked at together.
const STEP: usize = 1024;

/// What tells the NULLs of a page; rows are taken in order.
pub enum Levels {
    /// The column has none.
    Required,
    Runs(Runs),
    /// The deprecated plain bit-packing: one bit a row, highest bits first.
    Bits {
        bytes: Bytes,
        next: usize,
    },
}

impl Levels {
    /// Takes `rows` rows, appends their validity and returns how many are not NULL; `None` when the bytes end before.
    pub fn take(&mut self, rows: usize, validity: &mut NullBufferBuilder) -> Option<usize> {
        match self {
            Levels::Required => {
                validity.append_n_non_nulls(rows);
                Some(rows)
            }
            Levels::Runs(runs) => {
                let (mut left, mut present) = (rows, 0);
                let mut levels = [0u32; STEP];
                while left > 0 {
                    let step = left.min(STEP);
                    match runs.read_repeated(step) {
                        Some(1) => {
                            validity.append_n_non_nulls(step);
                            present += step;
                        }
                        Some(_) => validity.append_n_nulls(step),
                        None => {
                            let levels = &mut levels[..step];
                            runs.read(levels)?;
                            for level in levels {
                                validity.append(*level == 1);
                                present += usize::from(*level == 1);
                            }
                        }
                    }
                    left -= step;
                }
                Some(present)
            }
            Levels::Bits { bytes, next } => {
                let mut present = 0;
                for row in *next..*next + rows {
                    let valid = bytes.get(row / 8)? >> (7 - row % 8) & 1 == 1;
                    validity.append(valid);
                    present += usize::from(valid);
                }
                *next += rows;
                Some(present)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_tell_the_same() {
        let valid: Vec<bool> = (0..64).map(|i| i % 3 != 1 && i < 50).collect();
        let (mut low, mut high) = (vec![8 << 1 | 1], vec![0u8; 8]);
        low.extend([0u8; 8]);
        for (row, valid) in valid.iter().enumerate() {
            low[1 + row / 8] |= u8::from(*valid) << (row % 8);
            high[row / 8] |= u8::from(*valid) << (7 - row % 8);
        }
        let runs = Runs::new(Bytes::from(low), 1).unwrap();
        for mut levels in [Levels::Runs(runs), Levels::Bits { bytes: Bytes::from(high), next: 0 }] {
            let mut builder = NullBufferBuilder::new(64);
            let mut present = 0;
            for rows in [1, 9, 30, 24] {
                present += levels.take(rows, &mut builder).unwrap();
            }
            let nulls = builder.finish().unwrap();
            assert_eq!(nulls.iter().collect::<Vec<_>>(), valid);
            assert_eq!(present, 64 - nulls.null_count());
            assert!(levels.take(1, &mut NullBufferBuilder::new(1)).is_none());
        }
    }
}
