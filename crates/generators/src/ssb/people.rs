//! SSB's customer and supplier. Both have a city, drawn uniformly; nation, region and the telephone's country
//! code follow from it.

use super::random::Stream;
use super::words::{CITIES_PER_NATION, DICTIONARIES, NATIONS};
use crate::columns::{int32, shown};
use crate::table::Cell;
use arrow_array::ArrayRef;
use arrow_schema::ArrowError;
use std::fmt;

/// What distinguishes the two tables: how they name their rows, and their random numbers.
struct People {
    title: &'static str,
    city: Stream,
    address_bytes: Stream,
    address: Stream,
    phone: Stream,
}

const CUSTOMERS: People = People {
    title: "Customer",
    city: Stream::new(101),
    address_bytes: Stream::new(102),
    address: Stream::new(103),
    phone: Stream::new(104),
};
const CUSTOMER_SEGMENT: Stream = Stream::new(105);

const SUPPLIERS: People = People {
    title: "Supplier",
    city: Stream::new(201),
    address_bytes: Stream::new(202),
    address: Stream::new(203),
    phone: Stream::new(204),
};

pub(super) fn customer(cell: &Cell) -> Result<Vec<ArrayRef>, ArrowError> {
    let words = &*DICTIONARIES;
    let mut columns = CUSTOMERS.columns(cell)?;
    let segments = cell.units.clone().map(|row| CUSTOMER_SEGMENT.index(row, words.segments.len()));
    columns.push(words.segments.column(segments)?);
    Ok(columns)
}

pub(super) fn supplier(cell: &Cell) -> Result<Vec<ArrayRef>, ArrowError> {
    SUPPLIERS.columns(cell)
}

impl People {
    /// Key, name, address, city, nation, region, telephone. Row 0 has key 1.
    fn columns(&self, cell: &Cell) -> Result<Vec<ArrayRef>, ArrowError> {
        let words = &*DICTIONARIES;
        let rows: Vec<u64> = cell.units.clone().collect();
        let cities: Vec<usize> = rows.iter().map(|&row| self.city.index(row, words.cities.len())).collect();
        let nations = || cities.iter().map(|city| city / CITIES_PER_NATION);
        let with_nations: Vec<(u64, usize)> = rows.iter().copied().zip(nations()).collect();
        Ok(vec![
            // At most 3e8 rows at the largest scale.
            int32(&rows, |&row| row as i32 + 1),
            shown(&rows, |&row| Name { title: self.title, key: row + 1 })?,
            shown(&rows, |&row| Address { people: self, row })?,
            words.cities.column(cities.iter().copied())?,
            words.nations.column(nations())?,
            words.regions.column(nations().map(|nation| NATIONS[nation].1))?,
            shown(&with_nations, |&(row, nation)| Phone { people: self, row, nation })?,
        ])
    }
}

struct Name {
    title: &'static str,
    key: u64,
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}#{:09}", self.title, self.key)
    }
}

/// 10 to 25 letters, digits, commas and spaces.
struct Address<'a> {
    people: &'a People,
    row: u64,
}

impl fmt::Display for Address<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ALPHABET: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ, ";
        // A character takes 6 bits, so three numbers of 10 characters each reach beyond 25.
        let numbers: [u64; 3] = std::array::from_fn(|at| self.people.address.bits(self.row * 3 + at as u64));
        let bytes = self.people.address_bytes.between(self.row, 10, 25) as usize;
        (0..bytes).try_for_each(|at| {
            let letter = ALPHABET[(numbers[at / 10] >> (at % 10 * 6)) as usize & 63];
            fmt::Write::write_char(formatter, letter as char)
        })
    }
}

/// Country code 10 to 34, then three groups of digits.
struct Phone<'a> {
    people: &'a People,
    row: u64,
    nation: usize,
}

impl fmt::Display for Phone<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |at, low, high| self.people.phone.between(self.row * 3 + at, low, high);
        let (area, exchange, line) = (group(0, 100, 999), group(1, 100, 999), group(2, 1000, 9999));
        write!(formatter, "{}-{area}-{exchange}-{line}", self.nation + 10)
    }
}
