//! From bytes to a block, trusting nothing.
//!
//! Everything a later access relies on is checked here, once: places and lengths of extents, alignment, codes against
//! the dictionary's size, string offsets, UTF-8, order of dictionaries, the range of truncated values. What is only
//! a claim (bounds, counts, flags) cannot lead an access astray; the checksums vouch for it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use types::{ColumnStatistics, Physical, Value};

use crate::block::Part;
use crate::layout::{
    self, DICTIONARY, ENTRY_BYTES, Entry, Extent, HEADER_BYTES, HEAP, Header, SECTION_BYTES, Section,
    VALIDITY, VALUES,
};
use crate::row_store::{Field, Form, RowStore, stride};
use crate::store::TupleStore;
use crate::stripe::{Bits, DictionaryStripe, StringStripe, Stripe, Values};
use crate::stripe_store::StripeStore;
use crate::{Block, Coding, LayoutKind, Rows, index};

/// How far the bytes are trusted, and so what is not checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    Nothing,
    /// This process has written them: codes, offsets and strings are as they must be.
    Contents,
}

type Checked<T> = Result<T, String>;

/// A block's metadata, with every place and length in it checked against the block's own.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) header: Header,
    pub(crate) kind: LayoutKind,
    pub(crate) length: usize,
    pub(crate) rows: usize,
    pub(crate) entries: Vec<Entry>,
    pub(crate) sections: Vec<Section>,
    /// Every extent with the number of its first checksum: columns', then sections'.
    pub(crate) checked: Vec<(Extent, usize)>,
}

impl Directory {
    /// Reads the metadata at the beginning of `data`, of a block of which there are `available` bytes.
    pub(crate) fn read(data: &[u8], available: usize) -> Checked<Directory> {
        let frame = Frame::read(data, available)?;
        if frame.header.layout == layout::LAYOUT_INDICES {
            return Err("it holds indices of another block, no rows".into());
        }
        let kind = LayoutKind::from_tag(frame.header.layout);
        let kind = kind.ok_or_else(|| format!("layout {} is not known", frame.header.layout))?;
        let sorted_by = frame.header.sorted_by;
        if sorted_by.is_some_and(|column| column >= frame.header.columns || kind.is_row_store()) {
            return Err("its sort column is none of its columns".into());
        }
        let Places { entries, sections, checked } = frame.places(data)?;
        let Frame { header, length, rows, .. } = frame;
        Ok(Directory { header, kind, length, rows, entries, sections, checked })
    }

    pub(crate) fn sorted_by(&self) -> Option<usize> {
        self.header.sorted_by.map(|column| column as usize)
    }

    /// Whether the bytes of columns, or of rows, and of indices lie apart from each other.
    pub(crate) fn comes_apart(&self) -> bool {
        let known = |section: &Section| {
            self.holds_rows(section)
                || index::is_index(section.kind) && (section.column as usize) < self.entries.len()
        };
        self.sections.iter().all(known)
    }

    /// Whether a section is a part of the rows of a row store.
    pub(crate) fn holds_rows(&self, section: &Section) -> bool {
        self.kind.is_row_store() && [layout::SECTION_ROWS, layout::SECTION_ROW_HEAP].contains(&section.kind)
    }

    /// A column without its values, as metadata alone tell it: what an index has to know of its column.
    pub(crate) fn bare(&self, column: usize, metadata: &[u8]) -> Checked<Stripe> {
        let entry = &self.entries[column];
        let nothing = Buffer::default();
        let reader = Reader {
            bytes: &nothing,
            first: 0,
            rows: self.rows,
            entry,
            trust: Trust::Contents,
            sorted: false,
        };
        let physical = entry.ty.physical();
        let values = match (entry.coding, entry.code_width) {
            (layout::CODING_DICTIONARY | layout::CODING_TRUNCATED, 1) => Values::Codes8(Vec::new().into()),
            (layout::CODING_DICTIONARY | layout::CODING_TRUNCATED, 2) => Values::Codes16(Vec::new().into()),
            (layout::CODING_DICTIONARY | layout::CODING_TRUNCATED, 4) => Values::Codes32(Vec::new().into()),
            (layout::CODING_PLAIN, _) => match physical {
                Physical::I16 => Values::I16(Vec::new().into()),
                Physical::I32 => Values::I32(Vec::new().into()),
                Physical::I64 => Values::I64(Vec::new().into()),
                Physical::I128 => Values::I128(Vec::new().into()),
                Physical::F32 => Values::F32(Vec::new().into()),
                Physical::F64 => Values::F64(Vec::new().into()),
                Physical::Bytes => {
                    let offsets = Vec::new().into();
                    Values::Strings(StringStripe { offsets, heap: Arc::new([Buffer::default()]) })
                }
                Physical::Bool => return Err("booleans have no index".into()),
            },
            (coding, _) => return Err(format!("coding {coding} of {} has no index", entry.ty)),
        };
        Ok(Stripe {
            ty: entry.ty,
            coding: entry.coding(),
            statistics: Arc::new(reader.statistics(self.bounds(metadata))?),
            nulls: None,
            null_words: None,
            values,
            dictionary: None,
            ascends: false,
        })
    }

    /// The index of a section, of which `bytes` holds the extent; its first byte is the block's byte `first`.
    pub(crate) fn index(
        &self,
        section: usize,
        bytes: &Buffer,
        first: usize,
        metadata: &[u8],
        trust: Trust,
    ) -> Checked<index::Index> {
        let section = &self.sections[section];
        let column = section.column as usize;
        let stripe = self.bare(column, metadata);
        let opened = stripe.and_then(|stripe| {
            index::open(bytes, first, section, &stripe, self.rows, trust == Trust::Nothing)
        });
        opened.map_err(|e| format!("an index of column {column}: {e}"))
    }

    /// The bytes of string bounds, in the metadata that was read.
    pub(crate) fn bounds<'a>(&self, metadata: &'a [u8]) -> &'a [u8] {
        let at = self.header.bounds_at as usize;
        &metadata[at..at + self.header.bounds_bytes as usize]
    }

    /// What metadata says of a column.
    pub(crate) fn statistics(&self, column: usize, metadata: &[u8]) -> Checked<ColumnStatistics> {
        let nothing = Buffer::default();
        let entry = &self.entries[column];
        let (rows, trust) = (self.rows, Trust::Nothing);
        let reader = Reader { bytes: &nothing, first: 0, rows, entry, trust, sorted: false };
        reader.statistics(self.bounds(metadata)).map_err(|e| format!("column {column}: {e}"))
    }

    /// Some columns, of which `bytes` holds the extents; its first byte is the block's byte `first`.
    pub(crate) fn stripes(
        &self,
        columns: Range<usize>,
        bytes: &Buffer,
        first: usize,
        metadata: &[u8],
        trust: Trust,
    ) -> Checked<Box<StripeStore>> {
        let bounds = self.bounds(metadata);
        let stripe = |column: usize| {
            let (rows, entry, sorted) = (self.rows, &self.entries[column], self.sorted_by() == Some(column));
            let reader = Reader { bytes, first, rows, entry, trust, sorted };
            reader.stripe(bounds).map_err(|e| format!("column {column}: {e}"))
        };
        Ok(Box::new(StripeStore { rows: self.rows, stripes: columns.map(stripe).collect::<Checked<_>>()? }))
    }

    /// The rows, of which `bytes` holds the extents; its first byte is the block's byte `first`.
    pub(crate) fn row_store(
        &self,
        bytes: &Buffer,
        first: usize,
        metadata: &[u8],
        trust: Trust,
    ) -> Checked<Box<RowStore>> {
        let (entries, rows, stride) = (&self.entries, self.rows, row_stride(&self.entries)?);
        let of_rows = only_section(&self.sections, layout::SECTION_ROWS)?;
        if rows.checked_mul(stride) != Some(of_rows.length as usize) {
            let length = of_rows.length;
            return Err(format!("{rows} rows of {stride} bytes are claimed, {length} bytes are there"));
        }
        let row_bytes = extent_bytes(bytes, first, of_rows);
        let heap = extent_bytes(bytes, first, only_section(&self.sections, layout::SECTION_ROW_HEAP)?);
        let heap: Arc<[Buffer]> = Arc::new([heap]);
        let bounds = self.bounds(metadata);
        let fields = Vec::with_capacity(entries.len());
        let mut store = RowStore { rows, stride, bytes: row_bytes, heap, fields };
        for (column, entry) in entries.iter().enumerate() {
            let reader = Reader { bytes, first, rows, entry, trust, sorted: false };
            let field = reader.field(bounds, &store).map_err(|e| format!("column {column}: {e}"))?;
            store.fields.push(field);
        }
        Ok(Box::new(store))
    }

    fn indices(
        &self,
        bytes: &Buffer,
        store: &dyn TupleStore,
        trust: Trust,
    ) -> Checked<Vec<(u32, index::Index)>> {
        let mut indices = Vec::new();
        for (number, section) in self.sections.iter().enumerate() {
            match section.kind {
                _ if self.holds_rows(section) => {}
                other if index::is_index(other) => {
                    let column = section.column as usize;
                    if column >= store.columns() {
                        return Err(format!("an index is on column {column}, which is not there"));
                    }
                    let stripe = store.bare(column);
                    let index = index::open(bytes, 0, section, stripe, self.rows, trust == Trust::Nothing);
                    let index = index.map_err(|e| format!("an index of column {column}: {e}"))?;
                    indices.push((number as u32, index));
                }
                other => return Err(format!("section kind {other} is not known")),
            }
        }
        Ok(indices)
    }
}

/// Whether extents in this memory are aligned.
pub(crate) fn check_alignment(bytes: &Buffer) -> Checked<()> {
    match bytes.as_ptr().align_offset(crate::BLOCK_ALIGNMENT) {
        0 => Ok(()),
        _ => Err(format!("its memory is not aligned to {} bytes", crate::BLOCK_ALIGNMENT)),
    }
}

pub(crate) fn open(bytes: Buffer, trust: Trust) -> Checked<Block> {
    let data = bytes.as_slice();
    let directory = Directory::read(data, data.len())?;
    check_alignment(&bytes)?;
    let store: Box<dyn TupleStore> = match directory.kind.is_row_store() {
        true => directory.row_store(&bytes, 0, data, trust)?,
        false => directory.stripes(0..directory.entries.len(), &bytes, 0, data, trust)?,
    };
    let indices = directory.indices(&bytes, store.as_ref(), trust)?;
    Ok(Block::from_parts(bytes, directory, store, indices))
}

/// Opens bytes that hold indices of `block`: (column of the block, index).
pub(crate) fn open_indices(
    bytes: Buffer,
    block: &Block,
    pinned: &Block,
    trust: Trust,
) -> Checked<(Part, Vec<(usize, index::Index)>)> {
    let frame = Frame::read(bytes.as_slice(), bytes.len())?;
    check_alignment(&bytes)?;
    if frame.header.layout != layout::LAYOUT_INDICES || frame.header.columns > 0 {
        return Err("it holds no indices to be put beside a block".into());
    }
    if frame.rows != block.rows() {
        return Err(format!("its indices are of {} rows, the block has {}", frame.rows, block.rows()));
    }
    let Places { sections, checked, .. } = frame.places(bytes.as_slice())?;
    let indices = index::open_beside(&bytes, &sections, (block, pinned), trust == Trust::Nothing)?;
    let store = Box::new(StripeStore { rows: frame.rows, stripes: Vec::new() });
    Ok((Part::new(bytes, frame.length, &frame.header, store, checked), indices))
}

/// A column that has just been written to bytes of its own, for indices to be built on.
pub(crate) fn stripe_of(bytes: &Buffer, entry: &Entry, rows: usize) -> Checked<Stripe> {
    Reader { bytes, first: 0, rows, entry, trust: Trust::Contents, sorted: false }.stripe(&[])
}

/// The header, checked, and where the parts of the metadata lie.
struct Frame {
    header: Header,
    length: usize,
    rows: usize,
    metadata_bytes: usize,
    sections_at: usize,
}

struct Places {
    entries: Vec<Entry>,
    sections: Vec<Section>,
    /// Every extent with the number of its first checksum: columns', then sections'.
    checked: Vec<(Extent, usize)>,
}

impl Frame {
    /// Reads the metadata at the beginning of `data`, for a block of which `available` bytes are there.
    fn read(data: &[u8], available: usize) -> Checked<Frame> {
        let header = Header::read(data)?;
        let length = usize::try_from(header.total_bytes).map_err(|_| "its length is absurd")?;
        if length > available || length > u32::MAX as usize {
            return Err(format!("{length} bytes are claimed, {available} are there"));
        }
        let rows = usize::try_from(header.rows).ok().filter(|r| *r <= u32::MAX as usize);
        let rows = rows.ok_or_else(|| format!("{} rows are claimed", header.rows))?;
        let most = length.min(data.len());
        let metadata_bytes = within(header.metadata_bytes, 0, most).ok_or("the metadata is too long")?;
        let sections_at = (header.columns as usize)
            .checked_mul(ENTRY_BYTES)
            .and_then(|n| n.checked_add(HEADER_BYTES))
            .filter(|end| *end <= metadata_bytes)
            .ok_or_else(|| format!("{} columns do not fit", header.columns))?;
        let directory_end = (header.sections as usize)
            .checked_mul(SECTION_BYTES)
            .and_then(|n| n.checked_add(sections_at))
            .filter(|end| *end <= metadata_bytes)
            .ok_or_else(|| format!("{} sections do not fit", header.sections))?;
        let bounds_end = header.bounds_at.saturating_add(header.bounds_bytes);
        within(bounds_end, directory_end, metadata_bytes).ok_or("the bounds lie outside the metadata")?;
        within(header.bounds_at, directory_end, metadata_bytes)
            .ok_or("the bounds lie outside the metadata")?;
        let checksums_end =
            header.checksum_count.checked_mul(8).and_then(|n| n.checked_add(header.checksums_at));
        within(checksums_end.unwrap_or(u64::MAX), directory_end, metadata_bytes)
            .ok_or("the checksums lie outside the metadata")?;
        Ok(Frame { header, length, rows, metadata_bytes, sections_at })
    }

    /// Directory entries whose extents lie where extents may lie.
    fn places(&self, data: &[u8]) -> Checked<Places> {
        let (metadata_bytes, length) = (self.metadata_bytes, self.length);
        let mut placing = Placing { metadata_bytes, length, checked: Vec::new(), checksum: 0 };
        let mut entries = Vec::with_capacity(self.header.columns as usize);
        for column in 0..self.header.columns as usize {
            let at = HEADER_BYTES + column * ENTRY_BYTES;
            let mut entry = Entry::read(&data[at..at + ENTRY_BYTES])
                .ok_or_else(|| format!("column {column} has an unknown type"))?;
            for extent in &mut entry.extents {
                placing.place(extent).map_err(|()| format!("column {column} lies outside the block"))?;
            }
            entries.push(entry);
        }
        let mut sections = Vec::with_capacity(self.header.sections as usize);
        for number in 0..self.header.sections as usize {
            let at = self.sections_at + number * SECTION_BYTES;
            let mut section = Section::read(&data[at..at + SECTION_BYTES])
                .ok_or_else(|| format!("section {number} is cut"))?;
            placing
                .place(&mut section.extent)
                .map_err(|()| format!("section {number} lies outside the block"))?;
            sections.push(section);
        }
        let Placing { checked, checksum, .. } = placing;
        if checksum as u64 != self.header.checksum_count {
            return Err(format!("{} checksums, {checksum} are needed", self.header.checksum_count));
        }
        Ok(Places { entries, sections, checked })
    }
}

/// Checks places of extents, and counts their checksums.
struct Placing {
    metadata_bytes: usize,
    length: usize,
    checked: Vec<(Extent, usize)>,
    checksum: usize,
}

impl Placing {
    fn place(&mut self, extent: &mut Extent) -> Result<(), ()> {
        let end = extent.offset.saturating_add(extent.length);
        let placed = within(extent.offset, self.metadata_bytes, self.length).is_some()
            && within(end, self.metadata_bytes, self.length).is_some()
            && extent.offset.is_multiple_of(layout::EXTENT_ALIGNMENT as u64);
        if extent.length > 0 && !placed {
            return Err(());
        }
        // An empty extent has no place; it must not be read from one.
        if extent.length == 0 {
            *extent = Extent::default();
        }
        self.checked.push((*extent, self.checksum));
        self.checksum += extent.checksums();
        Ok(())
    }
}

/// The one section of a kind; empty when there is none.
fn only_section(sections: &[Section], kind: u32) -> Checked<Extent> {
    let mut of_kind = sections.iter().filter(|s| s.kind == kind);
    match (of_kind.next(), of_kind.next()) {
        (only, None) => Ok(only.map_or_else(Extent::default, |s| s.extent)),
        _ => Err(format!("several sections of kind {kind}")),
    }
}

/// The bytes of an extent that `bytes` holds, from the block's byte `first` on.
fn extent_bytes(bytes: &Buffer, first: usize, Extent { offset, length }: Extent) -> Buffer {
    match length {
        // It has no place.
        0 => Buffer::default(),
        _ => bytes.slice_with_length(offset as usize - first, length as usize),
    }
}

fn row_stride(entries: &[Entry]) -> Checked<usize> {
    let forms = entries.iter().map(form).collect::<Checked<Vec<Form>>>()?;
    Ok(stride(forms.into_iter()))
}

/// What the fields of a row store's column hold.
fn form(entry: &Entry) -> Checked<Form> {
    let physical = entry.ty.physical();
    let coding = match entry.coding {
        layout::CODING_PLAIN if physical != Physical::Bool => Coding::Plain,
        layout::CODING_BITS if physical == Physical::Bool => Coding::Bits,
        layout::CODING_DICTIONARY | layout::CODING_TRUNCATED if [1, 2, 4].contains(&entry.code_width) => {
            Coding::Dictionary { width: entry.code_width, size: entry.dictionary_size }
        }
        other => return Err(format!("coding {other} does not go with {}", entry.ty)),
    };
    Ok(Form::of(entry.ty, coding))
}

/// Recomputes the checksum of the metadata of bytes that `open` accepted.
pub(crate) fn verify_metadata(bytes: &[u8]) -> Checked<()> {
    let header = Header::read(bytes)?;
    let mut metadata = bytes[..header.metadata_bytes as usize].to_vec();
    metadata[layout::METADATA_CHECKSUM_AT..layout::METADATA_CHECKSUM_AT + 8].fill(0);
    if simd::checksum(&metadata) != header.metadata_checksum {
        return Err("the checksum of its metadata does not match".into());
    }
    Ok(())
}

/// Recomputes the checksums of some extents; `first` is where in the block `bytes` begins, `checksums` all of its own.
pub(crate) fn verify_extents(
    extents: &[(Extent, usize)],
    bytes: &[u8],
    first: usize,
    checksums: &[u8],
) -> Checked<()> {
    for (extent, checksum) in extents.iter().filter(|(extent, _)| extent.length > 0) {
        let from = extent.offset as usize - first;
        let data = &bytes[from..from + extent.length as usize];
        for (i, chunk) in data.chunks(layout::CHECKSUM_CHUNK).enumerate() {
            let stored = layout::take_u64(checksums, (checksum + i) * 8);
            if stored != Some(simd::checksum(chunk)) {
                let at = extent.offset as usize + i * layout::CHECKSUM_CHUNK;
                return Err(format!("the checksum of the 64 KiB at byte {at} does not match"));
            }
        }
    }
    Ok(())
}

/// `value` as an index, when it is in `low..=high`.
fn within(value: u64, low: usize, high: usize) -> Option<usize> {
    usize::try_from(value).ok().filter(|v| (low..=high).contains(v))
}

struct Reader<'a> {
    bytes: &'a Buffer,
    /// Where in the block its first byte lies.
    first: usize,
    rows: usize,
    entry: &'a Entry,
    trust: Trust,
    /// The rows are claimed to be in the order of this column.
    sorted: bool,
}

impl Reader<'_> {
    fn stripe(&self, bounds: &[u8]) -> Checked<Stripe> {
        let entry = self.entry;
        let values = match entry.coding {
            layout::CODING_BITS if entry.ty.physical() == Physical::Bool => {
                let words = self.slice::<u64>(VALUES, self.rows.div_ceil(64))?;
                let buffer = BooleanBuffer::new(words.inner().clone(), 0, self.rows);
                Values::Bits(Bits { words, buffer })
            }
            layout::CODING_PLAIN => self.plain(VALUES, entry.ty.physical(), self.rows)?,
            layout::CODING_DICTIONARY | layout::CODING_TRUNCATED => self.codes()?,
            other => return Err(format!("coding {other} does not go with {}", entry.ty)),
        };
        let stripe = self.column(values, bounds)?;
        if stripe.ascends && self.trust == Trust::Nothing && !crate::sorted::is_sorted(&stripe, self.rows) {
            return Err("its rows are not in the order that is claimed".into());
        }
        Ok(stripe)
    }

    /// The field of a column in a row store that has the fields of the columns before it.
    fn field(&self, bounds: &[u8], store: &RowStore) -> Checked<Field> {
        let form = form(self.entry)?;
        let at = store.fields.iter().map(|f| f.form.width()).sum();
        if self.entry.extents[VALUES].length > 0 {
            return Err("its values stand beside the rows".into());
        }
        // Checked on all values, kept without any.
        let all = if self.trust == Trust::Nothing { self.rows } else { 0 };
        let empty = |coding, dictionary| Stripe {
            ty: self.entry.ty,
            coding,
            statistics: Arc::new(ColumnStatistics::empty()),
            nulls: None,
            null_words: None,
            values: Values::Codes8(Vec::new().into()),
            dictionary,
            ascends: false,
        };
        let mut field = Field { column: empty(Coding::Plain, None), form, at };
        let values = store.values(&field, &Rows::Range(0..all));
        if form == Form::Strings && self.trust == Trust::Nothing {
            self.check_fields(store, &field)?;
        }
        let mut column = self.column(values, bounds)?;
        column.values = store.values(&field, &Rows::Range(0..0));
        column.ascends = false;
        field.column = column;
        Ok(field)
    }

    /// Strings that fields point to lie in the heap and are text where the type says so.
    fn check_fields(&self, store: &RowStore, field: &Field) -> Checked<()> {
        for row in 0..store.rows {
            let bytes = store.string_checked(field, row).ok_or("a string lies outside the heap")?;
            if self.entry.ty.is_text() && std::str::from_utf8(bytes).is_err() {
                return Err(format!("its text is not UTF-8 in row {row}"));
            }
        }
        Ok(())
    }

    /// The column that has these values, with all else that belongs to it.
    fn column(&self, values: Values, bounds: &[u8]) -> Checked<Stripe> {
        let entry = self.entry;
        let physical = entry.ty.physical();
        let (nulls, null_words) = self.validity()?;
        let null_count = nulls.as_ref().map_or(0, NullBuffer::null_count);
        if null_count as u64 != entry.null_count {
            return Err(format!("{} NULLs are claimed, {null_count} found", entry.null_count));
        }
        let mut dictionary = None;
        let coding = match entry.coding {
            layout::CODING_BITS => Coding::Bits,
            layout::CODING_DICTIONARY => {
                let size = entry.dictionary_size as usize;
                self.check_codes(&values, size as u64)?;
                let values = self.plain(DICTIONARY, physical, size)?;
                if self.trust == Trust::Nothing {
                    check_order(&values, size)?;
                }
                let stripe = DictionaryStripe { ty: entry.ty, size, values, vector: OnceLock::new() };
                dictionary = Some(Arc::new(stripe));
                Coding::Dictionary { width: entry.code_width, size: entry.dictionary_size }
            }
            layout::CODING_TRUNCATED => {
                self.check_truncation(physical, &values)?;
                Coding::Truncated { width: entry.code_width, base: entry.base, step: entry.step }
            }
            _ => Coding::Plain,
        };
        let statistics = Arc::new(self.statistics(bounds)?);
        let ascends = self.sorted || statistics.sorted;
        Ok(Stripe { ty: entry.ty, coding, statistics, nulls, null_words, values, dictionary, ascends })
    }

    /// `count` values of an extent, which must be exactly as long.
    fn slice<T: arrow_buffer::ArrowNativeType>(
        &self,
        extent: usize,
        count: usize,
    ) -> Checked<ScalarBuffer<T>> {
        let Extent { offset, length } = self.entry.extents[extent];
        let wanted = count.checked_mul(size_of::<T>()).ok_or("too many values")?;
        if length as usize != wanted {
            return Err(format!("extent {extent} has {length} bytes, {wanted} are needed"));
        }
        if count == 0 {
            return Ok(Vec::<T>::new().into());
        }
        // In bounds and aligned: `Directory::read` and `check_alignment` have seen to both.
        Ok(ScalarBuffer::new(self.bytes.slice_with_length(offset as usize - self.first, wanted), 0, count))
    }

    fn validity(&self) -> Checked<(Option<NullBuffer>, Option<ScalarBuffer<u64>>)> {
        if self.entry.extents[VALIDITY].length == 0 {
            return Ok((None, None));
        }
        let words = self.slice::<u64>(VALIDITY, self.rows.div_ceil(64))?;
        let nulls = NullBuffer::new(BooleanBuffer::new(words.inner().clone(), 0, self.rows));
        if nulls.null_count() == 0 {
            return Ok((None, None));
        }
        Ok((Some(nulls), Some(words)))
    }

    /// Uncoded values: of the column, or of its dictionary.
    fn plain(&self, extent: usize, physical: Physical, count: usize) -> Checked<Values> {
        Ok(match physical {
            Physical::I16 => Values::I16(self.slice(extent, count)?),
            Physical::I32 => Values::I32(self.slice(extent, count)?),
            Physical::I64 => Values::I64(self.slice(extent, count)?),
            Physical::I128 => Values::I128(self.slice(extent, count)?),
            Physical::F32 => Values::F32(self.slice(extent, count)?),
            Physical::F64 => Values::F64(self.slice(extent, count)?),
            Physical::Bytes => Values::Strings(self.strings(extent, count)?),
            Physical::Bool => return Err("booleans are held as bits".into()),
        })
    }

    fn strings(&self, extent: usize, count: usize) -> Checked<StringStripe> {
        let offsets: ScalarBuffer<u32> = self.slice(extent, count + 1)?;
        let length = self.entry.extents[HEAP].length;
        let heap = extent_bytes(self.bytes, self.first, self.entry.extents[HEAP]);
        if self.trust == Trust::Nothing {
            let monotone = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
            let end = offsets.last().copied().unwrap_or(0);
            if !monotone || u64::from(end) > length {
                return Err("string offsets are out of order or out of bounds".into());
            }
            if self.entry.ty.is_text() {
                let text = std::str::from_utf8(heap.as_slice())
                    .map_err(|e| format!("its text is not UTF-8 at byte {}", e.valid_up_to()))?;
                if !offsets.iter().all(|at| text.is_char_boundary(*at as usize)) {
                    return Err("a string begins inside a character".into());
                }
            }
        }
        Ok(StringStripe { offsets, heap: Arc::new([heap]) })
    }

    /// The codes of the column.
    fn codes(&self) -> Checked<Values> {
        Ok(match self.entry.code_width {
            1 => Values::Codes8(self.slice(VALUES, self.rows)?),
            2 => Values::Codes16(self.slice(VALUES, self.rows)?),
            4 => Values::Codes32(self.slice(VALUES, self.rows)?),
            width => return Err(format!("codes of {width} bytes")),
        })
    }

    /// Every code is less than `limit`.
    fn check_codes(&self, values: &Values, limit: u64) -> Checked<()> {
        if self.trust == Trust::Nothing && greatest_code(values).is_some_and(|code| code >= limit) {
            return Err(format!("a code lies beyond the dictionary's {limit} values"));
        }
        Ok(())
    }

    /// Every code must stand for a value of the type.
    fn check_truncation(&self, physical: Physical, values: &Values) -> Checked<()> {
        let (base, step) = (self.entry.base, self.entry.step);
        let unread = self.trust == Trust::Contents;
        let greatest = if unread { 0 } else { greatest_code(values).unwrap_or(0) };
        let last = i128::from(greatest).checked_mul(step).and_then(|d| d.checked_add(base));
        let fits = |v: i128| Value::from_i128(v, physical).is_some();
        if step < 1 || !fits(base) || !fits(step) || !last.is_some_and(fits) {
            return Err(format!("base {base} and step {step} lead outside {}", self.entry.ty));
        }
        Ok(())
    }

    fn statistics(&self, bounds: &[u8]) -> Checked<ColumnStatistics> {
        let entry = self.entry;
        let flag = |bit: u8| entry.flags & bit != 0;
        let bound = |raw: [u8; 16]| -> Checked<Value> {
            if !flag(layout::FLAG_BOUNDS) {
                return Ok(Value::Null);
            }
            let bits = u128::from_le_bytes(raw);
            let value = match entry.ty.physical() {
                Physical::Bool => Some(Value::Bool(bits != 0)),
                Physical::F32 => Some(Value::F32(f32::from_bits(bits as u32))),
                Physical::F64 => Some(Value::F64(f64::from_bits(bits as u64))),
                Physical::Bytes => {
                    let (at, length) = (bits as u32 as usize, (bits >> 32) as u32 as usize);
                    bounds.get(at..at.saturating_add(length)).map(|b| Value::Bytes(b.into()))
                }
                physical => Value::from_i128(bits as i128, physical),
            };
            value.ok_or_else(|| "a bound is not of the column's type".into())
        };
        let (min, max) = (bound(entry.min)?, bound(entry.max)?);
        let bad_text = |v: &Value| v.as_bytes().is_some() && v.as_text().is_none();
        if entry.ty.is_text() && (bad_text(&min) || bad_text(&max)) {
            return Err("a bound is not UTF-8".into());
        }
        Ok(ColumnStatistics {
            min,
            max,
            null_count: entry.null_count,
            distinct: entry.distinct.min(self.rows as u64),
            unique: flag(layout::FLAG_UNIQUE),
            sorted: flag(layout::FLAG_SORTED),
        })
    }
}

fn greatest_code(values: &Values) -> Option<u64> {
    match values {
        Values::Codes8(c) => simd::bounds(c).map(|(_, high)| u64::from(high)),
        Values::Codes16(c) => simd::bounds(c).map(|(_, high)| u64::from(high)),
        Values::Codes32(c) => simd::bounds(c).map(|(_, high)| u64::from(high)),
        _ => None,
    }
}

/// Dictionaries rise strictly, or a search in them would miss values.
fn check_order(values: &Values, size: usize) -> Checked<()> {
    let rises = match values {
        Values::I16(v) => v.windows(2).all(|p| p[0] < p[1]),
        Values::I32(v) => v.windows(2).all(|p| p[0] < p[1]),
        Values::I64(v) => v.windows(2).all(|p| p[0] < p[1]),
        Values::I128(v) => v.windows(2).all(|p| p[0] < p[1]),
        Values::F32(v) => {
            v.windows(2).all(|p| types::value::compare_f64(f64::from(p[0]), f64::from(p[1])).is_lt())
        }
        Values::F64(v) => v.windows(2).all(|p| types::value::compare_f64(p[0], p[1]).is_lt()),
        Values::Strings(s) => (1..size).all(|i| s.get(i - 1) < s.get(i)),
        _ => false,
    };
    if rises { Ok(()) } else { Err("its dictionary is out of order".into()) }
}
