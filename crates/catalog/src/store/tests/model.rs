//! What has to be in a database, said in the simplest way: tables as lists of rows, and the commits that change them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use block::Bitmap;
use types::{Field, Result, Schema, SqlState, Type};

use super::{Random, blocks, pool};
use crate::{
    AlteredTable, Append, Catalog, ColumnAttributes, Draft, Existing, Macro, NewTable, Sequence, Snapshot,
    TableData, Transaction, View,
};

type Row = Vec<Option<i64>>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelTable {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
    pub(super) comment: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) tables: BTreeMap<String, ModelTable>,
    pub(super) views: BTreeMap<String, String>,
    pub(super) sequences: BTreeMap<String, i64>,
    pub(super) macros: BTreeMap<String, String>,
    pub(super) schemas: Vec<String>,
}

/// One statement.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Create(String),
    Drop(String),
    Append(String, Vec<Row>),
    /// Rows whose first value leaves this remainder by 7.
    Delete(String, i64),
    AddColumn(String, String),
    DropColumn(String),
    Comment(String, String),
    View(String, Option<String>),
    Sequence(String, Option<i64>),
    Macro(String, Option<String>),
    Schema(String, bool),
}

fn dies(row: &Row, remainder: i64) -> bool {
    row[0].is_some_and(|value| value.rem_euclid(7) == remainder)
}

/// What a column that is added holds.
fn added(position: usize) -> Option<i64> {
    (!position.is_multiple_of(3)).then_some(position as i64 % 11)
}

impl Model {
    pub(super) fn apply(&mut self, step: &Step) {
        match step.clone() {
            Step::Create(name) => {
                self.tables.insert(name, ModelTable { columns: vec!["a".into()], ..ModelTable::default() });
            }
            Step::Drop(name) => {
                self.tables.remove(&name);
            }
            Step::Append(name, rows) => self.tables.get_mut(&name).unwrap().rows.extend(rows),
            Step::Delete(name, remainder) => {
                self.tables.get_mut(&name).unwrap().rows.retain(|row| !dies(row, remainder));
            }
            Step::AddColumn(name, column) => {
                let table = self.tables.get_mut(&name).unwrap();
                table.columns.push(column);
                table.rows.iter_mut().for_each(|row| row.push(row[0].and_then(|v| added(v as usize % 1000))));
            }
            Step::DropColumn(name) => {
                let table = self.tables.get_mut(&name).unwrap();
                table.columns.pop();
                table.rows.iter_mut().for_each(|row| {
                    row.pop();
                });
            }
            Step::Comment(name, comment) => self.tables.get_mut(&name).unwrap().comment = Some(comment),
            Step::View(name, text) => set(&mut self.views, name, text),
            Step::Sequence(name, reserved) => set(&mut self.sequences, name, reserved),
            Step::Macro(name, text) => set(&mut self.macros, name, text),
            Step::Schema(name, there) => {
                self.schemas.retain(|schema| *schema != name);
                if there {
                    self.schemas.push(name);
                    self.schemas.sort();
                }
            }
        }
    }

    /// A statement that goes with this state.
    pub(super) fn any_step(&self, random: &mut Random) -> Step {
        let names: Vec<&String> = self.tables.keys().collect();
        let maybe = |random: &mut Random, text: String| (random.below(4) > 0).then_some(text);
        let fresh = format!("t{}", random.below(6));
        match random.below(14) {
            0 if !self.tables.contains_key(&fresh) => Step::Create(fresh),
            1 => Step::View("v".into(), {
                let text = format!("SELECT {}", random.below(100));
                maybe(random, text)
            }),
            2 => {
                let reserved = (random.below(4) > 0).then(|| random.below(1000) as i64);
                Step::Sequence("s".into(), reserved)
            }
            3 => Step::Macro("m".into(), {
                let text = format!("x + {}", random.below(100));
                maybe(random, text)
            }),
            4 => {
                let name = format!("schema{}", random.below(3));
                let there = self.schemas.contains(&name);
                Step::Schema(name, !there)
            }
            _ if names.is_empty() => Step::Create(fresh),
            which => {
                let name = names[random.below(names.len() as u64) as usize].clone();
                let table = &self.tables[&name];
                match which {
                    5 if random.below(3) == 0 => Step::Drop(name),
                    6 if table.columns.len() < 4 => {
                        let column = (b'b'..).map(|c| char::from(c).to_string());
                        let column = column.into_iter().find(|c| !table.columns.contains(c)).unwrap();
                        Step::AddColumn(name, column)
                    }
                    7 if table.columns.len() > 1 => Step::DropColumn(name),
                    8 => Step::Comment(name, format!("comment {}", random.below(1000))),
                    9 | 10 => Step::Delete(name, random.below(7) as i64),
                    _ => {
                        // Seldom so many that they stay a block of their own.
                        let count = match random.below(60) {
                            0 if table.rows.len() < 5000 => 4500,
                            1..8 => 200,
                            _ => 1 + random.below(5),
                        };
                        let row = |random: &mut Random| {
                            let mut value = |_| (random.below(9) > 0).then(|| random.below(1_000_000) as i64);
                            table.columns.iter().map(&mut value).collect()
                        };
                        Step::Append(name, (0..count).map(|_| row(random)).collect())
                    }
                }
            }
        }
    }

    /// What a snapshot holds, all of which can be read.
    pub(super) fn of(snapshot: &Snapshot) -> Model {
        Model::read(snapshot).unwrap()
    }

    /// What a snapshot holds, or why it cannot be read: columns are read when they are wanted.
    pub(super) fn read(snapshot: &Snapshot) -> Result<Model> {
        Model::collect(snapshot, &mut |_, error| Err(error))
    }

    /// What a snapshot holds, without the tables that have a damaged block, and those.
    pub(super) fn readable(snapshot: &Snapshot) -> (Model, Vec<String>) {
        let mut damaged = Vec::new();
        let model = Model::collect(snapshot, &mut |table, error| {
            assert_eq!(error.state(), SqlState::DataCorrupted, "{error}");
            damaged.push(table.to_owned());
            Ok(())
        });
        (model.unwrap(), damaged)
    }

    fn collect(
        snapshot: &Snapshot,
        unreadable: &mut dyn FnMut(&str, types::Error) -> Result<()>,
    ) -> Result<Model> {
        let mut model = Model::default();
        'tables: for table in snapshot.tables().filter(|t| !t.is_temporary()) {
            let columns = table.columns.fields().iter().map(|f| f.name.clone()).collect();
            let mut rows = Vec::new();
            for stored in table.data.stored() {
                let read = stored.block.verify().and_then(|()| stored.batch());
                let batch = match read {
                    Ok(batch) => batch,
                    Err(error) => {
                        unreadable(&table.name, error)?;
                        continue 'tables;
                    }
                };
                for row in 0..batch.rows {
                    rows.push(batch.columns.iter().map(|c| c.value(row).as_i64()).collect());
                }
            }
            assert_eq!(rows.len() as u64, table.rows());
            model
                .tables
                .insert(table.name.clone(), ModelTable { columns, rows, comment: table.comment.clone() });
        }
        let main = &snapshot.schemas()[crate::DEFAULT_SCHEMA];
        model.views = main.views.iter().map(|(name, view)| (name.clone(), view.text.clone())).collect();
        model.sequences = main.sequences.iter().map(|(name, s)| (name.clone(), s.reserved)).collect();
        model.macros = snapshot.macros().iter().map(|(name, m)| (name.clone(), m.text.clone())).collect();
        let own = [crate::DEFAULT_SCHEMA, crate::TEMPORARY_SCHEMA];
        model.schemas = snapshot.schemas().keys().filter(|s| !own.contains(&s.as_str())).cloned().collect();
        Ok(model)
    }
}

fn set<T>(map: &mut BTreeMap<String, T>, name: String, value: Option<T>) {
    match value {
        Some(value) => map.insert(name, value),
        None => map.remove(&name),
    };
}

/// The same statement on a catalog.
pub(super) fn perform(draft: &mut Draft, step: &Step) -> types::Result<()> {
    let table = |draft: &Draft, name: &str| draft.snapshot().table(None, name).cloned();
    match step.clone() {
        Step::Create(name) => {
            let columns = Schema::new(vec![Field::new("a", Type::BigInt, true)]);
            draft.create_table(NewTable::new(name, columns), Existing::Refuse)?;
        }
        Step::Drop(name) => {
            draft.drop_table(None, &name, false, false)?;
        }
        Step::Append(name, rows) => {
            let table = table(draft, &name)?;
            let appended =
                draft.append_merging(table.id, None, blocks(table.columns.len(), &rows), pool())?;
            assert!(matches!(appended, Append::Done));
        }
        Step::Delete(name, remainder) => {
            let table = table(draft, &name)?;
            let mut doomed = Vec::new();
            for stored in table.data.stored() {
                let values = stored.block.pin(&[0])?.fetch(0, 0..stored.block.rows());
                let live = |row: usize| stored.deleted.as_ref().is_none_or(|d| d.live.get(row));
                let hit = |row: usize| live(row) && dies(&vec![values.value(row).as_i64()], remainder);
                let bits = Bitmap::from_fn(stored.block.rows(), hit);
                if !bits.none() {
                    doomed.push((stored.id, Arc::new(bits)));
                }
            }
            draft.delete(table.id, &doomed)?;
        }
        Step::AddColumn(name, column) => {
            let table = table(draft, &name)?;
            let mut sealed = Vec::new();
            for stored in table.data.stored() {
                let first = stored.block.pin(&[0])?.fetch(0, 0..stored.block.rows());
                let value = |row| vec![first.value(row).as_i64().and_then(|v| added(v as usize % 1000))];
                let rows: Vec<Row> = (0..stored.block.rows()).map(value).collect();
                sealed.extend(blocks(1, &rows));
            }
            let mut altered = AlteredTable::new(&table);
            let data = TableData::from_blocks(&[Type::BigInt], sealed);
            let field = Field::new(column, Type::BigInt, true);
            altered.add_column(field, ColumnAttributes::default(), data)?;
            assert!(draft.replace_altered(altered)?);
        }
        Step::DropColumn(name) => {
            let table = table(draft, &name)?;
            let mut altered = AlteredTable::new(&table);
            altered.drop_column(table.columns.len() - 1, false)?;
            assert!(draft.replace_altered(altered)?);
        }
        Step::Comment(name, comment) => {
            let mut altered = AlteredTable::new(&table(draft, &name)?);
            altered.set_comment(Some(comment));
            assert!(draft.replace_altered(altered)?);
        }
        Step::View(name, text) => {
            let view = text.map(|text| View { columns: vec!["x".into()], text, comment: None });
            draft.set_view(None, &name, view)?;
        }
        Step::Sequence(name, reserved) => {
            let sequence = reserved.map(|reserved| Sequence {
                start: 1,
                increment: 1,
                minimum: 1,
                maximum: i64::MAX,
                cycle: false,
                reserved,
                next: Arc::new(AtomicI64::new(reserved)),
                owner: None,
            });
            draft.set_sequence(None, &name, sequence)?;
        }
        Step::Macro(name, text) => {
            let text = text.map(|text| Macro { parameters: vec!["x".into()], text, table: false });
            draft.set_macro(&name, text);
        }
        Step::Schema(name, true) => {
            draft.create_schema(&name, false)?;
        }
        Step::Schema(name, false) => {
            draft.drop_schema(&name, false, false)?;
        }
    }
    Ok(())
}

/// The steps as one transaction, or, when there is one, as a statement of its own.
pub(super) fn commit(catalog: &Catalog, steps: &[Step], explicit: bool) -> types::Result<()> {
    if !explicit {
        return catalog.commit(|draft| steps.iter().try_for_each(|step| perform(draft, step)));
    }
    let mut transaction: Transaction = catalog.begin();
    for step in steps {
        transaction.change(|draft| perform(draft, step))?;
    }
    catalog.commit_transaction(transaction, pool(), |_| Ok(()))
}
