//! A table changed: columns added, dropped, renamed, of another type. Blocks are shared, not rewritten, except where a
//! column's type changes, whose new blocks come from outside.
//!
//! A change is made to a copy of the table that nobody sees; `Draft::replace_altered` puts it in the table's place, if
//! the table is still the one that was copied.

use std::sync::Arc;

use types::{Error, Field, Result, Schema, SqlState};

use crate::{ColumnAttributes, ForeignKey, Table, TableData};

/// A copy of a table, on its way to replace it.
#[derive(Clone, Debug)]
pub struct AlteredTable {
    pub(crate) before: Arc<Table>,
    pub(crate) table: Table,
    /// Where each column of `before` is now; `None` where it was dropped.
    pub(crate) places: Vec<Option<usize>>,
    /// Columns of `before` whose references from other tables are dropped with them.
    pub(crate) cascading: Vec<usize>,
}

/// The error for a column that a constraint keeps.
pub(crate) fn depends(column: &str, constraint: &str) -> Error {
    let message = format!("cannot drop column \"{column}\" because other objects depend on it");
    Error::new(SqlState::DependentObjectsStillExist, message)
        .with_detail(format!("constraint \"{constraint}\" needs it"))
        .with_hint("use DROP COLUMN ... CASCADE to drop the constraint too")
}

impl AlteredTable {
    pub fn new(before: &Arc<Table>) -> Self {
        let places = (0..before.columns.len()).map(Some).collect();
        AlteredTable { before: before.clone(), table: (**before).clone(), places, cascading: vec![] }
    }

    /// The table as changed so far.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The position of a column, or the error for one that is not there.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.table.columns.position(name).ok_or_else(|| {
            let table = &self.table.name;
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            let error = Error::new(SqlState::UndefinedColumn, message);
            match crate::did_you_mean(name, self.table.columns.fields().iter().map(|f| f.name.as_str())) {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        })
    }

    fn refuse_duplicate(&self, name: &str) -> Result<()> {
        match self.table.columns.position(name) {
            None => Ok(()),
            Some(_) => {
                let message = format!("column \"{name}\" of relation \"{}\" already exists", self.table.name);
                Err(Error::new(SqlState::DuplicateColumn, message))
            }
        }
    }

    fn set_fields(&mut self, fields: Vec<Field>) {
        self.table.columns = Schema::new(fields);
    }

    fn fields(&self) -> Vec<Field> {
        self.table.columns.fields().to_vec()
    }

    /// Adds a column at the end; `data` is that column alone, in blocks with as many rows as the table's.
    pub fn add_column(&mut self, field: Field, attributes: ColumnAttributes, data: TableData) -> Result<()> {
        self.refuse_duplicate(&field.name)?;
        if !field.nullable && data.statistics(0).null_count > 0 {
            return Err(self.contains_nulls(&field.name));
        }
        self.table.data = Arc::new(self.table.data.beside(&data)?);
        let mut fields = self.fields();
        fields.push(field);
        self.set_fields(fields);
        self.table.attributes.push(attributes);
        Ok(())
    }

    fn contains_nulls(&self, column: &str) -> Error {
        let message = format!("column \"{column}\" of relation \"{}\" contains null values", self.table.name);
        Error::new(SqlState::NotNullViolation, message)
    }

    /// Names of this table's constraints that a column is part of.
    pub fn constraints_of(&self, column: usize) -> Vec<String> {
        let (table, columns) = (&self.table.name, &self.table.columns);
        let keys = self.table.keys.iter().filter(|k| k.columns.contains(&column));
        let foreign = self.table.foreign_keys.iter().filter(|k| self.uses(k, column));
        keys.map(|k| k.constraint_name(table, columns))
            .chain(foreign.map(|k| k.constraint_name(table, columns)))
            .collect()
    }

    fn uses(&self, key: &ForeignKey, column: usize) -> bool {
        key.columns.contains(&column) || (key.parent == self.table.id && key.parent_columns.contains(&column))
    }

    /// Drops a column. Constraints that it is part of make it an error, unless `cascade`, which drops them.
    pub fn drop_column(&mut self, column: usize, cascade: bool) -> Result<()> {
        if let (Some(first), false) = (self.constraints_of(column).first(), cascade) {
            return Err(depends(&self.table.columns.fields()[column].name, first));
        }
        if self.table.columns.len() == 1 {
            let message = format!("table \"{}\" would have no columns", self.table.name);
            return Err(Error::unsupported(message).with_hint("DROP TABLE drops the whole table"));
        }
        let mut foreign_keys = std::mem::take(&mut self.table.foreign_keys);
        foreign_keys.retain(|k| !self.uses(k, column));
        self.table.keys.retain(|k| !k.columns.contains(&column));
        let keep: Vec<usize> = (0..self.table.columns.len()).filter(|at| *at != column).collect();
        self.table.data = Arc::new(self.table.data.of_columns(&keep));
        let mut fields = self.fields();
        fields.remove(column);
        self.set_fields(fields);
        self.table.attributes.remove(column);
        let moved = |at: &mut usize| *at -= usize::from(*at > column);
        self.table.keys.iter_mut().flat_map(|k| &mut k.columns).for_each(moved);
        for key in &mut foreign_keys {
            key.columns.iter_mut().for_each(moved);
            if key.parent == self.table.id {
                key.parent_columns.iter_mut().for_each(moved);
            }
        }
        self.table.foreign_keys = foreign_keys;
        for (original, place) in self.places.iter_mut().enumerate() {
            *place = match *place {
                Some(at) if at == column => {
                    if cascade {
                        self.cascading.push(original);
                    }
                    None
                }
                Some(at) if at > column => Some(at - 1),
                other => other,
            };
        }
        Ok(())
    }

    /// Constraints keep the names they have.
    fn settle_names(&mut self) {
        let (name, columns) = (self.table.name.clone(), self.table.columns.clone());
        for key in &mut self.table.keys {
            key.name = Some(key.constraint_name(&name, &columns));
        }
        for key in &mut self.table.foreign_keys {
            key.name = Some(key.constraint_name(&name, &columns));
        }
    }

    pub fn rename_column(&mut self, column: usize, name: &str) -> Result<()> {
        if self.table.columns.fields()[column].name == name {
            return Ok(());
        }
        self.refuse_duplicate(name)?;
        self.settle_names();
        let mut fields = self.fields();
        name.clone_into(&mut fields[column].name);
        self.set_fields(fields);
        Ok(())
    }

    pub fn rename(&mut self, name: &str) {
        self.settle_names();
        name.clone_into(&mut self.table.name);
    }

    pub fn set_not_null(&mut self, column: usize) -> Result<()> {
        if self.table.statistics(column).null_count > 0 {
            return Err(self.contains_nulls(&self.table.columns.fields()[column].name));
        }
        self.set_nullable(column, false);
        Ok(())
    }

    pub fn drop_not_null(&mut self, column: usize) -> Result<()> {
        if self.table.keys.iter().any(|k| k.primary && k.columns.contains(&column)) {
            let name = &self.table.columns.fields()[column].name;
            let message = format!("column \"{name}\" is in a primary key");
            return Err(Error::new(SqlState::InvalidTableDefinition, message));
        }
        self.set_nullable(column, true);
        Ok(())
    }

    fn set_nullable(&mut self, column: usize, nullable: bool) {
        let mut fields = self.fields();
        fields[column].nullable = nullable;
        self.set_fields(fields);
    }

    pub fn attributes_mut(&mut self, column: usize) -> &mut ColumnAttributes {
        &mut self.table.attributes[column]
    }

    pub fn set_comment(&mut self, comment: Option<String>) {
        self.table.comment = comment;
    }

    /// Other columns' types, and all rows anew under them.
    pub fn retype(&mut self, fields: Vec<Field>, data: TableData) {
        self.set_fields(fields);
        self.table.data = Arc::new(data);
    }
}
