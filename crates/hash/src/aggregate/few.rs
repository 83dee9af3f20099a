//! Counting values of which few are different: the mode and the entropy of most columns.

/// With more different values sorting them is as fast.
const DIFFERENT_MAX: usize = 4096;
/// Slots of the table: it is at most half full.
const SLOTS: usize = DIFFERENT_MAX * 2;

/// How often each value comes, in the order in which they came first; `None` where too many are different. `hash` spreads
/// over all 64 bits.
pub(super) fn counts<T: Copy>(
    values: &[T],
    hash: impl Fn(T) -> u64,
    same: impl Fn(T, T) -> bool,
) -> Option<Vec<(T, usize)>> {
    let mut slots = vec![0u16; SLOTS];
    let mut found: Vec<(T, usize)> = Vec::new();
    for value in values {
        let mut at = (hash(*value) >> 32) as usize % SLOTS;
        loop {
            match usize::from(slots[at]).checked_sub(1) {
                None if found.len() == DIFFERENT_MAX => return None,
                None => {
                    found.push((*value, 1));
                    // At most 4,096.
                    slots[at] = found.len() as u16;
                    break;
                }
                Some(known) if same(found[known].0, *value) => {
                    found[known].1 += 1;
                    break;
                }
                Some(_) => at = (at + 1) % SLOTS,
            }
        }
    }
    Some(found)
}

/// The most frequent value, the least of several.
pub(super) fn most_frequent<T: Copy>(
    counts: &[(T, usize)],
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Option<T> {
    counts.iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| order(&b.0, &a.0))).map(|(value, _)| *value)
}

/// The entropy of the values' shares, in bits.
pub(super) fn entropy<T>(counts: &[(T, usize)]) -> f64 {
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    let shares = counts.iter().map(|(_, count)| *count as f64 / total as f64);
    // One value has none: no -0.
    (-shares.map(|share| share * share.log2()).sum::<f64>()).max(0.0) + 0.0
}

/// A hash of a whole number.
pub(super) fn spread(value: u64) -> u64 {
    let product = u128::from(value ^ 0xD6E8_FEB8_6659_FD93) * 0x9E37_79B9_7F4A_7C15;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_counted_and_many_are_not() {
        let values: Vec<i64> = (0..10_000).map(|i| i % 37 - 5).collect();
        let found = counts(&values, |v| spread(v as u64), |a, b| a == b).unwrap();
        assert_eq!(found.len(), 37);
        assert_eq!(found.iter().map(|(_, n)| n).sum::<usize>(), 10_000);
        // 10,000 is 270 times 37 and 10 more: the first ten values come once more often, the least of them is -5.
        assert_eq!(most_frequent(&found, i64::cmp), Some(-5));
        assert!((entropy(&found) - 37f64.log2()).abs() < 1e-5);
        let different: Vec<i64> = (0..5_000).collect();
        assert!(counts(&different, |v| spread(v as u64), |a, b| a == b).is_none());
        // All in one slot: slow, and right.
        assert_eq!(counts(&values[..300], |_| 7, |a, b| a == b).unwrap().len(), 37);
        assert_eq!(most_frequent(&counts(&[0i64; 0], |_| 0, |a, b| a == b).unwrap(), i64::cmp), None);
    }
}
