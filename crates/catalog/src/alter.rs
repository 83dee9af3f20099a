//! A table changed: columns added, dropped, renamed, of another type. Blocks are shared, not rewritten, except where a
//! column's type changes, whose new blocks come from outside.
//!
//! Every change is made to a private copy of the table. `Draft::replace_altered` puts the copy in the table's place,
//! if the table is still the version that was copied.

use std::sync::Arc;

use types::{Error, Field, Result, Schema, SqlState};

use crate::{Check, ColumnAttributes, ForeignKey, Key, Table, TableData};

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
    /// A copy of `before` without changes yet.
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
        let checks = self.table.checks.iter().filter(|c| c.columns.iter().any(|(_, at)| *at == column));
        keys.map(|k| k.constraint_name(table, columns))
            .chain(foreign.map(|k| k.constraint_name(table, columns)))
            .chain(checks.map(|c| c.name.clone()))
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
        if self.table.partitioning.as_ref().is_some_and(|p| p.column == column) {
            let name = &self.table.columns.fields()[column].name;
            let message = format!("cannot drop column \"{name}\" because the table is partitioned by it");
            return Err(Error::new(SqlState::InvalidTableDefinition, message));
        }
        if self.table.columns.len() == 1 {
            let message = format!("table \"{}\" would have no columns", self.table.name);
            return Err(Error::unsupported(message).with_hint("DROP TABLE drops the whole table"));
        }
        let mut foreign_keys = std::mem::take(&mut self.table.foreign_keys);
        foreign_keys.retain(|k| !self.uses(k, column));
        self.table.keys.retain(|k| !k.columns.contains(&column));
        self.table.checks.retain(|c| c.columns.iter().all(|(_, at)| *at != column));
        let keep: Vec<usize> = (0..self.table.columns.len()).filter(|at| *at != column).collect();
        self.table.data = Arc::new(self.table.data.of_columns(&keep));
        let mut fields = self.fields();
        fields.remove(column);
        self.set_fields(fields);
        self.table.attributes.remove(column);
        // An index over several columns goes with any of them.
        let mut gone = std::mem::take(&mut self.table.indices);
        let mut indices = gone.clone();
        gone.retain(|index| index.column == column);
        indices.retain(|index| gone.iter().all(|gone| gone.name != index.name));
        self.table.indices = indices;
        self.table.options.sorted_by = self.table.options.sorted_by.filter(|sorted| *sorted != column);
        let moved = |at: &mut usize| *at -= usize::from(*at > column);
        self.table.keys.iter_mut().flat_map(|k| &mut k.columns).for_each(moved);
        self.table.indices.iter_mut().map(|i| &mut i.column).for_each(moved);
        self.table.options.sorted_by.iter_mut().for_each(moved);
        if let Some(partitioning) = &mut self.table.partitioning {
            moved(&mut Arc::make_mut(partitioning).column);
        }
        self.table.checks.iter_mut().flat_map(|c| &mut c.columns).for_each(|(_, at)| moved(at));
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

    fn constraint_names(&self) -> impl Iterator<Item = String> + '_ {
        let (table, columns) = (&self.table.name, &self.table.columns);
        let keys = self.table.keys.iter().map(move |k| k.constraint_name(table, columns));
        keys.chain(self.table.foreign_keys.iter().map(move |k| k.constraint_name(table, columns)))
            .chain(self.table.checks.iter().map(|c| c.name.clone()))
    }

    /// Adds a check that the rows are known to satisfy; without a name it gets one.
    pub fn add_check(&mut self, name: Option<&str>, text: &str, columns: &[String]) -> Result<&Check> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => Check::name_for(&self.table.name, columns, |name| {
                self.constraint_names().any(|known| known == name)
            }),
        };
        self.refuse_constraint(&name)?;
        let columns = columns.iter().map(|c| Ok((c.clone(), self.column(c)?))).collect::<Result<_>>()?;
        self.table.checks.push(Check { name, text: text.to_owned(), columns });
        self.table.checks.last().ok_or_else(|| Error::internal("a check is gone"))
    }

    fn refuse_constraint(&self, name: &str) -> Result<()> {
        if self.constraint_names().any(|known| known == name) {
            let message =
                format!("constraint \"{name}\" for relation \"{}\" already exists", self.table.name);
            return Err(Error::new(SqlState::DuplicateObject, message));
        }
        Ok(())
    }

    /// Adds a key that the rows are known to satisfy. A primary key's columns have been made NOT NULL.
    pub fn add_key(&mut self, key: Key) -> Result<()> {
        if key.primary && self.table.keys.iter().any(|k| k.primary) {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", self.table.name);
            return Err(Error::new(SqlState::InvalidTableDefinition, message));
        }
        self.refuse_constraint(&key.constraint_name(&self.table.name, &self.table.columns))?;
        self.table.keys.push(key);
        Ok(())
    }

    /// Adds a foreign key that the rows are known to satisfy; `parent` is the table it refers to, as it is.
    pub fn add_foreign_key(&mut self, key: ForeignKey, parent: &Table) -> Result<()> {
        if parent.is_temporary() && !self.table.is_temporary() {
            let message = "a permanent table cannot refer to a temporary one";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        let same = |k: &Key| {
            k.columns.len() == key.parent_columns.len()
                && k.columns.iter().all(|c| key.parent_columns.contains(c))
        };
        if !parent.keys.iter().any(same) {
            let message = format!(
                "there is no unique constraint matching the given keys for referenced table \"{}\"",
                parent.name
            );
            return Err(Error::new(SqlState::UndefinedObject, message));
        }
        self.refuse_constraint(&key.constraint_name(&self.table.name, &self.table.columns))?;
        self.table.foreign_keys.push(key);
        Ok(())
    }

    /// Drops a constraint. Foreign keys of other tables (`dependents`) that need a key make it an error, unless
    /// `cascade`, which drops them when the table is put in its place.
    pub fn drop_constraint(
        &mut self,
        name: &str,
        if_exists: bool,
        cascade: bool,
        dependents: &[Arc<Table>],
    ) -> Result<()> {
        let (table, columns) = (self.table.name.clone(), self.table.columns.clone());
        let foreign =
            self.table.foreign_keys.iter().position(|k| k.constraint_name(&table, &columns) == name);
        if let Some(at) = foreign {
            self.table.foreign_keys.remove(at);
            return Ok(());
        }
        if let Some(at) = self.table.checks.iter().position(|c| c.name == name) {
            self.table.checks.remove(at);
            return Ok(());
        }
        let Some(at) = self.table.keys.iter().position(|k| k.constraint_name(&table, &columns) == name)
        else {
            if if_exists {
                return Ok(());
            }
            let message = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
            let error = Error::new(SqlState::UndefinedObject, message);
            let known: Vec<String> = self.constraint_names().collect();
            return Err(match crate::did_you_mean(name, known.iter().map(String::as_str)) {
                Some(hint) => error.with_hint(hint),
                None => error,
            });
        };
        let key = self.table.keys[at].columns.clone();
        let needs = |k: &ForeignKey| {
            k.parent == self.table.id
                && k.parent_columns.len() == key.len()
                && key.iter().all(|c| k.parent_columns.contains(c))
        };
        let needed_by =
            dependents.iter().filter(|t| t.id != self.table.id).find(|t| t.foreign_keys.iter().any(needs));
        let own = self.table.foreign_keys.iter().any(needs);
        if needed_by.is_some() && cascade {
            return Err(Error::unsupported(
                "DROP CONSTRAINT ... CASCADE does not drop other tables' foreign keys",
            )
            .with_hint("drop their constraints first"));
        }
        if (needed_by.is_some() || own) && !cascade {
            let message =
                format!("cannot drop constraint {name} on table {table} because other objects depend on it");
            let of = needed_by.map_or(table.as_str(), |t| t.name.as_str());
            return Err(Error::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(format!("a foreign key of table \"{of}\" refers to it")));
        }
        let id = self.table.id;
        self.table.foreign_keys.retain(|k| {
            !(k.parent == id
                && k.parent_columns.len() == key.len()
                && key.iter().all(|c| k.parent_columns.contains(c)))
        });
        self.table.keys.remove(at);
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

    /// Renames a column; SQLSTATE 42701 when another column has the name. Constraints without a name keep the one
    /// that they were shown under.
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

    /// Renames the table. Whether the new name is free is checked by `Draft::replace_altered`. Constraints without a
    /// name keep the one that they were shown under.
    pub fn rename(&mut self, name: &str) {
        self.settle_names();
        name.clone_into(&mut self.table.name);
    }

    /// SET NOT NULL: an error when a live row holds NULL in the column. Blocks with NULLs and deletions are read for
    /// that.
    pub fn set_not_null(&mut self, column: usize) -> Result<()> {
        if self.table.statistics(column).null_count > 0 && self.table.data.has_live_null(column)? {
            return Err(self.contains_nulls(&self.table.columns.fields()[column].name));
        }
        self.set_nullable(column, false);
        Ok(())
    }

    /// DROP NOT NULL: SQLSTATE 42P16 for a column of the primary key.
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

    /// Default, comment and generation expression of a column, to be changed in place.
    pub fn attributes_mut(&mut self, column: usize) -> &mut ColumnAttributes {
        &mut self.table.attributes[column]
    }

    /// COMMENT ON TABLE; `None` removes the comment.
    pub fn set_comment(&mut self, comment: Option<String>) {
        self.table.comment = comment;
    }

    /// Other columns' types, and all rows anew under them.
    pub fn retype(&mut self, fields: Vec<Field>, data: TableData) {
        self.set_fields(fields);
        self.table.data = Arc::new(data);
    }
}
