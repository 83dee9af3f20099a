//! The sketches of a block's columns: in memory as they were made, or in a checkpoint's file, from which they are
//! read on demand. For a table of thousands of blocks they are tens of megabytes, and queries ask only for the
//! table's merged ones.
//!
//! ```text
//!  u64 columns; per column: u8 kind, then
//!    0   u64 count; per register that is set: u16 which, u8 rank       few rows
//!    1   1024 ranks
//!    2   u8 least rank; 512 bytes: two ranks each, above the least, 15 for "listed"; as kind 0 those listed
//! ```

use std::sync::Arc;

use block::Sketch;
use block::sketch::REGISTERS;
use files::FileReader;
use files::bytes::{ByteReader, ByteWriter, malformed};
use types::Result;

/// One sketch per column of a block. Clones share them.
#[derive(Clone, Debug)]
pub struct Sketches(Form);

#[derive(Clone, Debug)]
enum Form {
    Made(Arc<[Sketch]>),
    Stored(Stored),
}

/// Where a checkpoint's file holds them.
#[derive(Clone, Debug)]
struct Stored {
    columns: usize,
    file: Arc<dyn FileReader>,
    at: u64,
    length: u64,
    checksum: u64,
}

/// What a checkpoint's file has behind all that is read when it is opened.
#[derive(Clone, Debug)]
pub(crate) struct Aside<'a> {
    pub(crate) file: &'a Arc<dyn FileReader>,
    /// Offset of its first byte in the file.
    pub(crate) at: u64,
}

impl From<Vec<Sketch>> for Sketches {
    fn from(sketches: Vec<Sketch>) -> Self {
        Sketches(Form::Made(sketches.into()))
    }
}

impl Stored {
    fn read(&self) -> Result<Vec<Sketch>> {
        // A file that was cut costs estimates, not the table.
        if self.at.checked_add(self.length).is_none_or(|end| end > self.file.bytes()) {
            return Err(malformed("a block's sketches lie behind the end of the file"));
        }
        let mut bytes = vec![0; self.length as usize];
        self.file.read_at(self.at, &mut bytes)?;
        if simd::checksum(&bytes) != self.checksum {
            return Err(malformed("the checksum of a block's sketches does not match"));
        }
        let sketches = read_sketches(&mut ByteReader::new(&bytes))?;
        match sketches.len() == self.columns {
            true => Ok(sketches),
            false => Err(malformed("a block with other sketches than columns")),
        }
    }
}

impl Sketches {
    /// How many columns there are sketches of; known without reading them.
    pub fn columns(&self) -> usize {
        match &self.0 {
            Form::Made(sketches) => sketches.len(),
            Form::Stored(stored) => stored.columns,
        }
    }

    /// One a column. Those that cannot be read are of no values: they are for estimates alone, and CHECK DATABASE tells.
    pub fn all(&self) -> Vec<Sketch> {
        match &self.0 {
            Form::Made(sketches) => sketches.to_vec(),
            Form::Stored(stored) => stored.read().unwrap_or_else(|_| vec![Sketch::default(); stored.columns]),
        }
    }

    /// An error where a checkpoint's cannot be read.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.0 {
            Form::Made(_) => Ok(()),
            Form::Stored(stored) => stored.read().map(|_| ()),
        }
    }

    /// Merges each column's sketch into the table's.
    pub(crate) fn merge_into(&self, totals: &mut [Sketch]) {
        match &self.0 {
            Form::Made(sketches) => totals.iter_mut().zip(sketches.iter()).for_each(|(t, s)| t.merge(s)),
            Form::Stored(_) => totals.iter_mut().zip(self.all()).for_each(|(t, s)| t.merge(&s)),
        }
    }

    pub(crate) fn of_columns(&self, columns: &[usize]) -> Sketches {
        let all = self.all();
        columns.iter().map(|column| all[*column].clone()).collect::<Vec<_>>().into()
    }

    pub(crate) fn beside(&self, right: &Sketches) -> Sketches {
        [self.all(), right.all()].concat().into()
    }

    pub(crate) fn write(&self, w: &mut ByteWriter) {
        write_sketches(w, &self.all());
    }

    pub(crate) fn read(r: &mut ByteReader<'_>) -> Result<Sketches> {
        Ok(read_sketches(r)?.into())
    }

    /// Writes them aside, and where they are there.
    pub(crate) fn write_aside(&self, w: &mut ByteWriter, aside: &mut Vec<u8>) {
        let mut own = ByteWriter::default();
        self.write(&mut own);
        let own = own.into_bytes();
        w.u64(self.columns() as u64);
        w.u64(aside.len() as u64);
        w.u64(own.len() as u64);
        w.u64(simd::checksum(&own));
        aside.extend(own);
    }

    pub(crate) fn read_aside(r: &mut ByteReader<'_>, aside: &Aside<'_>) -> Result<Sketches> {
        let (columns, at, length, checksum) = (r.u64()?, r.u64()?, r.u64()?, r.u64()?);
        // A column's sketch takes nine bytes at least.
        let (Some(at), true) = (aside.at.checked_add(at), columns <= length) else {
            return Err(malformed("sketches behind the end of every file"));
        };
        let (columns, file) = (columns as usize, aside.file.clone());
        Ok(Sketches(Form::Stored(Stored { columns, file, at, length, checksum })))
    }
}

pub(crate) fn write_sketches(w: &mut ByteWriter, sketches: &[Sketch]) {
    w.list(sketches.iter(), write_sketch);
}

pub(crate) fn read_sketches(r: &mut ByteReader<'_>) -> Result<Vec<Sketch>> {
    r.list(read_sketch)
}

/// Registers of many rows lie within this of the least one, all but a few.
const NIBBLE: u8 = 15;

/// Few rows have few registers set: those are listed. Many have most: all are written, of half a byte each above the
/// least where that suffices for nearly all.
fn write_sketch(w: &mut ByteWriter, sketch: &Sketch) {
    let registers = sketch.registers();
    let set = registers.iter().filter(|r| **r != 0).count();
    if set * 3 < REGISTERS {
        w.u8(0);
        write_listed(w, registers, |rank| rank != 0);
        return;
    }
    let least = registers.iter().copied().min().unwrap_or(0);
    let far = |rank: u8| rank - least >= NIBBLE;
    if registers.iter().filter(|rank| far(**rank)).count() > REGISTERS / 16 {
        w.u8(1);
        w.raw(registers);
        return;
    }
    w.u8(2);
    w.u8(least);
    let half = |rank: u8| (rank - least).min(NIBBLE);
    let pairs = registers.chunks_exact(2).map(|pair| half(pair[0]) | half(pair[1]) << 4);
    w.raw(&pairs.collect::<Vec<u8>>());
    write_listed(w, registers, far);
}

fn write_listed(w: &mut ByteWriter, registers: &[u8; REGISTERS], listed: impl Fn(u8) -> bool) {
    let listed = registers.iter().enumerate().filter(|(_, rank)| listed(**rank));
    w.list(listed.collect::<Vec<_>>().into_iter(), |w, (at, rank)| {
        w.raw(&(at as u16).to_le_bytes());
        w.u8(*rank);
    });
}

fn read_sketch(r: &mut ByteReader<'_>) -> Result<Sketch> {
    let mut registers = [0; REGISTERS];
    match r.u8()? {
        0 => read_listed(r, &mut registers)?,
        1 => registers = r.array()?,
        2 => {
            let least = r.u8()?;
            let pairs: [u8; REGISTERS / 2] = r.array()?;
            for (two, pair) in registers.chunks_exact_mut(2).zip(pairs) {
                two[0] = least.saturating_add(pair & NIBBLE);
                two[1] = least.saturating_add(pair >> 4);
            }
            read_listed(r, &mut registers)?;
        }
        other => return Err(malformed(&format!("a sketch of kind {other}"))),
    }
    Ok(Sketch::from_registers(registers))
}

fn listed(r: &mut ByteReader<'_>) -> Result<(u16, u8)> {
    let (at, rank) = (u16::from_le_bytes(r.array()?), r.u8()?);
    match usize::from(at) < REGISTERS {
        true => Ok((at, rank)),
        false => Err(malformed("a sketch has no such register")),
    }
}

fn read_listed(r: &mut ByteReader<'_>, registers: &mut [u8; REGISTERS]) -> Result<()> {
    for (at, rank) in r.list(listed)? {
        registers[usize::from(at)] = rank;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::sketch::hash_u64;
    use files::{FileManager, SimulatedFiles};

    #[test]
    fn sketches_of_any_number_of_rows_come_back_as_they_were() {
        let sketch = |rows: u64| {
            let mut sketch = Sketch::default();
            (0..rows).for_each(|row| sketch.add_hash(hash_u64(row * 31 + rows)));
            sketch
        };
        let mut strange = [3; REGISTERS];
        strange.iter_mut().step_by(3).for_each(|rank| *rank = 60);
        let mut sketches: Vec<Sketch> = [0, 1, 40, 300, 500, 3000, 100_000].map(sketch).to_vec();
        sketches.push(Sketch::from_registers(strange));
        let made = Sketches::from(sketches.clone());
        let (mut whole, mut w, mut aside) = (ByteWriter::default(), ByteWriter::default(), vec![1; 77]);
        made.write(&mut whole);
        made.write_aside(&mut w, &mut aside);
        let (whole, w) = (whole.into_bytes(), w.into_bytes());
        let files = SimulatedFiles::new(1);
        files.set_contents("catalog", [vec![9; 5], aside].concat());
        let file = files.open("catalog").unwrap();
        let stored = |at| Sketches::read_aside(&mut ByteReader::new(&w), &Aside { file: &file, at });
        for elsewhere in [4, 6] {
            assert!(stored(elsewhere).unwrap().check().is_err());
            assert_eq!(stored(elsewhere).unwrap().all(), vec![Sketch::default(); sketches.len()]);
        }
        for read in [Sketches::read(&mut ByteReader::new(&whole)).unwrap(), stored(5).unwrap()] {
            assert_eq!((read.all(), read.columns()), (sketches.clone(), sketches.len()));
            read.check().unwrap();
            let mut totals = vec![Sketch::default(); sketches.len()];
            read.merge_into(&mut totals);
            assert_eq!(totals, sketches);
        }
        // A sketch of many rows takes half of its registers' bytes.
        let mut one = ByteWriter::default();
        write_sketch(&mut one, &sketches[6]);
        assert!(one.into_bytes().len() < REGISTERS / 2 + 64);
    }

    #[test]
    fn cut_and_changed_sketches_are_refused_or_read() {
        let mut sketch = Sketch::default();
        (0..5000u64).for_each(|row| sketch.add_hash(hash_u64(row)));
        let mut w = ByteWriter::default();
        Sketches::from(vec![sketch; 2]).write(&mut w);
        let whole = w.into_bytes();
        let mut refused = 0;
        for at in 0..whole.len() {
            refused += usize::from(Sketches::read(&mut ByteReader::new(&whole[..at])).is_err());
            for value in [0xFF, 0x01] {
                let mut bytes = whole.clone();
                bytes[at] ^= value;
                let _ = Sketches::read(&mut ByteReader::new(&bytes));
            }
        }
        assert_eq!(refused, whole.len());
    }
}
