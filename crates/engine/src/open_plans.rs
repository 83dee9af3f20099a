//! Prepared statements with parameters: bound once, and planned for each set of values or once for all.
//!
//! ```text
//!  text -> bound without values (sql::plan_open), kept while names mean the same under the same settings
//!     values -> converted to the parameters' types
//!        custom:  values into the bound statement -> optimized -> run
//!        generic: optimized once with the parameters in it -> values into the plan -> run
//! ```
//! As in PostgreSQL, the first five executions of a query are planned for their values. Then a generic plan is tried three
//! times, and from then on what takes less time, planning and running together, by what was measured; `SET
//! plan_cache_mode` decides instead. Where no generic plan is possible (scalar subqueries and common table expressions run
//! before the rest is planned), and for statements that change rows, what is saved is parsing and binding.
//!
//! A bound statement depends on definitions alone and outlives changes of rows; a generic plan is made with the
//! statistics of one snapshot and holds for that one. A statement is planned by its values as if they had been written
//! into it where a construct asks for that (`OpenStatement::by_value`), where a question was asked that only the moment
//! answers (`SessionRelations::lasts`), and where a value cannot be converted to the parameter's type without loss.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use catalog::Snapshot;
use plan::{PhysicalPlan, Statement, parameters};
use sql::{OpenStatement, StatementText};
use types::{Result, Type, Value, cast, zone};

use crate::Session;
use crate::calls::LONG_TEXT_BYTES;
use crate::plan_cache::{Planned, PlannedQuery};
use crate::relations::SessionRelations;
use crate::run::result_schema;
use crate::settings::{PlanCacheMode, Settings};
use crate::statistics::SnapshotStatistics;

/// Statements of one session.
const STATEMENTS_MAX: usize = 64;
/// Executions that are planned for their values before a generic plan is tried.
const CUSTOM_FIRST: u32 = 5;
/// Executions by which a generic plan is judged.
const GENERIC_TRIED: u32 = 3;
/// Executions that a mean looks back over, more or less.
const REMEMBERED: u32 = 16;

/// What one session keeps of its prepared statements.
#[derive(Default)]
pub(crate) struct OpenPlans(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    texts: HashMap<Box<str>, Entry>,
    uses: u64,
}

/// What is known of one text.
struct Entry {
    /// The definitions that it was bound with, without rows.
    definitions: Snapshot,
    /// The last snapshot that was found to be defined alike.
    alike: Weak<Snapshot>,
    settings: Settings,
    bound: Bound,
    costs: Arc<Mutex<Costs>>,
    generic: Generic,
    last_use: u64,
}

/// A text that was bound without values.
#[derive(Clone)]
struct Bound {
    /// The types that PREPARE has declared.
    declared: Vec<Option<Type>>,
    /// What places say of the parameters, TEXT where they say nothing.
    places: Arc<[Type]>,
    /// The declared types, and where no place says anything those of the values.
    typed: Vec<Option<Type>>,
    /// `None` for a statement that is planned by its values.
    open: Option<Arc<OpenStatement>>,
}

enum Generic {
    Unmade,
    /// One plan is not all that it takes.
    Impossible,
    Made(Weak<Snapshot>, Arc<PhysicalPlan>),
}

/// How long executions took, planning counted.
#[derive(Default)]
struct Costs {
    custom: Mean,
    generic: Mean,
}

#[derive(Default)]
struct Mean {
    count: u32,
    seconds: f64,
}

impl Mean {
    fn add(&mut self, seconds: f64) {
        self.count = self.count.saturating_add(1);
        self.seconds += (seconds - self.seconds) / f64::from(self.count.min(REMEMBERED));
    }
}

impl Costs {
    fn prefers_generic(&self) -> bool {
        match (self.custom.count, self.generic.count) {
            (0..CUSTOM_FIRST, _) => false,
            (_, 0..GENERIC_TRIED) => true,
            _ => self.generic.seconds < self.custom.seconds,
        }
    }
}

/// An execution whose time is measured.
pub(crate) struct Trial {
    costs: Arc<Mutex<Costs>>,
    generic: bool,
    started: Instant,
}

impl Trial {
    /// The execution has succeeded.
    pub fn ended(self) {
        let seconds = self.started.elapsed().as_secs_f64();
        let mut costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        let mean = if self.generic { &mut costs.generic } else { &mut costs.custom };
        mean.add(seconds);
    }
}

impl OpenPlans {
    /// Forgets all statements.
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *self.kept());
        drop(dropped);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// The entry of a text, if it holds for what names mean now and for these settings.
    fn used(&mut self, text: &str, relations: &SessionRelations) -> Option<&mut Entry> {
        let entry = self.texts.get_mut(text)?;
        let snapshot = relations.snapshot();
        if entry.settings != *relations.session_settings() {
            self.texts.remove(text);
            return None;
        }
        if entry.alike.as_ptr() != Arc::as_ptr(snapshot) {
            if !entry.definitions.same_definitions(snapshot) {
                self.texts.remove(text);
                return None;
            }
            entry.alike = Arc::downgrade(snapshot);
        }
        self.uses += 1;
        entry.last_use = self.uses;
        self.texts.get_mut(text)
    }

    fn keep(&mut self, text: &str, bound: Bound, relations: &SessionRelations) {
        if self.texts.len() >= STATEMENTS_MAX
            && let Some(oldest) =
                self.texts.iter().min_by_key(|(_, e)| e.last_use).map(|(text, _)| text.clone())
        {
            self.texts.remove(&oldest);
        }
        self.uses += 1;
        let snapshot = relations.snapshot();
        let entry = Entry {
            definitions: snapshot.definitions(),
            alike: Arc::downgrade(snapshot),
            settings: relations.session_settings().clone(),
            bound,
            costs: Arc::default(),
            generic: Generic::Unmade,
            last_use: self.uses,
        };
        self.texts.insert(text.into(), entry);
    }
}

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
            return Ok(Some(Planned::Statement(statement)));
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

/// Whether a type is a text like any other.
pub(crate) fn is_text(ty: Type) -> bool {
    ty.is_text() && !ty.is_json()
}

/// The values in the parameters' types; `None` where one has no exact counterpart there.
fn converted(values: &[(Value, Type)], types: &[Type]) -> Option<Vec<(Value, Type)>> {
    if values.len() != types.len() {
        return None;
    }
    values.iter().zip(types).map(|((value, from), to)| Some((exact(value, *from, *to)?, *to))).collect()
}

fn exact(value: &Value, from: Type, to: Type) -> Option<Value> {
    if value.is_null() {
        return Some(Value::Null);
    }
    if is_text(from) {
        let text = value.as_text()?;
        return match to {
            // Blanks at the end do not count beside a CHAR, and count elsewhere.
            _ if is_text(to) => (!text.ends_with(' ')).then(|| value.clone()),
            Type::Decimal { scale, .. } => {
                let digits = text.trim().split_once('.').map_or("", |(_, digits)| digits);
                let plain =
                    !text.contains(['e', 'E']) && digits.trim_end_matches('0').len() <= scale as usize;
                cast::parse_text(text, to).ok().filter(|_| plain)
            }
            _ => cast::cast_value(value, Type::Text, to).ok(),
        };
    }
    if from == to {
        return Some(value.clone());
    }
    let whole = |ty: Type| ty.is_integer() || ty.is_decimal();
    let known = (from.is_integer() && (whole(to) || to.is_float()))
        || (from.is_decimal() && (to.is_decimal() || to.is_float()))
        || matches!(
            (from, to),
            (Type::Real, Type::Double) | (Type::Date, Type::Timestamp | Type::TimestampTz)
        )
        || (from.is_nested() && to.is_nested() && from.element().is_some() && to.element().is_some());
    let cast = known.then(|| cast::cast_value(value, from, to).ok())??;
    if from.is_decimal() && to.is_float() {
        return Some(cast);
    }
    (cast::cast_value(&cast, to, from).ok()? == *value).then_some(cast)
}
