//! Which plan an execution of a prepared statement takes: the kept one, or one for its values.
//!
//! The first executions are planned for their values and timed; then generic plans are tried, and the cheaper kind stays
//! while measured times say so (`Costs` in `open_plans.rs`). A kept plan is valid for the snapshot, settings and types it
//! was made under. Called when a portal or EXECUTE begins.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use plan::{PhysicalPlan, Statement, parameters};
use sql::{OpenStatement, StatementText};
use types::{Result, Type, Value, zone};

use super::{Bound, Costs, Generic, Trial, converted, is_text};
use crate::Session;
use crate::calls::LONG_TEXT_BYTES;
use crate::plan_cache::{Planned, PlannedQuery};
use crate::relations::SessionRelations;
use crate::run::result_schema;
use crate::settings::PlanCacheMode;
use crate::statistics::SnapshotStatistics;

impl Session {
    /// Plans an execution of a prepared statement, which is all of the text, with these values. `None` where it is to be
    /// planned as if they had been written into it.
    pub(crate) fn plan_prepared(
        &self,
        text: &str,
        statement: &StatementText,
        declared: &[Option<Type>],
        values: &[(Value, Type)],
        relations: &SessionRelations,
    ) -> Result<Option<Planned>> {
        let settings = relations.session_settings();
        let kept = settings.keeps.plan_cache && settings.time_zone == zone::current();
        if !kept || text.len() > LONG_TEXT_BYTES || values.is_empty() {
            return Ok(None);
        }
        let started = Instant::now();
        let Some(open) = self.open_statement(text, statement, declared, values, relations) else {
            return Ok(None);
        };
        let Some(values) = converted(values, &open.types) else { return Ok(None) };
        let Statement::Query(query) = &open.statement else {
            let mut statement = open.statement.clone();
            parameters::put(&mut statement, &values);
            return Ok(Some(Planned::Statement(Box::new(statement))));
        };
        self.use_block();
        let schema = result_schema(query);
        let (generic, costs) = self.generic_plan(text, &open, relations)?;
        let trial = |generic| costs.map(|costs| Trial { costs, generic, started });
        if let Some(generic) = generic {
            let plan = optimizer::parameters::with_values(&generic, &values, &settings.optimizer);
            if let Some(statement) = relations.statement() {
                statement.trace().note_kept_plan();
            }
            let (plan, planning) = (Arc::new(plan), started.elapsed());
            return Ok(Some(Planned::Query(PlannedQuery {
                schema,
                plan,
                in_place: Arc::default(),
                shared: vec![],
                planning,
                trial: trial(true),
            })));
        }
        let mut bound = Statement::Query(query.clone());
        parameters::put(&mut bound, &values);
        let Statement::Query(query) = bound else { return Ok(None) };
        let mut planned = self.plan_query(query, None, relations)?;
        planned.trial = trial(false);
        Ok(Some(Planned::Query(planned)))
    }

    /// The statement as it is kept, or bound anew; `None` where it is to be planned by its values.
    fn open_statement(
        &self,
        text: &str,
        statement: &StatementText,
        declared: &[Option<Type>],
        values: &[(Value, Type)],
        relations: &SessionRelations,
    ) -> Option<Arc<OpenStatement>> {
        let declared: Vec<Option<Type>> =
            // A declared text takes the type that its place asks for, as a quoted literal does.
            (0..values.len()).map(|at| declared.get(at).copied().flatten().filter(|ty| !is_text(*ty))).collect();
        let found = self.open.kept().used(text, relations).map(|entry| entry.bound.clone());
        let mut bound = match found.filter(|bound| bound.declared == declared) {
            Some(bound) => bound,
            None => self.bind_open(text, statement, &declared, None, relations),
        };
        bound.open.as_ref()?;
        let typed: Vec<Option<Type>> = (0..values.len())
            .map(|at| {
                let (value, ty) = &values[at];
                match bound.places.get(at) {
                    Some(place) if declared[at].is_none() && is_text(*place) => match () {
                        () if value.is_null() => bound.typed[at],
                        () => Some(*ty).filter(|ty| !is_text(*ty)),
                    },
                    _ => declared[at],
                }
            })
            .collect();
        if typed != bound.typed {
            bound = self.bind_open(text, statement, &declared, Some((typed, bound.places)), relations);
        }
        bound.open
    }

    /// Binds a text without values, and keeps what comes of it. `typed`: the types of parameters as values have them
    /// where no place says anything, and what places say.
    fn bind_open(
        &self,
        text: &str,
        statement: &StatementText,
        declared: &[Option<Type>],
        typed: Option<(Vec<Option<Type>>, Arc<[Type]>)>,
        relations: &SessionRelations,
    ) -> Bound {
        let types = typed.as_ref().map_or(declared, |(typed, _)| typed);
        // What is at fault is told when the statement is planned with its values.
        let open = sql::plan_open(text, statement, relations, types).ok();
        let runs = |open: &OpenStatement| {
            !open.by_value
                && relations.lasts()
                && matches!(
                    open.statement,
                    Statement::Query(_)
                        | Statement::ChangingQuery(_)
                        | Statement::Insert { .. }
                        | Statement::Modify(_)
                        | Statement::CreateTableAs { .. }
                )
        };
        let open = open.filter(runs).map(Arc::new);
        let places = match &typed {
            Some((_, places)) => places.clone(),
            None => open.as_ref().map_or_else(|| Arc::from([]), |open| open.types.as_slice().into()),
        };
        let typed = types.to_vec();
        let bound = Bound { declared: declared.to_vec(), places, typed, open };
        self.open.kept().keep(text, bound.clone(), relations);
        bound
    }

    /// The generic plan of a query, if it is to be used now; and what its executions took.
    fn generic_plan(
        &self,
        text: &str,
        open: &Arc<OpenStatement>,
        relations: &SessionRelations,
    ) -> Result<(Option<Arc<PhysicalPlan>>, Option<Arc<Mutex<Costs>>>)> {
        let settings = relations.session_settings();
        let costs = {
            let mut kept = self.open.kept();
            let Some(entry) = kept.used(text, relations) else { return Ok((None, None)) };
            let costs = entry.costs.clone();
            let prefers = || costs.lock().unwrap_or_else(PoisonError::into_inner).prefers_generic();
            let wanted = match settings.plan_cache_mode {
                PlanCacheMode::Auto => prefers(),
                PlanCacheMode::Custom => false,
                PlanCacheMode::Generic => true,
            };
            match &entry.generic {
                Generic::Impossible => return Ok((None, Some(costs))),
                _ if !wanted => return Ok((None, Some(costs))),
                Generic::Made(snapshot, plan) if snapshot.as_ptr() == Arc::as_ptr(relations.snapshot()) => {
                    return Ok((Some(plan.clone()), Some(costs)));
                }
                _ => costs,
            }
        };
        let Statement::Query(query) = &open.statement else { return Ok((None, None)) };
        let statistics = SnapshotStatistics::new(relations.snapshot());
        let plan =
            optimizer::parameters::generic(query.clone(), &statistics, &settings.optimizer)?.map(Arc::new);
        if let Some(entry) = self.open.kept().used(text, relations) {
            entry.generic = match &plan {
                Some(plan) => Generic::Made(Arc::downgrade(relations.snapshot()), plan.clone()),
                None => Generic::Impossible,
            };
        }
        Ok((plan, Some(costs)))
    }
}
