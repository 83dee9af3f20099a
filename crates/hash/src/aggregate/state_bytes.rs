//! States of a few floats as bytes, eight a float, so that one aggregation hands them to the next as values.

use vector::{StringBuilder, Strings};

/// A string a state.
pub(super) fn written<const N: usize>(states: impl ExactSizeIterator<Item = [f64; N]>) -> Strings {
    let mut out = StringBuilder::with_capacity(states.len());
    let mut bytes = Vec::with_capacity(N * 8);
    for parts in states {
        bytes.clear();
        parts.iter().for_each(|part| bytes.extend_from_slice(&part.to_le_bytes()));
        out.push(&bytes);
    }
    out.finish()
}

/// The floats of a state; `None` for bytes of another length.
pub(super) fn read<const N: usize>(bytes: &[u8]) -> Option<[f64; N]> {
    let (parts, rest) = bytes.as_chunks::<8>();
    let parts: &[[u8; 8]; N] = parts.try_into().ok().filter(|_| rest.is_empty())?;
    Some(parts.map(f64::from_le_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_written() {
        let states = [[1.0, -0.5, f64::MAX], [0.0, f64::NEG_INFINITY, 1e-300]];
        let written = written(states.into_iter());
        assert_eq!(read(written.get(0)), Some(states[0]));
        assert_eq!(read(written.get(1)), Some(states[1]));
        assert_eq!(read::<2>(written.get(0)), None);
        assert_eq!(read::<3>(&written.get(0)[1..]), None);
    }
}
