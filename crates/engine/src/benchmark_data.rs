//! `CALL tpch(scale => 1)`, `CALL ssb(…)` and `CALL tpcds(…)`: benchmark tables, generated straight into blocks.
//!
//! `Session::call` is the entry of all procedures: each group of procedures is asked in turn, and what is left names
//! a suite. Generation is a plan that scans a generator, so that it runs in parallel and is cancelled like any query;
//! each table is made as by CREATE TABLE AS, with the suite's primary key where the scale keeps it unique.

use std::ops::ControlFlow;

use generators::{Source, Suite};
use plan::statement::{IfExists, ObjectName, TableOptions};
use plan::{ColumnTable, LogicalPlan, LogicalQuery, ScanSource};
use types::{Error, Field, Result, SqlState, Type, Value, cast};
use vector::arrow;

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;

impl Session {
    /// CALL of any procedure, by its name in any case; 42883 for an unknown one.
    pub(crate) fn call(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let procedure = procedure.to_ascii_lowercase();
        if let Some(done) = self.call_upkeep(&procedure, arguments, relations.statement()) {
            return done;
        }
        if let Some(done) = self.call_advise(&procedure, arguments, relations.statement()) {
            return done;
        }
        if let Some(done) = self.call_about_secrets(&procedure, arguments) {
            return done;
        }
        if let Some(done) = self.call_trace(&procedure, arguments) {
            return done;
        }
        if let Some(done) = self.call_query_control(&procedure, arguments, relations) {
            return done;
        }
        if let Some(done) = self.call_alter_role(&procedure, arguments) {
            return done;
        }
        if let Some(done) = self.call_about_variables(&procedure, arguments) {
            return done;
        }
        let Some(suite) = Suite::named(&procedure) else {
            return Err(Error::new(
                SqlState::UndefinedFunction,
                format!("procedure {procedure} does not exist"),
            )
            .with_hint(
                "CALL tpch(scale => 1), CALL ssb(scale => 1) and CALL tpcds(scale => 1) make benchmark tables",
            ));
        };
        let mut scale = 1.0;
        for (at, (name, value, ty)) in arguments.iter().enumerate() {
            match (name.as_deref(), at) {
                (Some("scale" | "sf"), _) | (None, 0) => {
                    let number = cast::cast_value(value, *ty, Type::Double)?;
                    scale = number.as_f64().ok_or_else(|| {
                        Error::new(SqlState::InvalidParameterValue, "the scale must be a number")
                    })?;
                }
                _ => {
                    return Err(Error::new(
                        SqlState::UndefinedFunction,
                        format!("procedure {procedure} has the one parameter \"scale\""),
                    ));
                }
            }
        }
        self.load_suite(suite, scale)
    }

    /// Makes the suite's tables; they appear one by one, each complete. When one fails, those before it go again.
    fn load_suite(&self, suite: Suite, scale: f64) -> Result<ResultSet> {
        let checked = |e: &generators::GeneratorError| operators::generate::generator_error(e);
        let source = Source::new(suite, scale).map_err(|e| checked(&e))?;
        // Said at once, not after the minutes that the tables before it take.
        let snapshot = self.snapshot();
        let home = self.home().map(|home| format!("{}.{}", home.name, catalog::DEFAULT_SCHEMA));
        let there = &snapshot.schema(home.as_deref().unwrap_or(catalog::DEFAULT_SCHEMA))?.tables;
        if let Some(table) = suite.tables().iter().find(|t| there.contains_key(**t)) {
            return Err(crate::define::already_exists(table)
                .with_hint("drop it, or make the suite's tables in a database of their own"));
        }
        let prepared = source.prepare(|| match self.go_on() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        if prepared.is_break() {
            self.go_on()?;
        }
        let mut made = Vec::new();
        let outcome = self.generate_tables(suite, scale, &source, &mut made);
        operators::generate::forget_source();
        if outcome.is_err() && !made.is_empty() {
            self.drop_tables(&made, true, true)?;
        }
        Ok(ResultSet::done(format!("CALL {}", outcome?)))
    }

    /// Returns the number of rows; `made` has the tables that are there, also after an error.
    fn generate_tables(
        &self,
        suite: Suite,
        scale: f64,
        source: &Source,
        made: &mut Vec<ObjectName>,
    ) -> Result<u64> {
        let checked = |e: &generators::GeneratorError| operators::generate::generator_error(e);
        let mut rows = 0;
        for table in suite.tables() {
            let home = self.home().map(|home| format!("{}.{}", home.name, catalog::DEFAULT_SCHEMA));
            let name = ObjectName { schema: home, name: (*table).to_owned() };
            let schema = suite.schema(table).map_err(|e| checked(&e))?;
            let mut fields = Vec::new();
            for field in schema.fields() {
                let ty = arrow::type_from_arrow(field.data_type())
                    .ok_or_else(|| Error::internal(format!("no type for {}", field.data_type())))?;
                fields.push(Field::new(field.name(), ty, field.is_nullable()));
            }
            let keys = suite.keys(table).map_err(|e| checked(&e))?;
            let mut options = TableOptions { if_exists: IfExists::Error, ..TableOptions::default() };
            if source.primary_key_holds(table).map_err(|e| checked(&e))? {
                options.primary_key = Some(keys.primary.iter().map(|c| (*c).to_owned()).collect());
            }
            rows += self.generate_into(&name, suite, table, scale, &fields, &options)?;
            made.push(name);
        }
        Ok(rows)
    }

    fn generate_into(
        &self,
        name: &ObjectName,
        suite: Suite,
        table: &str,
        scale: f64,
        fields: &[Field],
        options: &TableOptions,
    ) -> Result<u64> {
        let relations = SessionRelations::with_snapshot(self.snapshot());
        let mut columns = ColumnTable::default();
        let ids: Vec<_> = fields.iter().map(|f| columns.add(&f.name, f.ty, f.nullable)).collect();
        let plan = LogicalPlan::Scan {
            source: ScanSource::Generator { suite: suite.to_string(), table: table.to_owned(), scale },
            columns: ids.iter().enumerate().map(|(at, id)| (*id, at)).collect(),
            filters: vec![],
        };
        let output = ids.iter().zip(fields).map(|(id, f)| (*id, f.name.clone())).collect();
        let query =
            LogicalQuery { plan, columns, subqueries: vec![], common: vec![], materialized: 0, output };
        self.make_table(name, fields.to_vec(), options, query, &relations)
    }
}
