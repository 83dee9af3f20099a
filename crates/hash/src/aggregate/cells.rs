//! Counts and sums by cell: a cell is one combination of the codes of a few small columns.
//!
//! ```text
//!  word of a row     [ sum of column 1 | sum of column 0 | count ]      fields wide enough for `rows_max` rows
//!  further words     [ sum of column 3 | sum of column 2 ]              for columns that the first has no room for
//! ```
//! Rows add their words to the table (`simd::cells`); before a field could overflow, fields are taken apart into
//! counts and sums of 64 bits, which hold any 2^32 rows.

use simd::cells::{self, SPARE_PLACES, STEP_ROWS};
use vector::Codes;

/// More cells than this do not stay in the first-level cache.
pub const CELLS_MAX: usize = 4096;
/// Fewer rows than these between two emptyings cost more than a second word does.
const ROWS_BITS_MIN: u32 = 11;
const ROWS_BITS_MAX: u32 = 16;
/// A table up to this size is kept several times, so that neighbouring rows of one cell need not wait. Where there are
/// more cells, neighbours rarely share one, and emptying copies costs more.
const COPIED_PLACES_MAX: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Field {
    word: usize,
    shift: u32,
    mask: u64,
}

/// Counts and sums of code by cell, of some columns.
#[derive(Debug)]
pub struct CellSums {
    cells: usize,
    /// Where the codes of each column are.
    fields: Vec<Field>,
    count_mask: u64,
    /// Rows after which a field may be full.
    rows_max: usize,
    copies: usize,
    /// A table a word, of `copies` times the cells and the spare places.
    tables: Vec<Vec<u64>>,
    /// Rows in the tables.
    pending: usize,
    counts: Vec<u64>,
    sums: Vec<Vec<u64>>,
    places: Vec<u16>,
    words: Vec<u64>,
}

/// Calls `$with!(codes)` with the codes of some rows as a slice.
macro_rules! with_codes {
    ($codes:expr, $rows:expr, $with:ident) => {
        match $codes {
            Codes::U8(codes) => $with!(&codes[$rows]),
            Codes::U16(codes) => $with!(&codes[$rows]),
            Codes::U32(codes) => $with!(&codes[$rows]),
        }
    };
}

impl CellSums {
    /// For `cells` cells, at most `CELLS_MAX`, and columns without codes greater than `lasts`.
    pub fn new(cells: usize, lasts: &[u32]) -> CellSums {
        assert!((1..=CELLS_MAX).contains(&cells), "a bounded number of cells");
        // Emptying looks at every cell, so it is for at least twice as many rows.
        let least = (cells as u32).next_power_of_two().trailing_zeros() + 1;
        let least = least.max(ROWS_BITS_MIN);
        let bits = |last: u32| (32 - last.leading_zeros()).max(1);
        // Bits and columns of each word; the count, one bit more than the rows', is in the first.
        let mut words = vec![(1u32, 1u32)];
        let mut of: Vec<usize> = vec![];
        for last in lasts {
            let room = |(used, fields): &(u32, u32)| used + bits(*last) + (fields + 1) * least <= u64::BITS;
            let word = words.iter().position(room).unwrap_or_else(|| {
                words.push((0, 0));
                words.len() - 1
            });
            words[word] = (words[word].0 + bits(*last), words[word].1 + 1);
            of.push(word);
        }
        let rows_bits = words.iter().map(|(used, fields)| (u64::BITS - used) / fields).min();
        let rows_bits = rows_bits.unwrap_or(least).min(ROWS_BITS_MAX);
        let low = |bits: u32| u64::MAX >> (u64::BITS - bits);
        let mut next = vec![0; words.len()];
        next[0] = rows_bits + 1;
        let fields = of
            .iter()
            .zip(lasts)
            .map(|(word, last)| {
                let (shift, width) = (next[*word], bits(*last) + rows_bits);
                next[*word] += width;
                Field { word: *word, shift, mask: low(width) }
            })
            .collect();
        let stride = cells + SPARE_PLACES;
        let copies = match stride {
            0..=64 => 4,
            65..=COPIED_PLACES_MAX => 2,
            _ => 1,
        };
        CellSums {
            cells,
            fields,
            count_mask: low(rows_bits + 1),
            rows_max: 1 << rows_bits,
            copies,
            tables: vec![vec![0; stride * copies]; words.len()],
            pending: 0,
            counts: vec![0; cells],
            sums: vec![vec![0; cells]; lasts.len()],
            places: vec![0; STEP_ROWS],
            words: vec![0; STEP_ROWS],
        }
    }

    /// Adds the selected ones of `rows` rows (all when `None`). `dimensions`: the codes that make the cell, each with
    /// the number of possible ones, whose product is the number of cells; the last one runs fastest. `columns`: the
    /// codes to be summed, as many as there were lasts.
    pub fn add(
        &mut self,
        dimensions: &[(&Codes, usize)],
        columns: &[&Codes],
        rows: usize,
        selection: Option<&[u64]>,
    ) {
        debug_assert_eq!(dimensions.iter().map(|(_, size)| size).product::<usize>(), self.cells);
        debug_assert_eq!(columns.len(), self.fields.len());
        for from in (0..rows).step_by(STEP_ROWS) {
            let step = from..rows.min(from + STEP_ROWS);
            let selection = selection.map(|words| &words[from / 64..step.end.div_ceil(64)]);
            if selection.is_some_and(|words| words.iter().all(|word| *word == 0)) {
                continue;
            }
            if self.pending + step.len() > self.rows_max {
                self.empty_tables();
            }
            self.pending += step.len();
            self.place(dimensions, step.clone(), selection);
            for word in 0..self.tables.len() {
                self.add_word(word, columns, step.clone());
            }
        }
    }

    fn place(
        &mut self,
        dimensions: &[(&Codes, usize)],
        rows: std::ops::Range<usize>,
        selection: Option<&[u64]>,
    ) {
        let places = &mut self.places[..rows.len()];
        if dimensions.is_empty() {
            places.fill(0);
        }
        for (at, (codes, size)) in dimensions.iter().enumerate() {
            macro_rules! place {
                ($codes:expr) => {
                    match at {
                        0 => cells::first_places($codes, places),
                        _ => cells::next_places($codes, *size as u16, places),
                    }
                };
            }
            with_codes!(codes, rows.clone(), place);
        }
        // Codes come from files: one that is greater than its column's last counts somewhere, not outside.
        cells::limit_places((self.cells + SPARE_PLACES - 1) as u16, places);
        if let Some(selection) = selection {
            cells::set_aside(selection, self.cells as u16, places);
        }
    }

    /// Adds one word of each row: of one or two columns on the way, of more by making all words first.
    fn add_word(&mut self, word: usize, columns: &[&Codes], rows: std::ops::Range<usize>) {
        let of_word = |(_, field): &(&&Codes, &Field)| field.word == word;
        let mut fields = columns.iter().zip(&self.fields).filter(of_word);
        let (first, second, third) = (fields.next(), fields.next(), fields.next());
        let (one, copies) = (u64::from(word == 0), self.copies);
        let (places, table) = (&self.places[..rows.len()], &mut self.tables[word]);
        match (first, second, third) {
            (Some((codes, field)), None, _) => {
                macro_rules! add {
                    ($codes:expr) => {
                        cells::add_codes(places, $codes, field.shift, one, copies, table)
                    };
                }
                with_codes!(codes, rows, add);
            }
            (Some((a, field_a)), Some((b, field_b)), None) => {
                let shifts = [field_a.shift, field_b.shift];
                macro_rules! first {
                    ($a:expr) => {{
                        macro_rules! second {
                            ($b:expr) => {
                                cells::add_code_pairs(places, $a, $b, shifts, one, copies, table)
                            };
                        }
                        with_codes!(b, rows.clone(), second)
                    }};
                }
                with_codes!(a, rows.clone(), first);
            }
            _ => {
                self.make_words(word, columns, rows.clone());
                let (places, words) = (&self.places[..rows.len()], &self.words[..rows.len()]);
                cells::add_words(places, words, copies, &mut self.tables[word]);
            }
        }
    }

    fn make_words(&mut self, word: usize, columns: &[&Codes], rows: std::ops::Range<usize>) {
        let one = u64::from(word == 0);
        let words = &mut self.words[..rows.len()];
        let mut first = true;
        for (codes, field) in columns.iter().zip(&self.fields).filter(|(_, field)| field.word == word) {
            macro_rules! make {
                ($codes:expr) => {
                    match first {
                        true => cells::first_words($codes, field.shift, one, words),
                        false => cells::next_words($codes, field.shift, words),
                    }
                };
            }
            with_codes!(codes, rows.clone(), make);
            first = false;
        }
        if first {
            words.fill(one);
        }
    }

    fn empty_tables(&mut self) {
        self.pending = 0;
        for (word, table) in self.tables.iter_mut().enumerate() {
            cells::fold_copies(self.copies, table);
            if word == 0 {
                cells::take_field(&table[..self.cells], 0, self.count_mask, &mut self.counts);
            }
            for (field, sums) in self.fields.iter().zip(&mut self.sums).filter(|(f, _)| f.word == word) {
                cells::take_field(&table[..self.cells], field.shift, field.mask, sums);
            }
            table.fill(0);
        }
    }

    /// Rows of each cell, and the sums of each column's codes.
    pub fn totals(&mut self) -> (&[u64], &[Vec<u64>]) {
        if self.pending > 0 {
            self.empty_tables();
        }
        (&self.counts, &self.sums)
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        if self.pending > 0 {
            self.empty_tables();
        }
        self.counts.fill(0);
        self.sums.iter_mut().for_each(|sums| sums.fill(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64, below: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) % below
    }

    /// Every width of codes, tables of one and several words, of one and several copies, rows that are not selected.
    #[test]
    fn sums_by_definition() {
        let mut state = 71;
        for sizes in [vec![], vec![1], vec![6, 11, 9], vec![250], vec![4, 256], vec![64, 64]] {
            for lasts in [
                vec![],
                vec![255],
                vec![10_494_950, 49],
                vec![u32::MAX, u32::MAX, 3],
                vec![1, 60_000, 9_000_000, 255, 77],
            ] {
                for rows in [1, 63, 512, 700, 16_384] {
                    check(&mut state, &sizes, &lasts, rows);
                }
            }
        }
    }

    fn check(state: &mut u64, sizes: &[usize], lasts: &[u32], rows: usize) {
        let cells: usize = sizes.iter().product();
        let mut sums = CellSums::new(cells, lasts);
        let (mut counts, mut expected) = (vec![0u64; cells], vec![vec![0u64; cells]; lasts.len()]);
        for window in 0..3 {
            let dimensions: Vec<(Codes, usize)> = sizes
                .iter()
                .map(|size| {
                    let codes: Vec<u8> = (0..rows).map(|_| random(state, *size as u64) as u8).collect();
                    (Codes::U8(codes.into()), *size)
                })
                .collect();
            let columns: Vec<Codes> = lasts
                .iter()
                .map(|last| {
                    // Mostly the greatest, so that a field that is too narrow shows.
                    let code = |state: &mut u64| match random(state, 4) {
                        0 => random(state, u64::from(*last) + 1) as u32,
                        _ => *last,
                    };
                    let codes: Vec<u32> = (0..rows).map(|_| code(state)).collect();
                    match *last {
                        0..=255 => Codes::U8(codes.iter().map(|c| *c as u8).collect::<Vec<_>>().into()),
                        256..=65_535 => {
                            Codes::U16(codes.iter().map(|c| *c as u16).collect::<Vec<_>>().into())
                        }
                        _ => Codes::U32(codes.into()),
                    }
                })
                .collect();
            let words: Vec<u64> = (0..rows.div_ceil(64)).map(|_| random(state, u64::MAX)).collect();
            let selection = (window > 0).then_some(&words[..]);
            let of_row = |codes: &Codes, row: usize| match codes {
                Codes::U8(c) => u64::from(c[row]),
                Codes::U16(c) => u64::from(c[row]),
                Codes::U32(c) => u64::from(c[row]),
            };
            for row in 0..rows {
                if selection.is_some_and(|words| words[row / 64] >> (row % 64) & 1 == 0) {
                    continue;
                }
                let place =
                    |cell: usize, (codes, size): &(Codes, usize)| cell * size + of_row(codes, row) as usize;
                let cell = dimensions.iter().fold(0, place);
                counts[cell] += 1;
                for (sums, codes) in expected.iter_mut().zip(&columns) {
                    sums[cell] += of_row(codes, row);
                }
            }
            let dimensions: Vec<(&Codes, usize)> = dimensions.iter().map(|(c, n)| (c, *n)).collect();
            let columns: Vec<&Codes> = columns.iter().collect();
            sums.add(&dimensions, &columns, rows, selection);
        }
        let (got_counts, got_sums) = sums.totals();
        assert_eq!(got_counts, counts, "{sizes:?} {lasts:?} {rows}");
        assert_eq!(got_sums, expected, "{sizes:?} {lasts:?} {rows}");
        sums.clear();
        assert!(sums.totals().0.iter().all(|count| *count == 0));
    }

    #[test]
    fn codes_beyond_the_last_stay_inside() {
        let mut sums = CellSums::new(3, &[1]);
        let (wrong, column) = (Codes::U8(vec![200; 600].into()), Codes::U8(vec![255; 600].into()));
        sums.add(&[(&wrong, 3)], &[&column], 600, None);
        assert_eq!(sums.totals().0.len(), 3);
    }
}
