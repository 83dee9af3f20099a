//! Which row of a text file names its columns, and what the columns are called.
//!
//! A first row that is taken for a header is no row of the relation, so it is one only where something speaks for it:
//! a word over values of a type, names over nothing but texts, years next to names. Called when a file is described.

use std::collections::{HashMap, HashSet};

use types::{Error, Result, Schema, SqlState, Type, cast};

use super::guess::{Family, Guess, Order, family};
use super::sample::Cell;

/// Looks like a column's name.
pub fn like_a_name(cell: &Cell) -> bool {
    let Some(text) = cell else { return false };
    let mut characters = text.trim().chars();
    let begins = characters.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    begins
        && text.len() <= 64
        && characters
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '.' | '-' | '(' | ')' | '/' | '#' | '%'))
}

/// Whether no two cells are equal; NULLs count as equal.
pub fn distinct(row: &[Cell]) -> bool {
    let mut names: Vec<&Cell> = row.iter().collect();
    names.sort();
    names.windows(2).all(|w| w[0] != w[1])
}

/// Words that stand for no value rather than for a column.
const NOTHING: [&str; 12] =
    ["na", "n/a", "#n/a", "n.a.", "null", "none", "nil", "nan", "missing", "unknown", "\\n", "<na>"];

/// Whether a cell says that its column is one of another kind than its values are.
fn names_the_column(guess: &Guess, text: &str) -> bool {
    let trimmed = text.trim();
    if NOTHING.iter().any(|nothing| trimmed.eq_ignore_ascii_case(nothing)) {
        return false;
    }
    let mut with = guess.clone();
    with.add(text);
    if is_typed(&with) && with.ty(Order::DayFirst).0 == guess.ty(Order::DayFirst).0 {
        return false;
    }
    match (family(text), guess.ty(Order::DayFirst).0) {
        (Family::Word, _) => true,
        // What holds a number or a code among numbers, and a moment among moments, is a value: a wider type holds it.
        (Family::Signs, _) => false,
        (Family::Number, ty) => ty == Type::Boolean,
        (Family::Moment, ty) => ty.is_numeric() || ty == Type::Boolean,
        (Family::Boolean, ty) => ty != Type::Boolean,
    }
}

fn is_typed(guess: &Guess) -> bool {
    guess.ty(Order::Unknown).0 != Type::Text || guess.order().is_some()
}

/// Whether the first row names the columns, judged by the rows below it. A row of numbers over numbers never does: what
/// is taken for a header is no row.
pub fn is_header(first: &[Cell], rest: &[Vec<Cell>], guesses: &[Guess]) -> bool {
    let named = |(guess, cell): (&Guess, &Cell)| {
        is_typed(guess) && cell.as_ref().is_some_and(|text| names_the_column(guess, text))
    };
    if guesses.iter().zip(first).any(named) {
        return true;
    }
    let repeated = rest.iter().any(|row| row.iter().zip(first).any(|(a, b)| a == b && a.is_some()));
    let named: Vec<Cell> = first.iter().filter(|cell| cell.is_some()).cloned().collect();
    if repeated || !distinct(&named) {
        return false;
    }
    // Columns without a name are those of an index, at the beginning, and those in which there is nothing.
    let index = first.iter().take_while(|cell| cell.is_none()).count();
    let filled = |column: usize| rest.iter().all(|row| row.get(column).is_some_and(Option::is_some));
    if index > INDEX_COLUMNS_MAX || (index > 0 && rest.is_empty()) || !(0..index).all(filled) {
        return false;
    }
    let cells: Vec<(usize, &str)> =
        first.iter().enumerate().filter_map(|(at, cell)| Some((at, cell.as_deref()?))).collect();
    let empty = |column: usize| rest.iter().all(|row| row.get(column).is_none_or(Option::is_none));
    if cells.is_empty() || (index..first.len()).any(|at| first[at].is_none() && !empty(at)) {
        return false;
    }
    let typed = |at: usize| guesses.get(at).is_some_and(is_typed);
    let (values, words): (Vec<_>, Vec<_>) = cells.iter().copied().partition(|(at, _)| typed(*at));
    if !words.iter().all(|(_, text)| like_a_name(&Some((*text).to_owned()))) {
        return false;
    }
    match (values.is_empty(), words.is_empty()) {
        (true, _) => true,
        // A data frame with an index column whose other columns are numbered or named by years.
        (false, true) => {
            let numbered = || values.iter().enumerate().all(|(n, (_, text))| *text == n.to_string());
            index == 1 && values.len() > 1 && (numbered() || years(&values, rest))
        }
        (false, false) => years(&values, rest),
    }
}

/// Columns of an index that has no names, at most.
const INDEX_COLUMNS_MAX: usize = 3;

/// Whether the cells over columns of numbers are years that name them: different ones, and not such as the columns hold.
fn years(cells: &[(usize, &str)], rest: &[Vec<Cell>]) -> bool {
    let year = |text: &str| {
        let text = text.trim();
        text.parse::<i32>().ok().filter(|year| text.len() == 4 && (1500..=2200).contains(year))
    };
    let Some(named) = cells.iter().map(|(_, text)| year(text)).collect::<Option<Vec<i32>>>() else {
        return false;
    };
    let step = |pair: &[i32]| pair[1] - pair[0];
    let even = named.windows(2).map(step).collect::<Vec<_>>();
    let (mut years, mut others) = (0, 0);
    for (at, _) in cells {
        for text in rest.iter().filter_map(|row| row.get(*at)?.as_deref()) {
            *if year(text).is_some() { &mut years } else { &mut others } += 1;
        }
    }
    let in_order = even.iter().all(|step| *step > 0) || even.iter().all(|step| *step < 0);
    // Many in a row are hardly values; of a few, none of the values may be a year.
    match named.len() {
        0..3 => in_order && others > 0 && years == 0,
        _ => in_order && others > years,
    }
}

/// Words that begin statements, and are names only in quotes elsewhere.
const STATEMENTS: [&str; 8] = ["abort", "alter", "begin", "commit", "delete", "insert", "rollback", "update"];

/// The names in small letters, digits and underscores, each once; one that would need quotes has an underscore in front.
pub fn normalized(names: Vec<String>) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut out = Vec::with_capacity(names.len());
    for name in names {
        let plain: String = types::collation::without_accents(&name)
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_' || c.is_whitespace())
            .collect();
        let words: Vec<&str> = plain.split_whitespace().collect();
        let mut name = words.join("_").to_ascii_lowercase();
        if STATEMENTS.contains(&name.as_str()) || types::quote::name_if_needed(&name) != name {
            name.insert(0, '_');
        }
        while let Some(count) = counts.get_mut(&name) {
            *count += 1;
            name = format!("{name}_{count}");
        }
        counts.insert(name.clone(), 0);
        out.push(name);
    }
    out
}

/// Whether the first row names a table's columns. Names in another order are an error: read by position they would put
/// values into the wrong columns.
pub fn names_columns(first: &[Cell], schema: &Schema, path: &str) -> Result<bool> {
    let names: Vec<String> =
        first.iter().map(|c| c.as_deref().unwrap_or_default().trim().to_lowercase()).collect();
    let columns: Vec<String> = schema.fields().iter().map(|f| f.name.to_lowercase()).collect();
    if names == columns {
        return Ok(true);
    }
    let (mut sorted_names, mut sorted_columns) = (names, columns);
    sorted_names.sort_unstable();
    sorted_columns.sort_unstable();
    if sorted_names == sorted_columns {
        return Err(Error::new(
            SqlState::BadCopyFormat,
            format!("the header of \"{path}\" names the columns in another order than the table"),
        )
        .with_hint("name the columns in the file's order: COPY t (a, b) FROM ...; or give HEADER true to go by position"));
    }
    let unreadable = schema.fields().iter().zip(first).any(|(f, cell)| {
        !f.ty.is_text() && cell.as_ref().is_some_and(|text| cast::parse_text(text, f.ty).is_err())
    });
    Ok(unreadable && first.iter().all(like_a_name) && distinct(first))
}

/// What a header says.
pub fn header_names(row: &[Cell]) -> Vec<String> {
    row.iter().map(|cell| cell.as_deref().unwrap_or_default().trim().to_owned()).collect()
}

/// Whether two headers name the same columns in the same order.
pub fn same_names(a: &[String], b: &[String]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || a.to_lowercase() == b.to_lowercase())
}

/// The error for files that would be read by position while their headers differ.
pub fn other_names(first: &str, names: &[String], path: &str, theirs: &[String], table: bool) -> Error {
    const SHOWN_MAX: usize = 8;
    let list = |names: &[String]| {
        let shown = names.iter().take(SHOWN_MAX).map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ");
        if names.len() > SHOWN_MAX { format!("{shown} and {} more", names.len() - SHOWN_MAX) } else { shown }
    };
    let hint = match table {
        true => "copy the files one by one, with the columns in each file's order: COPY t (a, b) FROM ...",
        false => {
            "read them by their names: union_by_name => true; or, where the files have no header: header => false"
        }
    };
    Error::new(
        SqlState::BadCopyFormat,
        format!(
            "\"{path}\" begins with {}, where \"{first}\" names its columns {}",
            list(theirs),
            list(names)
        ),
    )
    .with_hint(hint)
}

/// The error for a file with a header among files without one.
pub fn one_header(first: &str, path: &str) -> Error {
    Error::new(SqlState::BadCopyFormat, format!("\"{path}\" begins with a header, \"{first}\" does not"))
        .with_hint("read them apart, or say which it is: header => true or header => false")
}

/// The columns' names: those of the header, numbered where they repeat or are missing.
pub fn names(header: Option<&[Cell]>, columns: usize) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::with_capacity(columns);
    // Where to go on numbering a name that is repeated, so that many of one name cost no more than others.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut names: Vec<String> = Vec::with_capacity(columns);
    for column in 0..columns {
        // With `null_padding` the header may be a short record too.
        let given = header.and_then(|h| h.get(column)?.as_deref()).unwrap_or_default().trim();
        let base = if given.is_empty() { format!("column{column}") } else { given.to_owned() };
        let mut name = base.clone();
        while !taken.insert(name.clone()) {
            let number = numbers.entry(base.clone()).or_insert(0);
            *number += 1;
            name = format!("{base}_{number}");
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_are_numbered() {
        let header: Vec<Cell> = ["a", "a", "b", "a_1", "a", "", "a_1"].map(|n| Some(n.to_owned())).to_vec();
        let got = names(Some(&header), header.len());
        assert_eq!(got, ["a", "a_1", "b", "a_1_1", "a_2", "column5", "a_1_2"]);
        let many = vec![Some("same".to_owned()); 100_000];
        let begin = std::time::Instant::now();
        assert_eq!(names(Some(&many), many.len())[99_999], "same_99999");
        assert!(begin.elapsed().as_secs() < 20, "not quadratic");
    }

    fn header(text: &str) -> bool {
        let rows: Vec<Vec<Cell>> = text
            .lines()
            .map(|line| line.split(',').map(|cell| (!cell.is_empty()).then(|| cell.to_owned())).collect())
            .collect();
        let mut guesses = vec![Guess::NEW; rows[0].len()];
        for (guess, cell) in rows[1..].iter().flat_map(|row| guesses_of(row)) {
            if let Some(text) = cell {
                guesses[guess].add(text);
            }
        }
        is_header(&rows[0], &rows[1..], &guesses)
    }

    fn guesses_of(row: &[Cell]) -> impl Iterator<Item = (usize, &Cell)> {
        row.iter().enumerate()
    }

    #[test]
    fn headers_are_found() {
        for text in [
            "id,rate\n1,.097\n2,.5",
            "n,phone\n1,+4915112345",
            "name,city\nAda,Oslo",
            ",name,city\n0,Ada,Oslo\n1,Bob,Rome",
            ",name,city\nx,Ada,Oslo\ny,Bob,Rome",
            ",,name\n0,a,Ada\n0,b,Bob",
            "name,city,\nAda,Oslo,\nBob,Rome,",
            "Country Name,2019,2020\nAtlantis,1,2",
            "Country Name,Code,1960,1961,1962\nAruba,ABW,,1.5,2\nChad,TCD,1,2,3",
            "name,2020\nAda,5\nBob,7",
            ",2019,2020\nAtlantis,1,2",
            "country,2020-01-22,2020-01-23\nNorway,1,2",
            "Province/State,Lat,1/22/20\nx,1.5,3",
            ",0,1,2\n0,5.1,3.5,1.4\n1,4.9,3.0,1.4",
            "a,2019,2018,2017\nx,2020,5,6\ny,1,2,3",
            "id,zip\n1,01234",
            "day,n\n2020-01-01,5",
            "x\n1",
            "2019 sales,n\n1,2",
            "true?,n\ntrue,1",
        ] {
            assert!(header(text), "{text}");
        }
    }

    #[test]
    fn rows_of_values_are_no_header() {
        for text in [
            "1,2\n3,4",
            "1.5,2\n3,4",
            "1e5\n3\n4",
            "007,1\n8,2",
            "+5,1\n8,2",
            "-,1\n8,2",
            "NA,1\n8,2",
            "nan,1\n8,2",
            "12345678901234567890,1\n8,2",
            "1,2,3\n4,5,6",
            "2019,2020,2021\n1,2,3",
            "0,1,2,3\n5.1,3.5,1.4,0.2",
            "Atlantis,2019,2020\nUtopia,2018,2021",
            "Alice,1999,5\nBob,2001,7",
            "1,000\n5,6",
            "2020-01-01 10:00:00,1\n2020-01-02,2",
            ",1,2\n3,4,5",
            "5%,1\n7,2",
            "1,Ada\n2,Bob",
            "$5\n$6",
            "1,1.5\n2,x",
            "1",
            "1,2",
            "2020-01-01,5",
            "3.5,Ada\n4,Bob",
            "0.12345678901234567890123\n1.5",
            "Ada,,\nBob,Oslo,5",
            "1999\n5\n6",
        ] {
            assert!(!header(text), "{text}");
        }
    }
}
