//! The setting `unit_of_transfer`: a unit for all edges, and others for edges into operators of one kind.
//!
//! ```text
//!  auto                         block, build = vector                         auto, probe = blocks(4), sort = table
//! ```

use std::fmt;

use workorder::UnitOfTransfer;

/// How an edge gets its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The cost model and the memory left decide.
    #[default]
    Auto,
    /// This unit, whatever the model says.
    Unit(UnitOfTransfer),
}

/// What is at the consumer's end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// Filters, projections, late columns, lists.
    Select,
    /// The probe side of a join.
    Probe,
    /// The build side of a join.
    Build,
    /// An aggregation.
    Aggregate,
    /// A sort.
    Sort,
    /// A window node.
    Window,
    /// LIMIT and OFFSET.
    Limit,
    /// An insert into a table.
    Insert,
}

impl Consumer {
    /// Every kind, in the order of the setting's text.
    pub const ALL: [Consumer; 8] = [
        Consumer::Select,
        Consumer::Probe,
        Consumer::Build,
        Consumer::Aggregate,
        Consumer::Sort,
        Consumer::Window,
        Consumer::Limit,
        Consumer::Insert,
    ];

    /// As the setting has it.
    pub fn name(self) -> &'static str {
        match self {
            Consumer::Select => "select",
            Consumer::Probe => "probe",
            Consumer::Build => "build",
            Consumer::Aggregate => "aggregate",
            Consumer::Sort => "sort",
            Consumer::Window => "window",
            Consumer::Limit => "limit",
            Consumer::Insert => "insert",
        }
    }
}

/// The setting's value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferSetting {
    /// For edges into operators of no kind named.
    rest: Wanted,
    named: Vec<(Consumer, Wanted)>,
}

impl TransferSetting {
    /// One unit for all edges.
    pub fn all(unit: UnitOfTransfer) -> Self {
        TransferSetting { rest: Wanted::Unit(unit), named: vec![] }
    }

    /// What the edges into such an operator get. Rows before a limit are no table unless it is named: of its input,
    /// which may have no end, it takes a beginning.
    pub fn of(&self, consumer: Consumer) -> Wanted {
        match self.named.iter().find(|(named, _)| *named == consumer) {
            Some((_, wanted)) => *wanted,
            None if consumer == Consumer::Limit && self.rest == Wanted::Unit(UnitOfTransfer::Table) => {
                Wanted::Unit(UnitOfTransfer::Block)
            }
            None => self.rest,
        }
    }

    /// Reads what `Display` writes: a unit, and units for kinds of operators, apart by commas. Of no kind named
    /// twice.
    pub fn parse(text: &str) -> Option<Self> {
        let mut setting = TransferSetting::default();
        let mut has_rest = false;
        for part in text.split(',') {
            match part.split_once('=') {
                None => {
                    if std::mem::replace(&mut has_rest, true) {
                        return None;
                    }
                    setting.rest = wanted(part)?;
                }
                Some((name, unit)) => {
                    let name = name.trim().to_ascii_lowercase();
                    let consumer = Consumer::ALL.into_iter().find(|c| c.name() == name)?;
                    if setting.named.iter().any(|(named, _)| *named == consumer) {
                        return None;
                    }
                    setting.named.push((consumer, wanted(unit)?));
                }
            }
        }
        Some(setting)
    }
}

fn wanted(text: &str) -> Option<Wanted> {
    match text.trim().eq_ignore_ascii_case("auto") {
        true => Some(Wanted::Auto),
        false => UnitOfTransfer::parse(text).map(Wanted::Unit),
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Auto => f.write_str("auto"),
            Wanted::Unit(unit) => unit.fmt(f),
        }
    }
}

impl fmt::Display for TransferSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rest)?;
        self.named.iter().try_for_each(|(consumer, wanted)| write!(f, ", {} = {wanted}", consumer.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use UnitOfTransfer as U;

    #[test]
    fn a_setting_reads_what_it_writes() {
        for text in [
            "auto",
            "vector",
            "block",
            "blocks(12)",
            "table",
            "auto, probe = table",
            "block, build = vector, sort = auto",
        ] {
            let setting = TransferSetting::parse(text).unwrap();
            assert_eq!(setting.to_string(), text);
            assert_eq!(TransferSetting::parse(&setting.to_string()), Some(setting));
        }
        assert_eq!(TransferSetting::parse("PROBE=Blocks(3)").unwrap().to_string(), "auto, probe = blocks(3)");
        for wrong in [
            "",
            "tuple",
            "block, table",
            "probe",
            "probe = ",
            "result = table",
            "probe = block, probe = table",
            "block,",
        ] {
            assert_eq!(TransferSetting::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_kind_that_is_named_has_its_own_unit() {
        let setting = TransferSetting::parse("block, probe = auto, build = table").unwrap();
        assert_eq!(setting.of(Consumer::Probe), Wanted::Auto);
        assert_eq!(setting.of(Consumer::Build), Wanted::Unit(U::Table));
        assert_eq!(setting.of(Consumer::Sort), Wanted::Unit(U::Block));
        let tables = TransferSetting::all(U::Table);
        assert_eq!(tables.of(Consumer::Sort), Wanted::Unit(U::Table));
        assert_eq!(tables.of(Consumer::Limit), Wanted::Unit(U::Block), "its input may be endless");
        let named = TransferSetting::parse("vector, limit = table").unwrap();
        assert_eq!(named.of(Consumer::Limit), Wanted::Unit(U::Table));
    }
}
