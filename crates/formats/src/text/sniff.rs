//! What a text file is, where options do not say it: delimiter, quotes, header, columns and types, found in samples.
//!
//! The sample is the file's first mebibyte and some places spread over the rest, so that a column whose first odd
//! value stands far behind is still seen as often as can be had without reading everything. What is guessed wrong is
//! an error with its place when it is read, never another value.

use plan::FileFormat;
use plan::file::{JsonRecords, RECORD_BYTES_MAX, TextOptions};
use types::{Error, Field, Result, Schema, SqlState, Type, cast};

use super::dialect::{Dialect, Pattern, dialect_of};
use super::given::Given;
use super::guess::{self, Guess, Order, order_of};
use super::header::{
    distinct, header_names, is_header, like_a_name, names, names_columns, one_header, other_names, same_names,
};
use super::reader::records_begin;
use super::sample::{Cell, Cut, Sample, places};
use crate::Environment;
use crate::input::Input;

/// Files looked at unless the user says otherwise; the others are expected to be alike.
const FILES: usize = 16;
const DELIMITERS: [u8; 4] = [b',', b';', b'|', b'\t'];
/// Records that decide about the dialect.
const DIALECT_RECORDS: usize = 512;
/// Records, at least, that show that quotes are characters.
const PLAIN_RECORDS_MIN: usize = 64;
/// Lines before the header, at most: a title, a remark.
const PREAMBLE_RECORDS: usize = 64;

/// What a file is under one dialect.
struct Fit {
    dialect: Dialect,
    /// As many columns as wanted; share of records with the commonest number of values; share of values that are not
    /// just text; that number.
    score: (bool, usize, usize, usize),
    faults: usize,
    quoted: usize,
}

fn fit(sample: &Sample, dialect: Dialect, columns: Option<usize>) -> Fit {
    let cut = sample.records(dialect, Some(0), false, &[String::new()], DIALECT_RECORDS, true);
    let width = common_width(&cut.rows);
    let rows: Vec<&Vec<Cell>> = cut.rows.iter().filter(|r| r.len() == width).collect();
    let records = cut.rows.len() + cut.faults;
    let mut score = (false, 0, 0, 0);
    if width >= 2 {
        let (mut typed, mut values) = (0, 0);
        for text in rows.iter().skip(1).take(64).flat_map(|r| r.iter()).flatten() {
            let mut guess = Guess::NEW;
            guess.add(text);
            typed += usize::from(guess.order().is_some() || guess.ty(Order::Unknown).0 != Type::Text);
            values += 1;
        }
        // Shares in steps, so that a few records that are not as they should be do not decide.
        let share = rows.len() * 50 / records.max(1);
        score = (columns == Some(width), share, typed * 20 / values.max(1), width);
    }
    Fit { dialect, score, faults: cut.faults, quoted: cut.quoted }
}

/// The number of values that most records have.
fn common_width(rows: &[Vec<Cell>]) -> usize {
    let mut counts: Vec<usize> = rows.iter().map(Vec::len).collect();
    counts.sort_unstable();
    counts.chunk_by(|a, b| a == b).max_by_key(|c| (c.len(), c[0])).map_or(0, |c| c[0])
}

/// The dialect that makes most of the sample; what was said stays.
fn find_dialect(sample: &Sample, known: &Known, columns: Option<usize>) -> Dialect {
    let data = &sample.data[..sample.data.len().min(1 << 16)];
    let beside = |quote: u8| {
        // Where a quote opens or closes a value.
        data.windows(2).any(|w| {
            let separates = |b: u8| DELIMITERS.contains(&b) || matches!(b, b'\n' | b'\r');
            (w[0] == quote && separates(w[1])) || (w[1] == quote && separates(w[0]))
        }) || data.first() == Some(&quote)
    };
    let mut dialects = vec![known.dialect];
    let mut vary = |choices: &[u8], set: &dyn Fn(&mut Dialect, u8)| {
        dialects = dialects
            .iter()
            .flat_map(|dialect| {
                choices.iter().map(|choice| {
                    let mut dialect = *dialect;
                    set(&mut dialect, *choice);
                    dialect
                })
            })
            .collect();
    };
    if !known.quote {
        let mut quotes = vec![b'"'];
        let within = known.dialect.delimiter == b'\'' || known.dialect.delimiter_begin.contains(&b'\'');
        if beside(b'\'') && !within {
            quotes.push(b'\'');
        }
        vary(&quotes, &|dialect, quote| dialect.quote = Some(quote));
    }
    if !known.escape && known.dialect.quote.is_some() && data.windows(2).any(|w| w == b"\\\"" || w == b"\\'")
    {
        vary(&[0, b'\\'], &|dialect, escape| dialect.escape = (escape != 0).then_some(escape));
    }
    if !known.delimiter {
        vary(&DELIMITERS, &|dialect, delimiter| dialect.delimiter = delimiter);
    }
    if let [only] = dialects.as_slice() {
        return *only;
    }
    let mut best: Option<Fit> = None;
    for dialect in dialects {
        let next = fit(sample, dialect, columns);
        let better = best.as_ref().is_none_or(|best| {
            let same_quotes =
                next.dialect.quote == best.dialect.quote && next.dialect.escape == best.dialect.escape;
            match same_quotes {
                true => next.score > best.score,
                // The usual quotes give way only to others that make sense where they make none.
                false if next.dialect.quote != best.dialect.quote && next.quoted == 0 => false,
                false => {
                    let sense = |fit: &Fit| (usize::MAX - fit.faults, fit.score);
                    sense(&next) > sense(best)
                }
            }
        });
        if better {
            best = Some(next);
        }
    }
    best.map_or(known.dialect, |fit| fit.dialect)
}

/// A sample in which the quotes do not match, as one of a file that uses none, where that makes a table without a fault:
/// many records, all of one width, and as good as no value that is quoted as a whole. Of few records, the odd one may as
/// well be a mistake.
fn without_quotes(sample: &Sample, known: &Known, quoted: Dialect) -> Option<Dialect> {
    let delimiters = if known.delimiter { vec![quoted.delimiter] } else { DELIMITERS.to_vec() };
    let fits = |dialect: &Dialect| {
        let cut = sample.records(*dialect, Some(0), false, &[], usize::MAX, false);
        let width = cut.rows.first().map_or(0, Vec::len);
        let whole = |cell: &&Cell| {
            cell.as_ref().is_some_and(|text| text.len() > 1 && text.starts_with('"') && text.ends_with('"'))
        };
        width >= 2
            && cut.rows.len() >= PLAIN_RECORDS_MIN
            && cut.rows.iter().all(|row| row.len() == width)
            && cut.rows.iter().flatten().filter(whole).count() * 100 <= cut.rows.len()
    };
    let plain = |delimiter| Dialect { delimiter, quote: None, escape: None, ..quoted };
    delimiters.into_iter().map(plain).find(fits)
}

/// What need not be looked for.
struct Known {
    dialect: Dialect,
    delimiter: bool,
    quote: bool,
    escape: bool,
}

/// Records before the first one that looks like part of the table: lines that are nothing but a text, or any lines
/// before a row of names.
fn preamble(rows: &[Vec<Cell>], width: usize, names: bool) -> usize {
    let remark = |r: &Vec<Cell>| matches!(&r[0], Some(text) if text.starts_with('#'));
    let remarks = rows.iter().take_while(|r| remark(r)).count();
    if width >= 2 && (1..PREAMBLE_RECORDS).contains(&remarks) && remarks < rows.len() {
        // The last one may name the columns.
        let heading = names && rows[remarks - 1].len() == width;
        return remarks - usize::from(heading);
    }
    let before = rows.iter().take(PREAMBLE_RECORDS).take_while(|r| r.len() != width).count();
    if width < 2 || before == 0 || before == PREAMBLE_RECORDS || rows.len() < before + 2 {
        return 0;
    }
    let plain = rows[..before].iter().all(|r| r.len() == 1);
    let named = rows[before].iter().all(like_a_name) && distinct(&rows[before]);
    let table = rows[before..].iter().filter(|r| r.len() == width).count() * 2 > rows.len() - before;
    if table && (plain || named) { before } else { 0 }
}

/// Columns that a text file may have. What has more is taken for text with the wrong delimiter or no lines, which is
/// better said at once than by whatever is made of so many columns later.
const COLUMNS_MAX: usize = 10_000;

/// A described text: its columns, how it is read, and what was looked at.
pub struct Described {
    /// The columns: names from header or options, types from the sample.
    pub schema: Schema,
    /// The options that the file is read with, all of them settled.
    pub options: TextOptions,
    /// Records of the sample that the types were guessed from.
    pub records: usize,
    /// Columns of dates whose form is not certain.
    pub uncertain: Vec<String>,
}

/// Schema and options of text files. With `schema` the types are the table's and only the form is looked for.
pub fn describe(
    environment: &Environment,
    paths: &[String],
    format: FileFormat,
    given: &Given,
    schema: Option<&Schema>,
) -> Result<(Schema, TextOptions)> {
    look(environment, paths, format, given, schema).map(|found| (found.schema, found.options))
}

/// As `describe`, with what was looked at.
pub fn look(
    environment: &Environment,
    paths: &[String],
    format: FileFormat,
    given: &Given,
    schema: Option<&Schema>,
) -> Result<Described> {
    if let (false, None) = (given.columns.is_empty(), schema) {
        let field = |(name, ty): &(String, Type)| Field::new(name, *ty, true);
        let schema = Schema::new(given.columns.iter().map(field).collect());
        return look(environment, paths, format, given, Some(&schema));
    }
    let tbl = format == FileFormat::Tbl;
    let quote = given.quote.unwrap_or(if tbl { 0 } else { b'"' });
    let by_name = match paths.first() {
        Some(path) if path.to_ascii_lowercase().ends_with(".tsv") => Some(b'\t'),
        _ => tbl.then_some(b'|'),
    };
    let delimiter = given.delimiter.or(by_name);
    let mut options = options_said(given, delimiter.unwrap_or(b','), quote);
    for format in [&given.date_format, &given.timestamp_format].into_iter().flatten() {
        Pattern::new(format)?;
    }
    if let (true, Some(schema)) = (given.no_sniffing, schema) {
        options.header.get_or_insert(false);
        options.formats = given_formats(schema, given);
        let schema = nullable(schema);
        return Ok(Described { schema, options, records: 0, uncertain: vec![] });
    }
    let inputs = samples(environment, paths, given, &options)?;
    let Some((first_input, first_sample)) = inputs.first() else {
        options.header.get_or_insert(false);
        return match schema {
            Some(schema) => Ok(Described { schema: nullable(schema), options, records: 0, uncertain: vec![] }),
            None => Err(Error::new(
                SqlState::BadCopyFormat,
                format!("\"{}\" is empty: it has no columns", paths.first().map_or("", String::as_str)),
            )
            .with_hint("create the table with its columns, then COPY into it; or name them: columns => {'a': 'BIGINT'}")),
        };
    };
    if given.newline.is_none() && memchr::memchr(b'\n', &first_sample.data).is_none() {
        let old =
            memchr::memchr(b'\r', &first_sample.data).is_some_and(|at| at + 1 < first_sample.data.len());
        options.newline = if old { b'\r' } else { b'\n' };
    }
    check_is_text(first_input, first_sample)?;
    let known = Known {
        dialect: dialect_of(format, &options),
        delimiter: delimiter.is_some(),
        quote: given.quote.is_some() || tbl,
        escape: given.escape.is_some(),
    };
    let limit = given.sample.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let mut cut = first_records(first_sample, &known, schema.map(Schema::len), limit, &mut options);
    if given.skip.is_none() && !tbl {
        skip_preamble(first_sample, &mut cut, given, &mut options);
    }
    let dialect = dialect_of(format, &options);
    let (rows, sound) = (cut.rows, cut.faults == 0);
    let Some((first, rest)) = rows.split_first() else {
        if let Some(schema) = schema {
            // The columns are known; what is wrong with the record is said, with its place, when it is read.
            options.header = Some(given.header == Some(true));
            return Ok(Described { schema: nullable(schema), options, records: 0, uncertain: vec![] });
        }
        let message = format!("the first record of \"{}\" cannot be read", first_input.path);
        return Err(Error::new(SqlState::BadCopyFormat, message)
            .with_detail(if sound { "it has no end" } else { "its quotes do not match" })
            .with_hint("if the file does not use quotes, say so: quote => ''; or read it as well as can be: strict => false"));
    };
    let width = first_width(&rows, first, &options, &first_input.path)?;
    let mut columns = Columns::new(width, &options);
    columns.add(rest);
    let others = look_on(&inputs, dialect, given, limit, &options, &mut columns)?;
    let heads = Heads { path: &inputs[0].0.path, first, rest, others: &others };
    let header = heads.header(given, schema, tbl, &columns.guesses)?;
    options.header = Some(header);
    if header {
        options.header_names = heads.names(given, schema)?.into();
    } else {
        heads.check_there_is_none(given, tbl, &columns)?;
        columns.add(&rows[..1]);
        others.iter().for_each(|(_, row)| columns.add(std::slice::from_ref(row)));
    }
    let order = order_of(columns.guesses.iter());
    if let Some(schema) = schema {
        return Ok(of_schema(schema, given, &columns, order, options));
    }
    of_guesses(&rows, header, given, &columns, order, options)
}

/// What the user said, and what holds where nothing is said; what is looked for is not settled yet.
fn options_said(given: &Given, delimiter: u8, quote: u8) -> TextOptions {
    TextOptions {
        delimiter,
        delimiter_begin: given.delimiter_begin,
        quote,
        escape: given.escape.unwrap_or(quote),
        newline: given.newline.unwrap_or(b'\n'),
        comment: given.comment.unwrap_or(0),
        skip: given.skip.unwrap_or(0),
        header: given.header,
        header_names: std::sync::Arc::default(),
        null_texts: if given.null_texts.is_empty() { vec![String::new()] } else { given.null_texts.clone() },
        formats: vec![],
        found: vec![],
        decimal: given.decimal.unwrap_or(b'.'),
        thousands: given.thousands.unwrap_or(0),
        null_padding: given.null_padding,
        time_zone: types::zone::current(),
        lenient: given.lenient,
        record_bytes_max: given.record_bytes_max.unwrap_or(RECORD_BYTES_MAX),
        sequential: given.sequential,
        piece_bytes: given.piece_bytes,
        json_records: JsonRecords::Found,
        encoding: given.encoding,
        rejects: given.ignore_errors.then(plan::Rejects::ignored),
    }
}

/// The beginnings of the first files, those left out that have nothing but blanks.
fn samples(
    environment: &Environment,
    paths: &[String],
    given: &Given,
    options: &TextOptions,
) -> Result<Vec<(Input, Sample)>> {
    let mut inputs = Vec::new();
    for path in paths.iter().take(given.files.unwrap_or(FILES)) {
        let input = Input::open_text(environment, path, given.encoding)?;
        let begin = records_begin(&input, options.newline, options.skip)?;
        let sample = Sample::head(&input, begin, given.sample)?;
        if !sample.data.iter().all(u8::is_ascii_whitespace) {
            inputs.push((input, sample));
        }
    }
    Ok(inputs)
}

fn check_is_text(input: &Input, sample: &Sample) -> Result<()> {
    if input.length > 0 && memchr::memchr(0, &sample.data).is_some_and(|_| mostly_zero(&sample.data)) {
        return Err(Error::new(
            SqlState::BadCopyFormat,
            format!("\"{}\" is no text: it is full of zero bytes", input.path),
        )
        .with_hint("if it is UTF-16, say so: encoding => 'utf-16le' or 'utf-16be' in read_csv"));
    }
    Ok(())
}

/// The first file's records in the dialect that fits best, which the options have from now on.
fn first_records(
    sample: &Sample,
    known: &Known,
    columns: Option<usize>,
    limit: usize,
    options: &mut TextOptions,
) -> Cut {
    let mut dialect = find_dialect(sample, known, columns);
    let mut cut = sample.records(dialect, Some(0), false, &options.null_texts, limit, false);
    if let (true, false, Some(plain)) = (cut.faults > 0, known.quote, without_quotes(sample, known, dialect))
    {
        dialect = plain;
        cut = sample.records(dialect, Some(0), false, &options.null_texts, limit, false);
    }
    options.delimiter = dialect.delimiter;
    options.quote = dialect.quote.unwrap_or(0);
    options.escape = dialect.escape.unwrap_or(options.quote);
    cut
}

/// Takes lines before the table out of the records; they are skipped, or are remarks.
fn skip_preamble(sample: &Sample, cut: &mut Cut, given: &Given, options: &mut TextOptions) {
    let width = common_width(&cut.rows[..cut.rows.len().min(DIALECT_RECORDS)]);
    let before = preamble(&cut.rows, width, given.header != Some(false));
    if before == 0 {
        return;
    }
    let begin = cut.begins[before];
    options.skip = memchr::memchr_iter(options.newline, &sample.data[..begin]).count() as u64;
    let remarks = cut.rows[..before].iter().all(|r| matches!(&r[0], Some(text) if text.starts_with('#')));
    let begins_so = |row: &Vec<Cell>| row.len() == width && matches!(&row[0], Some(t) if t.starts_with('#'));
    if remarks && given.comment.is_none() && !cut.rows[before..].iter().any(begins_so) {
        // Remarks may go on in the midst of the file.
        options.comment = b'#';
    }
    cut.rows.drain(..before);
}

/// How many columns the first record says that there are.
fn first_width(rows: &[Vec<Cell>], first: &[Cell], options: &TextOptions, path: &str) -> Result<usize> {
    // Records without a fault may be wider than the first one, which then is a short record rather than the measure.
    let width = match options.null_padding {
        true => rows.iter().map(Vec::len).max().unwrap_or(first.len()),
        false => first.len(),
    };
    if width > COLUMNS_MAX {
        return Err(Error::new(
            SqlState::BadCopyFormat,
            format!("the first record of \"{path}\" has {width} values"),
        )
        .with_detail(format!("A text file may have {COLUMNS_MAX} columns."))
        .with_hint("if the file has another delimiter, say so: DELIMITER ';'"));
    }
    Ok(width)
}

/// What the columns' types may be, by the records seen so far.
struct Columns {
    guesses: Vec<Guess>,
    /// Records seen.
    records: usize,
    /// The form of numbers, and whether short records count.
    options: TextOptions,
}

impl Columns {
    fn new(width: usize, options: &TextOptions) -> Self {
        Columns { guesses: vec![Guess::NEW; width], records: 0, options: options.clone() }
    }

    fn add(&mut self, rows: &[Vec<Cell>]) {
        let Columns { guesses, records, options } = self;
        let width = guesses.len();
        for row in rows.iter().filter(|r| r.len() == width || (options.null_padding && r.len() < width)) {
            *records += 1;
            for (guess, cell) in guesses.iter_mut().zip(row) {
                if let Some(text) = cell {
                    match dialect_number(options, text) {
                        Some(number) => guess.add(&number),
                        None => guess.add(text),
                    }
                }
            }
        }
    }
}

/// Looks at the beginnings of the other files and at places in all of them; gives the others' first records.
fn look_on<'i>(
    inputs: &'i [(Input, Sample)],
    dialect: Dialect,
    given: &Given,
    limit: usize,
    options: &TextOptions,
    columns: &mut Columns,
) -> Result<Vec<(&'i str, Vec<Cell>)>> {
    let mut others: Vec<(&str, Vec<Cell>)> = Vec::new();
    for (number, (input, sample)) in inputs.iter().enumerate() {
        if number > 0 {
            let behind = match options.skip == given.skip.unwrap_or(0) {
                true => None,
                // Lines before the header were found in the first file.
                false => {
                    let begin = records_begin(input, options.newline, options.skip)?;
                    Some(Sample::head(input, begin, given.sample)?)
                }
            };
            let sample = behind.as_ref().unwrap_or(sample);
            let mut cut = sample.records(dialect, Some(0), false, &options.null_texts, limit, false);
            columns.add(cut.rows.get(1..).unwrap_or_default());
            if !cut.rows.is_empty() {
                others.push((&input.path, cut.rows.swap_remove(0)));
            }
        }
        if given.sample.is_none() {
            for rows in places(input, dialect, &options.null_texts, columns.guesses.len())? {
                columns.add(&rows);
            }
        }
    }
    Ok(others)
}

/// The records that may be headers, and what stands below that of the first file.
struct Heads<'a> {
    path: &'a str,
    first: &'a [Cell],
    rest: &'a [Vec<Cell>],
    /// Paths and first records of the other files.
    others: &'a [(&'a str, Vec<Cell>)],
}

impl Heads<'_> {
    /// Whether there is a header; an error where it has to be that of the table and is not.
    fn header(&self, given: &Given, schema: Option<&Schema>, tbl: bool, guesses: &[Guess]) -> Result<bool> {
        let Heads { path, first, rest, .. } = *self;
        let header = match (given.header, schema) {
            (Some(header), _) => header,
            (None, Some(schema)) => !tbl && names_columns(first, schema, path)?,
            (None, None) => !tbl && is_header(first, rest, guesses),
        };
        if let (true, Some(schema)) = (given.header_matches, schema) {
            let said = header_names(first);
            let columns: Vec<String> = schema.fields().iter().map(|f| f.name.clone()).collect();
            if !same_names(&said, &columns) {
                return Err(Error::new(
                SqlState::BadCopyFormat,
                format!(
                    "the header of \"{path}\" is {}, where the columns are {}",
                    said.join(", "),
                    columns.join(", ")
                ),
            )
            .with_hint(
                "name the columns in the file's order: COPY t (a, b) FROM ...; HEADER true goes by position",
            ));
            }
        }
        Ok(header)
    }

    /// The header's names, where the columns go by them: the same in every file.
    fn names(&self, given: &Given, schema: Option<&Schema>) -> Result<Vec<String>> {
        if !given.names.is_empty() {
            return Ok(vec![]);
        }
        let said = header_names(self.first);
        for (other, row) in self.others {
            let theirs = header_names(row);
            if !same_names(&said, &theirs) {
                return Err(other_names(self.path, &said, other, &theirs, schema.is_some()));
            }
        }
        Ok(said)
    }

    /// Where the first file has no header, none of the others has one.
    fn check_there_is_none(&self, given: &Given, tbl: bool, columns: &Columns) -> Result<()> {
        let Columns { guesses, .. } = columns;
        for (other, row) in self.others.iter().filter(|_| given.header.is_none() && !tbl) {
            if row.len() == guesses.len() && row.iter().all(like_a_name) && is_header(row, self.rest, guesses)
            {
                return Err(one_header(self.path, other));
            }
        }
        Ok(())
    }
}

/// A text whose columns are known: their forms of dates are looked for.
fn of_schema(
    schema: &Schema,
    given: &Given,
    columns: &Columns,
    order: Order,
    mut options: TextOptions,
) -> Described {
    options.formats = given_formats(schema, given);
    for (at, field) in schema.fields().iter().enumerate() {
        let slot = &mut options.formats[at];
        if slot.is_none()
            && let Some((ty, Some(found))) = columns.guesses.get(at).map(|g| g.ty(order))
            && (ty == field.ty || (ty == Type::Date && field.ty == Type::Timestamp))
        {
            *slot = Some(found);
        }
    }
    Described { schema: nullable(schema), options, records: columns.records, uncertain: vec![] }
}

/// A text whose columns have the names of the header and the types that were guessed or said.
fn of_guesses(
    rows: &[Vec<Cell>],
    header: bool,
    given: &Given,
    columns: &Columns,
    order: Order,
    mut options: TextOptions,
) -> Result<Described> {
    let width = columns.guesses.len();
    let mut names = match given.normalizes_names && header {
        true => super::header::normalized(names(header.then_some(rows[0].as_slice()), width)),
        false => names(header.then_some(rows[0].as_slice()), width),
    };
    if given.names.len() > width {
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("option \"names\" has {} names; the file has {width} columns", given.names.len()),
        )
        .with_detail(format!("The columns are {}.", names.join(", "))));
    }
    for (name, given) in names.iter_mut().zip(&given.names) {
        name.clone_from(given);
    }
    let said = given.types_of(&names)?;
    let mut fields = Vec::with_capacity(width);
    let mut uncertain = Vec::new();
    for ((name, guess), said) in names.into_iter().zip(&columns.guesses).zip(said) {
        let (mut ty, mut form) = guess.ty(order);
        if ty == Type::Text && guess.order() == Some(Order::Unknown) && said.is_none() {
            uncertain.push(name.clone());
        }
        if said.is_none() && !given.candidates.is_empty() {
            let read = |read: &dyn Fn(&str) -> bool| reads(rows, header, fields.len(), read);
            (ty, form) = candidate(&given.candidates, guess, (ty, form), read);
        }
        options.found.push(said.is_none());
        if given.all_text && said.is_none() {
            (ty, form) = (Type::Text, None);
        }
        if let Some(said) = said {
            form = form.filter(|_| said == ty || (ty == Type::Date && said == Type::Timestamp));
            ty = said;
        }
        if said.is_none()
            && !given.all_text
            && ty == Type::Text
            && let Some(found) = by_given_form(given, |read| reads(rows, header, fields.len(), read))
        {
            ty = found;
        }
        options.formats.push(match ty {
            Type::Date => given.date_format.clone().or(form),
            Type::Timestamp | Type::TimestampTz => given.timestamp_format.clone().or(form),
            _ => None,
        });
        fields.push(Field::new(name, ty, true));
    }
    Ok(Described { schema: Schema::new(fields), options, records: columns.records, uncertain })
}

/// The candidate that a column is found to have, and the form of its dates: the simplest that all values are read as.
fn candidate(
    candidates: &[Type],
    guess: &Guess,
    (found, form): (Type, Option<String>),
    reads: impl Fn(&dyn Fn(&str) -> bool) -> bool,
) -> (Type, Option<String>) {
    let like_found = |ty: &Type| *ty == found || (ty.is_decimal() && found.is_decimal());
    let mut ordered: Vec<Type> = candidates.to_vec();
    ordered.sort_by_key(|ty| guess::rank(*ty));
    for ty in ordered {
        if like_found(&ty) && form.is_some() {
            return (ty, form);
        }
        let fits =
            guess.may_be(ty) && reads(&|text| guess::fits(text, ty) && cast::parse_text(text, ty).is_ok());
        if fits {
            return (ty, None);
        }
    }
    (Type::Text, None)
}

/// A form that was given holds for every column that has it: the type of a column that it reads.
fn by_given_form(given: &Given, reads: impl Fn(&dyn Fn(&str) -> bool) -> bool) -> Option<Type> {
    let date = |form: &String| reads(&|text| Pattern::new(form).is_ok_and(|p| p.date(text).is_some()));
    let timestamp = |form: &String| {
        reads(&|text| Pattern::new(form).is_ok_and(|p| p.timestamp(text, types::Zone::Utc).is_some()))
    };
    if given.date_format.as_ref().is_some_and(date) {
        return Some(Type::Date);
    }
    given.timestamp_format.as_ref().is_some_and(timestamp).then_some(Type::Timestamp)
}

/// Whether all values of a column in the sample are read, and there are any.
fn reads(rows: &[Vec<Cell>], header: bool, column: usize, read: impl Fn(&str) -> bool) -> bool {
    let mut texts = rows[usize::from(header)..].iter().filter_map(|r| r.get(column)?.as_deref()).peekable();
    texts.peek().is_some() && texts.all(read)
}

/// A number in the file's own form, as SQL writes it.
fn dialect_number(options: &TextOptions, text: &str) -> Option<String> {
    if options.decimal == b'.' && options.thousands == 0 {
        return None;
    }
    let number = |b: u8| {
        b.is_ascii_digit()
            || matches!(b, b'+' | b'-' | b'e' | b'E')
            || b == options.decimal
            || b == options.thousands
    };
    let digits = text.bytes().any(|b| b.is_ascii_digit()) && text.trim().bytes().all(number);
    digits.then(|| super::dialect::Forms::of(options).map(|f| f.number(text)).unwrap_or_default())
}

/// Whether so much is zero that it cannot be text.
fn mostly_zero(data: &[u8]) -> bool {
    let part = &data[..data.len().min(4096)];
    memchr::memchr_iter(0, part).count() * 4 > part.len()
}

fn nullable(schema: &Schema) -> Schema {
    // Whether NULL may stand in the table is for the table to check.
    Schema::new(schema.fields().iter().map(|f| Field::new(&f.name, f.ty, true)).collect())
}

/// By column, the form of dates that was given.
pub fn given_formats(schema: &Schema, given: &Given) -> Vec<Option<String>> {
    let form = |field: &Field| match field.ty {
        Type::Date => given.date_format.clone(),
        Type::Timestamp | Type::TimestampTz => given.timestamp_format.clone(),
        _ => None,
    };
    schema.fields().iter().map(form).collect()
}
