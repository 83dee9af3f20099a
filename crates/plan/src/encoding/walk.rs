//! A first look at MessagePack: whether it is one whole value, and how deep it is.

use types::{Error, Result, SqlState};

use super::refused;

/// How deep the arrays and maps of the value are nested that `bytes` hold, all of them and nothing else. Every length
/// that is told is there: an array of so many elements has so many bytes at least. Deeper than `depth_max` is an error.
pub(super) fn depth(bytes: &[u8], depth_max: usize) -> Result<usize> {
    // Values that are still to come, of each array and map that is open. A map's keys and values count each.
    let mut open: Vec<usize> = vec![1];
    let mut at = 0;
    let mut deepest = 0;
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        let (skip, items) = head(&bytes[at..]).ok_or_else(|| refused("they end early, or are damaged"))?;
        at += skip;
        // So many values need a byte each.
        if at > bytes.len() || items.is_some_and(|items| items > bytes.len() - at) {
            return Err(refused("they end early"));
        }
        if let Some(items) = items {
            // The first entry is the whole.
            deepest = deepest.max(open.len());
            if open.len() > depth_max {
                return Err(Error::new(SqlState::StatementTooComplex, "the plan is nested too deeply"));
            }
            open.push(items);
        }
    }
    if at == bytes.len() { Ok(deepest) } else { Err(refused("more follows the plan")) }
}

/// The bytes of the value that begins here, without those of the values inside, and how many those are for arrays and
/// maps. `None` where there is none, or one of a kind that plans do not have.
fn head(bytes: &[u8]) -> Option<(usize, Option<usize>)> {
    let number = |width: usize| {
        let told = bytes.get(1..1 + width)?;
        Some(told.iter().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    let marker = *bytes.first()?;
    Some(match marker {
        0x00..=0x7F | 0xC0 | 0xC2 | 0xC3 | 0xE0..=0xFF => (1, None),
        0x80..=0x8F => (1, Some(usize::from(marker & 0x0F) * 2)),
        0x90..=0x9F => (1, Some(usize::from(marker & 0x0F))),
        0xA0..=0xBF => (1 + usize::from(marker & 0x1F), None),
        0xC4 | 0xD9 => (2 + number(1)?, None),
        0xC5 | 0xDA => (3 + number(2)?, None),
        0xC6 | 0xDB => (5 + number(4)?, None),
        0xCC | 0xD0 => (2, None),
        0xCD | 0xD1 => (3, None),
        0xCA | 0xCE | 0xD2 => (5, None),
        0xCB | 0xCF | 0xD3 => (9, None),
        0xDC => (3, Some(number(2)?)),
        0xDD => (5, Some(number(4)?)),
        0xDE => (3, Some(number(2)?.checked_mul(2)?)),
        0xDF => (5, Some(number(4)?.checked_mul(2)?)),
        // Extensions, and what the format leaves out.
        0xC1 | 0xC7..=0xC9 | 0xD4..=0xD8 => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_values_are_walked() {
        assert_eq!(depth(&[0x07], 10).unwrap(), 0);
        assert_eq!(depth(&[0x92, 0x91, 0xC0, 0x81, 0xA1, b'a', 0xCD, 1, 2], 10).unwrap(), 2);
        assert_eq!(depth(&[0x90], 10).unwrap(), 1);
        let deep = |levels: usize| [vec![0x91; levels], vec![0x01]].concat();
        assert_eq!(depth(&deep(10), 10).unwrap(), 10);
        assert_eq!(depth(&deep(11), 10).unwrap_err().state(), SqlState::StatementTooComplex);
    }

    #[test]
    fn what_is_told_must_be_there() {
        for wrong in [
            &[][..],
            &[0x91],
            &[0x07, 0x07],
            &[0xA3, b'a'],
            &[0xDD, 0xFF, 0xFF, 0xFF, 0xFF, 0x00],
            &[0xDF, 0x80, 0x00, 0x00, 0x00, 0x00],
            &[0xC6, 0xFF, 0xFF, 0xFF, 0xFF],
            &[0xC1],
            &[0xD4, 0, 0],
            &[0xCB, 0, 0],
            &[0x92, 0x93, 0x01, 0x01],
        ] {
            assert_eq!(depth(wrong, 100).unwrap_err().state(), SqlState::DataCorrupted, "{wrong:?}");
        }
    }
}
