//! Every kernel at every level against the definition, on seeded random data.
//!
//! Each test runs a kernel at all of `Level::available()`, on lengths around whole words and vectors (`lengths`), and
//! compares it with a plain loop that states what the kernel means. Seeds are fixed, so that failures repeat. A level
//! that the processor does not have is not tested there.

use crate::indices::append_indices_at;
use crate::lookup::and_lookup_at;
use crate::range::{and_float_range_at, and_range_at, range_anew_at};
use crate::*;
pub(crate) use random::Random;

fn lengths() -> impl Iterator<Item = usize> {
    [0, 1, 7, 63, 64, 65, 127, 128, 200, 1000, 4096, 4133].into_iter()
}

fn random_words(random: &mut Random, rows: usize) -> Bitmap {
    Bitmap::from_fn(rows, |_| random.below(4) > 0)
}

macro_rules! range_test {
    ($name:ident, $ty:ty) => {
        #[test]
        fn $name() {
            let mut random = Random::new(41);
            for level in Level::available() {
                for rows in lengths() {
                    for narrow in [true, false] {
                        let mut value = || -> $ty {
                            let v = random.bits();
                            if narrow { (v % 17) as $ty } else { v as $ty }
                        };
                        let values: Vec<$ty> = (0..rows).map(|_| value()).collect();
                        let ends = [value(), value(), <$ty>::MIN, <$ty>::MAX];
                        for low in ends {
                            for high in ends {
                                for negate in [false, true] {
                                    let start = random_words(&mut random, rows);
                                    let mut got = start.clone();
                                    and_range_at(level, &values, low, high, negate, got.words_mut());
                                    let expected = Bitmap::from_fn(rows, |i| {
                                        start.get(i) && ((low <= values[i] && values[i] <= high) != negate)
                                    });
                                    assert_eq!(got, expected, "{level:?} {rows} {low}..={high} {negate}");
                                    let mut got = start.clone();
                                    range_anew_at(level, &values, low, high, negate, got.words_mut());
                                    let passes = |i: usize| (low <= values[i] && values[i] <= high) != negate;
                                    let expected = Bitmap::from_fn(rows, passes);
                                    assert_eq!(got, expected, "anew, {rows} {low}..={high} {negate}");
                                }
                            }
                        }
                    }
                }
            }
        }
    };
}
range_test!(range_u8, u8);
range_test!(range_u16, u16);
range_test!(range_u32, u32);
range_test!(range_u64, u64);
range_test!(range_i16, i16);
range_test!(range_i32, i32);
range_test!(range_i64, i64);

macro_rules! float_test {
    ($name:ident, $ty:ty) => {
        #[test]
        fn $name() {
            let mut random = Random::new(43);
            let special = [<$ty>::NAN, <$ty>::INFINITY, <$ty>::NEG_INFINITY, 0.0, -0.0, <$ty>::MAX];
            for level in Level::available() {
                for rows in lengths() {
                    let mut value = || -> $ty {
                        if random.below(3) == 0 {
                            special[random.below(6) as usize]
                        } else {
                            random.below(9) as $ty - 4.0
                        }
                    };
                    let values: Vec<$ty> = (0..rows).map(|_| value()).collect();
                    for (low, high) in
                        [(value(), value()), (value(), value()), (<$ty>::NEG_INFINITY, 1.0), (1.0, 1.0)]
                    {
                        for (nan, negate) in [(false, false), (false, true), (true, false), (true, true)] {
                            let mut got = Bitmap::full(rows);
                            and_float_range_at(level, &values, low, high, nan, negate, got.words_mut());
                            let expected = Bitmap::from_fn(rows, |i| {
                                let v = values[i];
                                ((low <= v && v <= high) || (nan && v.is_nan())) != negate
                            });
                            assert_eq!(got, expected, "{level:?} {rows} {low}..={high} {nan} {negate}");
                        }
                    }
                }
            }
        }
    };
}
float_test!(range_f32, f32);
float_test!(range_f64, f64);

fn lookup_test<T: Code>(distinct: usize) {
    let mut random = Random::new(distinct as u64 + 1);
    for level in Level::available() {
        for rows in lengths() {
            // Some codes lie past the table: they are never accepted.
            let limit = (distinct as u64 + 3).min(T::MAX.to_u64());
            let codes: Vec<T> = (0..rows).map(|_| T::truncate(random.bits() % (limit + 1))).collect();
            let accept: Vec<bool> = (0..distinct).map(|_| random.below(3) == 0).collect();
            let table = CodeTable::new(accept.iter().copied());
            for negate in [false, true] {
                let start = random_words(&mut random, rows);
                let mut got = start.clone();
                and_lookup_at(level, &codes, &table, negate, got.words_mut());
                let expected = Bitmap::from_fn(rows, |i| {
                    let hit = accept.get(codes[i].to_u64() as usize).copied().unwrap_or(false);
                    start.get(i) && hit != negate
                });
                assert_eq!(got, expected, "{level:?} {rows} {distinct} {negate}");
            }
        }
    }
}

#[test]
fn lookups() {
    for distinct in [0, 1, 5, 200, 256] {
        lookup_test::<u8>(distinct);
    }
    for distinct in [0, 1, 5, 300, 5000, 65536] {
        lookup_test::<u16>(distinct);
        lookup_test::<u32>(distinct);
    }
}

#[test]
fn runs_of_accepted_codes() {
    let run = |bits: &[u8]| CodeTable::new(bits.iter().map(|b| *b == 1)).as_run();
    assert_eq!(run(&[0, 1, 1, 0]), Some((1, 2)));
    assert_eq!(run(&[1]), Some((0, 0)));
    assert_eq!(run(&[1, 0, 1]), None);
    assert_eq!(run(&[0, 0]), None);
}

#[test]
fn indices_agree_with_the_bits() {
    let mut random = Random::new(5);
    for level in Level::available() {
        for density in [0, 1, 2, 8, 64, 1000] {
            for words in [0usize, 1, 2, 9, 70] {
                let bits: Vec<u64> = (0..words)
                    .map(|_| (0..64).fold(0, |w, b| w | u64::from(random.below(1000) < density) << b))
                    .collect();
                let mut got = vec![7];
                append_indices_at(level, &bits, 100, &mut got);
                let mut expected = vec![7];
                for row in 0..words * 64 {
                    if bits[row / 64] >> (row % 64) & 1 == 1 {
                        expected.push(100 + row as u32);
                    }
                }
                assert_eq!(got, expected, "{level:?} {density} {words}");
            }
        }
    }
}

#[test]
fn bitmap_ranges_and_batches() {
    let mut random = Random::new(77);
    for rows in [1usize, 64, 65, 300, 1000] {
        let bitmap = Bitmap::from_fn(rows, |_| random.below(3) > 0);
        let all: Vec<u32> = (0..rows as u32).filter(|r| bitmap.get(*r as usize)).collect();
        assert_eq!(bitmap.to_indices(), all);
        assert_eq!(bitmap.count(), all.len());
        for _ in 0..50 {
            let (a, b) = (random.below(rows as u64 + 1) as usize, random.below(rows as u64 + 1) as usize);
            let (from, to) = (a.min(b), a.max(b));
            let mut got = Vec::new();
            bitmap.append_indices(from..to, &mut got);
            let expected: Vec<u32> =
                all.iter().copied().filter(|r| (from..to).contains(&(*r as usize))).collect();
            assert_eq!(got, expected);
            assert_eq!(bitmap.count_range(from..to), expected.len());
            let mut changed = bitmap.clone();
            changed.clear_range(from..to);
            assert_eq!(changed.count(), all.len() - expected.len());
            changed.set_range(from..to);
            assert_eq!(changed.count(), all.len() - expected.len() + (to - from));
        }
        for limit in [1, 5, 64, 100, 5000] {
            let (mut from, mut got) = (0, Vec::new());
            while from < rows {
                let before = got.len();
                from = bitmap.take_indices(from, limit, &mut got);
                assert!(got.len() - before <= limit);
            }
            assert_eq!(got, all, "limit {limit}");
        }
        let shift = random.below(100) as usize;
        let bits: Vec<u64> = (0..(rows + shift).div_ceil(64)).map(|_| random.bits()).collect();
        let (mut with, mut without) = (bitmap.clone(), bitmap.clone());
        with.and_bits(&bits, shift);
        without.and_not_bits(&bits, shift);
        for row in 0..rows {
            let bit = bits[(row + shift) / 64] >> ((row + shift) % 64) & 1 == 1;
            assert_eq!(with.get(row), bitmap.get(row) && bit);
            assert_eq!(without.get(row), bitmap.get(row) && !bit);
        }
        let mut next = Vec::new();
        let mut at = 0;
        while let Some(row) = bitmap.next_set(at) {
            next.push(row as u32);
            at = row + 1;
        }
        assert_eq!(next, all);
    }
}

#[test]
fn bounds_of_numbers() {
    assert_eq!(bounds::<i64>(&[]), None);
    assert_eq!(bounds(&[3i64, -7, 12, 0]), Some((-7, 12)));
    assert_eq!(bounds(&[i128::MAX, i128::MIN]), Some((i128::MIN, i128::MAX)));
    let b = float_bounds(&[1.0, f64::NAN, -2.5]);
    assert_eq!((b.range, b.nan), (Some((-2.5, 1.0)), true));
    assert_eq!(float_bounds(&[f64::NAN]).range, None);
    assert_eq!(float_bounds(&[f32::INFINITY]).range, Some((f32::INFINITY, f32::INFINITY)));
}

#[test]
fn narrow_and_widen_are_inverse() {
    let mut random = Random::new(9);
    for rows in lengths() {
        for step in [1i64, 100, 1_000_000] {
            let base = -5_000_000_000i64;
            let values: Vec<i64> = (0..rows).map(|_| base + random.below(60_000) as i64 * step).collect();
            let mut codes = vec![0u16; rows];
            narrow(&values, base, step, &mut codes);
            let mut back = Vec::new();
            widen(&codes, base, step, &mut back);
            assert_eq!(back, values);
            let picked: Vec<u32> = (0..rows as u32).filter(|r| r % 3 == 1).collect();
            let mut some = Vec::new();
            widen_rows(&codes, &picked, base, step, &mut some);
            assert!(some.iter().zip(&picked).all(|(v, r)| *v == values[*r as usize]));
            assert_eq!(some.len(), picked.len());
        }
    }
}

#[test]
fn a_changed_bit_changes_the_checksum() {
    let mut random = Random::new(3);
    for length in [0usize, 1, 8, 9, 255, 256, 257, 5000] {
        let mut bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        let sum = checksum(&bytes);
        for _ in 0..300.min(length * 8) {
            let bit = random.below(length as u64 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(&bytes), sum);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(checksum(&bytes), sum);
        bytes.push(0);
        assert_ne!(checksum(&bytes), sum);
    }
}

#[test]
fn kernels_run_at_every_level() {
    struct Sum<'a>(&'a [u32]);
    impl Kernel for Sum<'_> {
        type Output = u64;
        #[inline(always)]
        fn run(self) -> u64 {
            self.0.iter().map(|v| u64::from(*v)).sum()
        }
    }
    for level in Level::available() {
        assert_eq!(run_at(level, Sum(&[1, 2, 3])), 6);
    }
}

#[test]
fn sums_of_few_groups() {
    use crate::groups::sum_few_groups_at;
    let mut random = Random::new(57);
    for level in Level::available() {
        for rows in lengths() {
            for count in 0..=FEW_GROUPS {
                // Some rows are of groups without a sum: they are left out.
                let groups: Vec<u32> = (0..rows).map(|_| random.below(count as u64 + 3) as u32).collect();
                let values: Vec<i64> = (0..rows).map(|_| random.bits() as i64).collect();
                let start: Vec<i64> = (0..count).map(|_| random.bits() as i64).collect();
                let mut got = start.clone();
                sum_few_groups_at(level, &groups, &values, &mut got);
                let mut expected = start;
                for (group, value) in groups.iter().zip(&values) {
                    if let Some(sum) = expected.get_mut(*group as usize) {
                        *sum = sum.wrapping_add(*value);
                    }
                }
                assert_eq!(got, expected, "{level:?} {rows} rows, {count} groups");
            }
        }
    }
}

#[test]
fn neighbours_that_differ() {
    use crate::groups::differing_neighbours_at;
    let mut random = Random::new(58);
    let mut words = vec![];
    for level in Level::available() {
        for rows in lengths() {
            for kind in 0..3 {
                let mut last = -5i64;
                let mut values: Vec<i64> = Vec::new();
                for _ in 0..rows {
                    last += (random.below(3) == 0) as i64 * random.below(9) as i64;
                    values.push(last);
                }
                if kind == 1 && rows > 0 {
                    // One descent, anywhere.
                    let at = random.below(rows as u64) as usize;
                    values[at] = i64::MIN;
                }
                let before = if kind == 2 { i64::MAX } else { -5 };
                let previous = |i: usize| if i == 0 { before } else { values[i - 1] };
                let ascending = differing_neighbours_at(level, before, &values, &mut words);
                assert_eq!(ascending, (0..rows).all(|i| previous(i) <= values[i]), "{level:?} {rows}");
                assert_eq!(words.len(), rows.div_ceil(64));
                for i in 0..rows {
                    let bit = words[i / 64] >> (i % 64) & 1 == 1;
                    assert_eq!(bit, previous(i) != values[i], "{level:?} {rows} row {i}");
                }
            }
        }
    }
}

#[test]
fn masks_of_few_groups() {
    use crate::masked::{group_masks_at, sum_masked_at, sum_masked_codes_at};
    let mut random = Random::new(59);
    for level in Level::available() {
        for rows in lengths() {
            for count in 1..=FEW_GROUPS {
                let codes: Vec<u8> = (0..rows).map(|_| random.below(count as u64 + 1) as u8).collect();
                let values: Vec<u8> = (0..count as u8).rev().collect();
                let selection = random_words(&mut random, rows);
                for all_selected in [true, false] {
                    let kept = |row: usize| all_selected || selection.get(row);
                    let group = |row: usize| values.iter().position(|v| *v == codes[row]);
                    let mut left = match all_selected {
                        true => vec![u64::MAX; rows.div_ceil(64)],
                        false => selection.words().to_vec(),
                    };
                    let mut masks = vec![];
                    group_masks_at(level, &codes, &values, &mut left, &mut masks);
                    let expected = Bitmap::from_fn(rows, |row| kept(row) && group(row).is_none());
                    assert_eq!(left, expected.words(), "{level:?} {rows} rows, {count} groups");
                    let mut counts = vec![0; count];
                    count_masked(&masks, &mut counts);
                    let of = |g: usize| (0..rows).filter(move |row| kept(*row) && group(*row) == Some(g));
                    let expected: Vec<i64> = (0..count).map(|g| of(g).count() as i64).collect();
                    assert_eq!(counts, expected);
                    macro_rules! codes_of {
                        ($ty:ty, $last:expr) => {
                            let argument: Vec<$ty> =
                                (0..rows).map(|_| random.below(u64::from($last) + 1) as $ty).collect();
                            let mut sums = vec![5u64; count];
                            sum_masked_codes_at(level, &argument, $last as u32, &masks, &mut sums);
                            let expected: Vec<u64> = (0..count)
                                .map(|g| 5 + of(g).map(|r| argument[r] as u64).sum::<u64>())
                                .collect();
                            assert_eq!(sums, expected, "{level:?} {} {rows} rows", stringify!($ty));
                        };
                    }
                    codes_of!(u8, u8::MAX);
                    codes_of!(u16, u16::MAX);
                    codes_of!(u32, 10_000_000u32);
                    codes_of!(u32, 1_000_000_000u32);
                    codes_of!(u32, u32::MAX);
                    let argument: Vec<i64> = (0..rows).map(|_| random.bits() as i64 >> 8).collect();
                    let mut sums = vec![-3i64; count];
                    let magnitudes = sum_masked_at(level, &argument, &masks, &mut sums);
                    let expected: Vec<i64> = (0..count)
                        .map(|g| of(g).fold(-3i64, |sum, row| sum.wrapping_add(argument[row])))
                        .collect();
                    assert_eq!(sums, expected);
                    assert!(argument.iter().all(|v| v.unsigned_abs() <= magnitudes.saturating_add(1)));
                }
            }
        }
    }
}

#[test]
fn products_under_masks() {
    use crate::masked::sum_masked_products_at;
    let mut random = Random::new(67);
    let rises = |base| Line { base, falls: false };
    let falls = |base| Line { base, falls: true };
    for level in Level::available() {
        for rows in lengths() {
            for groups in 1..=FEW_GROUPS {
                let mut masks = vec![];
                for word in 0..rows.div_ceil(64) {
                    let kept: u64 = random.bits() & rows_of_word(rows, word);
                    let (a, b) = (random.bits(), random.bits());
                    // Row by row one of four groups, others have no rows.
                    let of =
                        |group| [a & b, a & !b, !a & b, !a & !b].get(group).map_or(0, |rows| rows & kept);
                    masks.extend((0..groups).map(of));
                }
                macro_rules! of_width {
                    ($ty:ty, $line:expr, $last:expr) => {{
                        let mut codes =
                            |last: u64| (0..rows).map(|_| random.below(last + 1)).collect::<Vec<u64>>();
                        let first: Vec<$ty> = codes($last).into_iter().map(|c| c as $ty).collect();
                        let [second, third] = [10, 255]
                            .map(|last| codes(last).into_iter().map(|c| c as u8).collect::<Vec<u8>>());
                        let (line, less, more) = ($line, falls(100), rises(1 << 20));
                        let two = |row: usize| {
                            line.at(first[row].to_u64()) as u64 * less.at(second[row].into()) as u64
                        };
                        let all = |row: usize| two(row).wrapping_mul(more.at(third[row].into()) as u64);
                        let expected = |of: &dyn Fn(usize) -> u64| {
                            let mut sums = vec![9u64; groups];
                            each_row(&masks, groups, |row, group| {
                                sums[group] = sums[group].wrapping_add(of(row))
                            });
                            sums
                        };
                        let (a, b, c) = ((&first[..], line), (&second[..], less), (&third[..], more));
                        let (mut middle, mut last) = (vec![9u64; groups], vec![9u64; groups]);
                        sum_masked_products_at(level, a, b, Some(c), &masks, Some(&mut middle), &mut last);
                        assert_eq!(
                            (&middle, &last),
                            (&expected(&two), &expected(&all)),
                            "{level:?} {rows} rows"
                        );
                        last.fill(9);
                        sum_masked_products_at(level, a, b, Some(c), &masks, None, &mut last);
                        assert_eq!(last, expected(&all));
                        last.fill(9);
                        sum_masked_products_at(level, a, b, None, &masks, None, &mut last);
                        assert_eq!(last, expected(&two));
                    }};
                }
                of_width!(u8, rises(3), 255);
                of_width!(u16, falls(70_000), 65_535);
                of_width!(u32, rises(90_000), 42_000_000);
            }
        }
    }
}

#[test]
fn keys_become_one_index() {
    let mut random = Random::new(62);
    for rows in lengths() {
        let mut codes = |last: u64| -> Vec<u8> { (0..rows).map(|_| random.below(last) as u8).collect() };
        let (a, b, c) = (codes(3), codes(7), codes(5));
        // By shifting and by multiplying.
        for (first, second) in [(4u8, 32u8), (3, 21), (4, 28)] {
            let mut index = vec![];
            join_codes(&a, &b, first, &mut index);
            combine_codes(&mut index, &c, second);
            let one = |r: usize| {
                a[r].wrapping_add(first.wrapping_mul(b[r])).wrapping_add(second.wrapping_mul(c[r]))
            };
            assert_eq!(index, (0..rows).map(one).collect::<Vec<u8>>(), "{first} {second}");
        }
    }
}

#[test]
fn products_of_lines() {
    let mut random = Random::new(60);
    for rows in lengths() {
        let a: Vec<u32> = (0..rows).map(|_| random.below(1 << 24) as u32).collect();
        let b: Vec<u8> = (0..rows).map(|_| random.below(11) as u8).collect();
        let (up, down) = (Line { base: -7, falls: false }, Line { base: 100, falls: true });
        let mut out = vec![];
        multiply_lines(&a, up, &b, down, &mut out);
        let expected: Vec<i64> =
            a.iter().zip(&b).map(|(a, b)| (i64::from(*a) - 7) * (100 - i64::from(*b))).collect();
        assert_eq!(out, expected);
        let from_seven = Line { base: 7, falls: false };
        let mut narrow = vec![];
        multiply_lines_narrow(&a, from_seven, &b, down, &mut narrow);
        let expected: Vec<u32> = a.iter().zip(&b).map(|(a, b)| (a + 7) * (100 - u32::from(*b))).collect();
        assert_eq!(narrow, expected);
        let mut again = vec![];
        multiply_by_line(&out, &b, up, &mut again);
        let expected: Vec<i64> = out.iter().zip(&b).map(|(a, b)| a * (i64::from(*b) - 7)).collect();
        assert_eq!(again, expected);
        assert!(out.iter().all(|v| v.unsigned_abs() <= magnitudes(&out) + 1));
    }
}

#[test]
fn every_occurrence_is_found() {
    use crate::substring::find_all_at;
    let mut random = Random::new(61);
    for level in Level::available() {
        for rows in lengths() {
            for letters in [2, 4, 200] {
                let text: Vec<u8> =
                    (0..rows).map(|_| b'a'.wrapping_add(random.below(letters) as u8)).collect();
                for length in [0, 1, 2, 3, 5, 9, 70] {
                    let from = random.below(rows as u64 + 1) as usize;
                    let needle = text[from..].iter().take(length).copied().collect::<Vec<u8>>();
                    let mut hits = vec![7];
                    find_all_at(level, &text, &needle, &mut hits);
                    let mut expected = vec![7u32];
                    if !needle.is_empty() {
                        let places = (0..rows).filter(|at| text[*at..].starts_with(&needle));
                        expected.extend(places.map(|at| at as u32));
                    }
                    assert_eq!(hits, expected, "{level:?} {rows} {letters} {needle:?}");
                }
            }
        }
    }
}

#[test]
fn rows_set_aside_are_the_others() {
    use crate::cells::{SPARE_PLACES, set_aside_at};
    let mut random = Random::new(23);
    for level in Level::available() {
        for rows in lengths() {
            let selection = random_words(&mut random, rows);
            let before: Vec<u16> = (0..rows).map(|_| random.below(594) as u16).collect();
            let mut places = before.clone();
            set_aside_at(level, selection.words(), 594, &mut places);
            for (row, place) in places.iter().enumerate() {
                let spare = 594 + (row % SPARE_PLACES) as u16;
                let expected = if selection.get(row) { before[row] } else { spare };
                assert_eq!(*place, expected, "{level:?} row {row} of {rows}");
            }
        }
    }
}

#[test]
fn words_add_up_in_any_copy_whichever_way_they_are_made() {
    use crate::cells::*;
    let mut random = Random::new(29);
    for rows in lengths() {
        let places: Vec<u16> = (0..rows).map(|_| random.below(20) as u16).collect();
        let a: Vec<u32> = (0..rows).map(|_| random.bits() as u32).collect();
        let b: Vec<u8> = (0..rows).map(|_| random.bits() as u8).collect();
        let mut words = vec![0; rows];
        first_words(&a, 12, 1, &mut words);
        next_words(&b, 50, &mut words);
        let mut expected = vec![0u64; 20];
        for row in 0..rows {
            let word = 1 + (u64::from(a[row]) << 12) + (u64::from(b[row]) << 50);
            assert_eq!(words[row], word);
            let sum = &mut expected[usize::from(places[row])];
            *sum = sum.wrapping_add(word);
        }
        for copies in [1, 2, 4] {
            let mut table = vec![0u64; 20 * copies];
            add_words(&places, &words, copies, &mut table);
            fold_copies(copies, &mut table);
            assert_eq!(table[..20], expected, "{rows} rows, {copies} copies");
            table.fill(0);
            add_code_pairs(&places, &a, &b, [12, 50], 1, copies, &mut table);
            fold_copies(copies, &mut table);
            assert_eq!(table[..20], expected, "pairs: {rows} rows, {copies} copies");
            table.fill(0);
            add_codes(&places, &b, 50, 0, copies, &mut table);
            add_codes(&places, &a, 12, 1, copies, &mut table);
            fold_copies(copies, &mut table);
            assert_eq!(table[..20], expected, "one by one: {rows} rows, {copies} copies");
        }
    }
}
