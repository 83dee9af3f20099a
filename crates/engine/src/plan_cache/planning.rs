//! A text of a session becomes a plan, kept or new.

use std::time::Instant;

use plan::{LogicalQuery, Statement};
use sql::StatementText;
use types::Result;

use super::{Found, Given, Planned, PlannedQuery};
use crate::Session;
use crate::execution::Purpose;
use crate::relations::SessionRelations;
use crate::run::result_schema;
use crate::settings::same_settings;
use crate::workload::Running;

impl Session {
    /// Plans a statement, which is all of the text if it is `alone`: by what is kept of the text, or anew. With what is
    /// to be recorded of it.
    pub(crate) fn plan_statement(
        &self,
        text: &str,
        statement: &StatementText,
        alone: bool,
        relations: &SessionRelations,
        Given { parameters, prepared, declared }: Given<'_>,
    ) -> Result<(Planned, Option<Running>)> {
        let own = statement.of(text);
        let alone = alone && parameters.is_empty();
        let started = Instant::now();
        match if alone { self.plans.find(text, relations) } else { None } {
            Some(Found::Bound(query)) => {
                self.use_block();
                return Ok((
                    Planned::Statement(Box::new(Statement::Query(*query))),
                    self.begin_record_of(own, &[]),
                ));
            }
            Some(Found::Planned(schema, steps)) => {
                let planning = started.elapsed();
                self.use_block();
                // Of statements that read no table nothing is recorded.
                let recorded = if steps.are_in_place() { None } else { self.begin_record_of(own, &[]) };
                if let Some(shared) = self.run_steps(&steps, relations)? {
                    if let Some(statement) = relations.statement() {
                        statement.trace().note_kept_plan();
                    }
                    let (plan, in_place) = (steps.plan.clone(), steps.in_place.clone());
                    let query = PlannedQuery { schema, plan, in_place, shared, planning, trial: None };
                    return Ok((Planned::Query(query), recorded));
                }
                self.plans.refuse(text);
                if let Some(statement) = relations.statement() {
                    statement.trace().begin_anew();
                }
            }
            None => {}
        }
        if prepared
            && !parameters.is_empty()
            && let Some(planned) = self.plan_prepared(text, statement, declared, parameters, relations)?
        {
            let recorded = match &planned {
                Planned::Query(_) => self.begin_record_of(own, parameters),
                Planned::Statement(statement) => self.begin_record(statement, own, parameters),
            };
            return Ok((planned, recorded));
        }
        let planned = sql::plan_with(text, statement, relations, parameters)?;
        if let Statement::Query(query) = &planned {
            self.use_block();
            if alone {
                self.plans.keep_bound(text, statement, &result_schema(query), None, relations);
            }
        }
        let recorded = self.begin_record(&planned, own, parameters);
        Ok((Planned::Statement(Box::new(planned)), recorded))
    }

    /// Plans a query that is bound, and runs what has to run before. `text`: whose plan it is, if that is to be kept.
    pub(crate) fn plan_query(
        &self,
        query: LogicalQuery,
        text: Option<&str>,
        relations: &SessionRelations,
    ) -> Result<PlannedQuery> {
        let schema = result_schema(&query);
        let prepared = self.plan_steps(query, relations, Purpose::Run, &mut vec![])?;
        let (query, steps) = prepared.into_query(schema);
        if let (Some(text), Some(steps)) = (text, steps)
            && same_settings(&mut self.settings_now(), relations.session_settings())
        {
            self.plans.keep_planned(text, steps, relations);
        }
        Ok(query)
    }
}
