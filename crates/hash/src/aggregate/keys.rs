//! Packed keys: those of a batch, those of a table or a partition, and their way back to vectors.
//!
//! Words are row-major, `width` a key. Texts longer than a view keep their bytes outside the words: a batch borrows
//! them from its vectors, a store owns them.

use arrow_buffer::{BooleanBuffer, NullBuffer, ToByteSlice};
use simd::prefetch;
use types::Physical;
use vector::strings::INLINE_BYTES;
use vector::{Data, Strings, Vector};

use super::layout::{Column, KeyLayout, NULL_TEXT, Place};
use super::text::TextColumn;

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
const SEED: u64 = 0xD6E8_FEB8_6659_FD93;

/// Rows between the steps of asking for what a key needs.
pub(super) const STEP_ROWS: usize = 8;

/// The hash of a key: a folded multiplication a word. A prefix of the words may be hashed alone (DISTINCT).
#[inline(always)]
pub fn hash_words(words: &[u64]) -> u64 {
    let mut hash = SEED;
    for word in words {
        let product = u128::from(hash ^ *word) * u128::from(MULTIPLIER);
        hash = product as u64 ^ (product >> 64) as u64;
    }
    // One word leaves its high bits less mixed than its low ones.
    hash ^ hash.rotate_left(29)
}

/// The keys of a batch, reused from batch to batch.
#[derive(Debug, Default)]
pub struct KeyBatch {
    pub(super) width: usize,
    pub(super) words: Vec<u64>,
    pub(super) hashes: Vec<u64>,
    pub(super) texts: Vec<Strings>,
}

impl KeyBatch {
    pub(super) fn begin(&mut self, width: usize, rows: usize) {
        self.width = width;
        self.words.clear();
        self.words.resize(width * rows, 0);
        self.texts.clear();
        self.hashes.clear();
        self.hashes.resize(rows, 0);
    }
    pub(super) fn hash(&mut self) {
        hash_all(self.width, &self.words, &mut self.hashes);
    }
    /// Rows of the batch.
    pub fn rows(&self) -> usize {
        self.hashes.len()
    }
    /// Words of a key.
    pub fn width(&self) -> usize {
        self.width
    }
    /// The keys, `width` words each.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// The hash of each row's key.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }
    /// The keys, borrowed.
    pub fn view(&self) -> Keys<'_> {
        Keys { width: self.width, words: &self.words, hashes: &self.hashes, texts: Texts::Batch(&self.texts) }
    }
}

fn hash_all(width: usize, words: &[u64], hashes: &mut [u64]) {
    match width {
        0 => hashes.fill(hash_words(&[])),
        1 => hash_fixed::<1>(words, hashes),
        2 => hash_fixed::<2>(words, hashes),
        3 => hash_fixed::<3>(words, hashes),
        4 => hash_fixed::<4>(words, hashes),
        _ => {
            for (hash, key) in hashes.iter_mut().zip(words.chunks_exact(width)) {
                *hash = hash_words(key);
            }
        }
    }
}

fn hash_fixed<const W: usize>(words: &[u64], hashes: &mut [u64]) {
    for (hash, key) in hashes.iter_mut().zip(words.as_chunks::<W>().0) {
        *hash = hash_words(key);
    }
}

/// Borrowed keys, of a batch or of a store.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    /// Words of a key.
    pub width: usize,
    /// The keys' words, row by row.
    pub words: &'a [u64],
    /// The hash of each key.
    pub hashes: &'a [u64],
    pub(super) texts: Texts<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Texts<'a> {
    Batch(&'a [Strings]),
    Store(&'a [TextColumn]),
}

impl Texts<'_> {
    #[inline(always)]
    pub(super) fn get(&self, text: usize, row: usize) -> &[u8] {
        match self {
            Texts::Batch(columns) => columns[text].get(row),
            Texts::Store(columns) => columns[text].get(row),
        }
    }
    /// Asks for the views of a row's texts; a batch's are at hand.
    #[inline(always)]
    pub(super) fn ask_views(&self, row: usize) {
        if let Texts::Store(columns) = self {
            columns.iter().for_each(|texts| texts.ask_view(row));
        }
    }
    /// Asks for the bytes of a row's long texts.
    #[inline(always)]
    pub(super) fn ask_bytes(&self, row: usize) {
        if let Texts::Store(columns) = self {
            columns.iter().for_each(|texts| texts.ask_bytes(row));
        }
    }
}

/// Keys that are owned: a table's groups, or a partition's.
#[derive(Debug)]
pub struct KeyStore {
    pub(super) layout: KeyLayout,
    pub(super) words: Vec<u64>,
    pub(super) texts: Vec<TextColumn>,
    len: usize,
}

impl KeyStore {
    /// No keys yet.
    pub fn new(layout: &KeyLayout) -> Self {
        let texts = (0..layout.texts).map(|_| TextColumn::default()).collect();
        KeyStore { layout: layout.clone(), words: vec![], texts, len: 0 }
    }
    pub(super) fn from_parts(
        layout: &KeyLayout,
        words: Vec<u64>,
        texts: Vec<TextColumn>,
        len: usize,
    ) -> Self {
        KeyStore { layout: layout.clone(), words, texts, len }
    }
    /// How columns are packed into the keys' words.
    pub fn layout(&self) -> &KeyLayout {
        &self.layout
    }
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The keys' words, in the order in which keys were pushed.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// Bytes held, texts included.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * 8 + self.texts.iter().map(TextColumn::bytes_held).sum::<usize>()
    }
    /// Makes room for `keys` further keys' words.
    pub fn reserve(&mut self, keys: usize) {
        self.words.reserve(keys * self.layout.width);
    }
    /// Appends the key in `row` of `keys`.
    #[inline]
    pub fn push(&mut self, keys: &Keys<'_>, row: usize) {
        match self.layout.width {
            1 => self.words.push(keys.words[row]),
            2 => self.words.extend_from_slice(&keys.words.as_chunks::<2>().0[row]),
            3 => self.words.extend_from_slice(&keys.words.as_chunks::<3>().0[row]),
            width => self.words.extend_from_slice(&keys.words[row * width..(row + 1) * width]),
        }
        if !self.texts.is_empty() {
            self.push_texts(keys, row);
        }
        self.len += 1;
    }
    fn push_texts(&mut self, keys: &Keys<'_>, row: usize) {
        let words = &keys.words[row * self.layout.width..];
        for column in &self.layout.columns {
            let Place::Text { word, text } = column.place else { continue };
            let (low, high) = (words[word], words[word + 1]);
            if low as u32 as usize > INLINE_BYTES && low != NULL_TEXT {
                self.texts[text].push(keys.texts.get(text, row));
            } else {
                let view = if low == NULL_TEXT { 0 } else { u128::from(low) | u128::from(high) << 64 };
                self.texts[text].push_view(view);
            }
        }
    }
    /// Appends the keys of `rows`.
    pub fn append(&mut self, keys: &Keys<'_>, rows: &[u32]) {
        if self.layout.width == 1 && self.texts.is_empty() {
            self.words.extend(rows.iter().map(|row| keys.words[*row as usize]));
            self.len += rows.len();
            return;
        }
        self.words.reserve(rows.len() * self.layout.width);
        for (at, row) in rows.iter().enumerate() {
            // The rows of a partition lie anywhere in a table.
            if let Some(next) = rows.get(at + 2 * STEP_ROWS) {
                prefetch(keys.words, *next as usize * keys.width);
                keys.texts.ask_views(*next as usize);
            }
            if let Some(next) = rows.get(at + STEP_ROWS) {
                keys.texts.ask_bytes(*next as usize);
            }
            self.push(keys, *row as usize);
        }
    }
    /// Appends keys of one integer column without NULLs: a word each.
    pub fn append_integers(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        assert!(self.layout.width == 1 && self.texts.is_empty(), "one word a key");
        self.len += values.len();
        self.words.extend(values.map(|value| value as u64));
    }
    /// Replaces the number of every key of a numbered layout, given its row and its number.
    pub fn renumber(&mut self, mut number: impl FnMut(usize, u32) -> u32) {
        let width = self.layout.width.max(1);
        for (row, word) in self.words.iter_mut().step_by(width).enumerate() {
            *word = *word >> 32 << 32 | u64::from(number(row, *word as u32));
        }
    }
    /// The number of every key of a numbered layout.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.words.iter().step_by(self.layout.width.max(1)).map(|word| *word as u32)
    }
    /// Forgets all keys and keeps the room.
    pub fn clear(&mut self) {
        self.words.clear();
        self.texts = (0..self.layout.texts).map(|_| TextColumn::default()).collect();
        self.len = 0;
    }
    /// The hashes of all keys.
    pub fn hashes(&self) -> Vec<u64> {
        let mut hashes = vec![0; self.len];
        hash_all(self.layout.width, &self.words, &mut hashes);
        hashes
    }
    /// The hashes of the first `width` words of all keys: of the layout that this one extends.
    pub fn prefix_hashes(&self, width: usize) -> Vec<u64> {
        (0..self.len).map(|row| hash_words(&self.words[row * self.layout.width..][..width])).collect()
    }
    /// The keys, to look them up elsewhere; `hashes` are theirs.
    pub fn view<'a>(&'a self, hashes: &'a [u64]) -> Keys<'a> {
        Keys { width: self.layout.width, words: &self.words, hashes, texts: Texts::Store(&self.texts) }
    }
    /// The words of a layout that this one extends, `width` a key.
    pub fn prefix_words(&self, width: usize) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.len * width);
        for row in 0..self.len {
            words.extend_from_slice(&self.words[row * self.layout.width..][..width]);
        }
        words
    }
    /// As `view`, of the keys' first columns only: `words` and `hashes` are those of the prefix.
    pub fn prefix_view<'a>(&'a self, width: usize, words: &'a [u64], hashes: &'a [u64]) -> Keys<'a> {
        Keys { width, words, hashes, texts: Texts::Store(&self.texts) }
    }
    /// Ends the growing; texts become vectors' strings without a copy.
    pub fn freeze(self) -> FrozenKeys {
        let texts = self.texts.into_iter().map(TextColumn::freeze).collect();
        FrozenKeys { layout: self.layout, words: self.words, texts, len: self.len }
    }
}

/// Appends to `whole`, whose layout is that of `groups` with further columns, a key for each of `numbered`: the key of
/// the group that its number names, then its value. Texts of the further columns come along.
pub fn extend_numbered(whole: &mut KeyStore, groups: &KeyStore, numbered: &KeyStore) {
    let (width, of_pair) = (groups.layout.width, numbered.layout.width);
    let more = whole.layout.width - width;
    // A value shares one word with its group's number, or has words of its own.
    let shares = of_pair == more;
    assert!(shares && more == 1 || of_pair == more + 1, "the group's words and the value's");
    let mut words = vec![0u64; width + more];
    for row in 0..numbered.len() {
        let pair = &numbered.words[row * of_pair..][..of_pair];
        let group = pair[0] as u32 as usize;
        words[..width].copy_from_slice(&groups.words[group * width..][..width]);
        if shares {
            words[width] = pair[0] >> 32;
        } else {
            words[width..].copy_from_slice(&pair[1..]);
        }
        let (texts, values) = whole.texts.split_at_mut(groups.texts.len());
        for (target, source) in texts.iter_mut().zip(&groups.texts) {
            target.push(source.get(group));
        }
        for (target, source) in values.iter_mut().zip(&numbered.texts) {
            target.push(source.get(row));
        }
        whole.words.extend_from_slice(&words);
        whole.len += 1;
    }
}

/// Finished keys, ready to become vectors.
#[derive(Debug)]
pub struct FrozenKeys {
    layout: KeyLayout,
    words: Vec<u64>,
    texts: Vec<Strings>,
    len: usize,
}

impl FrozenKeys {
    /// Names the pieces of memory of the keys, texts left out.
    pub fn each_piece(&self, name: &mut dyn FnMut(&[u8])) {
        name(self.words.to_byte_slice());
    }
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The keys' words, `width` of the layout each.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// The values of column `column` of the keys `[start, end)`.
    pub fn column(&self, column: usize, start: usize, end: usize) -> Vector {
        let width = self.layout.width;
        let column = &self.layout.columns[column];
        let words = &self.words[start * width..end * width];
        let rows = end - start;
        if let Place::Text { word, text } = column.place {
            let validity = nulls(rows, |row| words[row * width + word] == NULL_TEXT);
            let strings = self.texts[text].slice(start, rows);
            return Vector::new(column.ty, Data::Bytes(strings), validity);
        }
        let validity = column
            .null
            .and_then(|(word, shift)| nulls(rows, |row| words[row * width + word] >> shift & 1 == 1));
        Vector::new(column.ty, fixed(column, words, width, rows), validity)
    }
}

fn nulls(rows: usize, is_null: impl Fn(usize) -> bool) -> Option<NullBuffer> {
    let valid = BooleanBuffer::collect_bool(rows, |row| !is_null(row));
    let nulls = NullBuffer::new(valid);
    (nulls.null_count() > 0).then_some(nulls)
}

fn fixed(column: &Column, words: &[u64], width: usize, rows: usize) -> Data {
    let word = match column.place {
        Place::Bits { word, .. } | Place::Wide { word } | Place::Text { word, .. } => word,
    };
    let shift = if let Place::Bits { shift, .. } = column.place { shift } else { 0 };
    // Without columns of their own words there is nothing to step over.
    let bits = || words.iter().skip(word).step_by(width.max(1)).map(move |w| *w >> shift);
    match column.ty.physical() {
        Physical::Bool => {
            Data::Bool(BooleanBuffer::collect_bool(rows, |row| words[row * width + word] >> shift & 1 == 1))
        }
        Physical::I16 => Data::I16(bits().map(|w| w as i16).collect()),
        Physical::I32 => Data::I32(bits().map(|w| w as i32).collect()),
        Physical::I64 => Data::I64(bits().map(|w| w as i64).collect()),
        Physical::F32 => Data::F32(bits().map(|w| f32::from_bits(w as u32)).collect()),
        Physical::F64 => Data::F64(bits().map(f64::from_bits).collect()),
        Physical::I128 | Physical::Bytes => Data::I128(
            (0..rows)
                .map(|row| {
                    let at = row * width + word;
                    (u128::from(words[at]) | u128::from(words[at + 1]) << 64) as i128
                })
                .collect(),
        ),
    }
}

/// Compares the long texts of two keys whose words are equal.
#[inline(always)]
pub(super) fn long_texts_equal(store: &KeyStore, key: usize, keys: &Keys<'_>, row: usize) -> bool {
    let words = &keys.words[row * store.layout.width..];
    store.layout.text_words.iter().enumerate().all(|(text, word)| {
        let low = words[*word];
        low as u32 as usize <= INLINE_BYTES || low == NULL_TEXT || same_bytes(store, key, keys, row, text)
    })
}

#[inline(never)]
fn same_bytes(store: &KeyStore, key: usize, keys: &Keys<'_>, row: usize, text: usize) -> bool {
    store.texts[text].get(key) == keys.texts.get(text, row)
}
