//! The plan cache: what planning has found of a text is kept by the session for when the text comes again.
//!
//! ```text
//!  describe(text) --> bound ---.
//!                              v
//!  run(text) ------> bound, optimized --> kept: the plans of its common subplans and scalar subqueries, what these
//!                                         gave, and the plan of the query that was made with it
//!  run(text) ------> kept: they run again, and if they give the same, so does the plan
//! ```
//!
//! A plan is made of a text, of the snapshot that names are resolved in and that statistics and samples come from,
//! and of the session's settings. What is kept is thrown away when either of these is another one, so a plan that is
//! found is the plan that would be made. A text that depends on anything else (the clock, chance, files, functions
//! and objects of the host program, the state of the system) is not kept: the front end asks for all of these through
//! one interface, which notes that it did ([`SessionRelations::lasts`]). Nor is one with parameters here: prepared
//! statements have plans of their own (`open_plans`), and in others the values decide selectivities.
//!
//! Results are never kept. Subqueries that run before their query is planned run every time, and where one gives
//! another value than before (it calls `random()`, say) the query is planned anew, and its text not kept any more.

mod planning;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use catalog::Snapshot;
use plan::{LogicalQuery, PhysicalPlan, Statement};
use sql::StatementText;
use types::{Schema, Type, Value, zone};

use crate::calls::LONG_TEXT_BYTES;
use crate::execution::{KeptInPlace, SharedRows, Steps};
use crate::open_plans::Trial;
use crate::relations::SessionRelations;

use crate::settings::{Settings, same_settings};

/// Longer texts are mostly lists of literals, which come once; or nest so deeply that their plans cannot be taken
/// apart on any stack.
const TEXT_BYTES_MAX: usize = LONG_TEXT_BYTES;
/// Bytes of the scalar subqueries' values that stand in a plan, at most.
const VALUE_BYTES_MAX: usize = 4 << 10;
/// Texts of one session; a dashboard has some dozens.
const TEXTS_MAX: usize = 64;

/// What one session keeps.
#[derive(Default)]
pub(crate) struct PlanCache(Mutex<Kept>);

/// The entries of one session, all valid under the same snapshot and settings.
#[derive(Default)]
struct Kept {
    /// The snapshot and settings that all entries are valid for.
    under: Option<Under>,
    texts: HashMap<Box<str>, Entry>,
    uses: u64,
}

/// What a plan depends on in addition to its text.
struct Under {
    snapshot: Weak<Snapshot>,
    settings: Arc<Settings>,
}

/// What is known of one text.
struct Entry {
    statement: StatementText,
    schema: Schema,
    stage: Stage,
    last_use: u64,
}

/// How far planning of a text has come.
enum Stage {
    Bound(Box<LogicalQuery>),
    /// A caller has taken the bound query, and plans it.
    Taken,
    Planned(Arc<Steps>),
    /// Its plan is another one each time, or holds too much.
    Unsteady,
}

/// A query that only has to run.
pub(crate) struct PlannedQuery {
    /// The result's columns.
    pub schema: Schema,
    /// The query's plan, with the values of its subqueries in it.
    pub plan: Arc<PhysicalPlan>,
    /// The plan as it is evaluated in place, where that was made before or is to be kept.
    pub in_place: KeptInPlace,
    /// Rows of its common subplans, which have run.
    pub shared: Vec<SharedRows>,
    /// Time from the text to the plan.
    pub planning: Duration,
    /// Where the time of an execution is measured.
    pub trial: Option<Trial>,
}

/// A statement as far as planning has brought it.
pub(crate) enum Planned {
    /// Bound, and still to be optimized if it has a query.
    Statement(Box<Statement>),
    /// Its plans were kept.
    Query(PlannedQuery),
}

/// The values of a statement's parameters.
#[derive(Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    /// For `$1`, `$2` and so on.
    pub parameters: &'a [(Value, Type)],
    /// The statement is prepared: it comes again with other values.
    pub prepared: bool,
    /// And these types are declared for its parameters.
    pub declared: &'a [Option<Type>],
}

impl<'a> Given<'a> {
    /// Values that are there when the statement is planned.
    pub fn values(parameters: &'a [(Value, Type)]) -> Self {
        Given { parameters, prepared: false, declared: &[] }
    }
    /// Values for a statement that is planned before it has them.
    pub fn prepared(parameters: &'a [(Value, Type)], declared: &'a [Option<Type>]) -> Self {
        Given { parameters, prepared: true, declared }
    }
}

/// What was kept of a text.
enum Found {
    Bound(Box<LogicalQuery>),
    Planned(Schema, Arc<Steps>),
}

impl PlanCache {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The only statement of a text that was seen before: it need not be looked for again.
    pub fn statement(&self, text: &str) -> Option<StatementText> {
        // A long script is not even hashed.
        let may_be_kept = text.len() <= TEXT_BYTES_MAX;
        may_be_kept.then(|| self.kept().texts.get(text).map(|entry| entry.statement.clone()))?
    }

    /// The columns that a text gives.
    pub fn schema(&self, text: &str, relations: &SessionRelations) -> Option<Schema> {
        let mut kept = self.kept();
        kept.used(text, relations).map(|entry| entry.schema.clone())
    }

    /// Forgets all texts.
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *self.kept());
        drop(dropped);
    }

    /// What planning a text goes on with. What was only bound is given to one.
    fn find(&self, text: &str, relations: &SessionRelations) -> Option<Found> {
        let mut kept = self.kept();
        let entry = kept.used(text, relations)?;
        match &entry.stage {
            Stage::Planned(steps) => Some(Found::Planned(entry.schema.clone(), steps.clone())),
            Stage::Bound(_) => match std::mem::replace(&mut entry.stage, Stage::Taken) {
                Stage::Bound(query) => Some(Found::Bound(query)),
                _ => None,
            },
            Stage::Taken | Stage::Unsteady => None,
        }
    }

    /// Keeps a text whose only statement is a query, with its columns; `bound` is the bound query, if it is not planned
    /// right away.
    pub fn keep_bound(
        &self,
        text: &str,
        statement: &StatementText,
        schema: &Schema,
        bound: Option<LogicalQuery>,
        relations: &SessionRelations,
    ) {
        let settings = relations.session_settings();
        let may_be_kept = settings.keeps.plan_cache && text.len() <= TEXT_BYTES_MAX;
        if !may_be_kept || !relations.lasts() || settings.time_zone != zone::current() {
            return;
        }
        let mut kept = self.kept();
        if kept.used(text, relations).is_some() {
            return;
        }
        let dropped = kept.make_room();
        kept.uses += 1;
        let entry = Entry {
            statement: statement.clone(),
            schema: schema.clone(),
            stage: bound.map_or(Stage::Taken, |query| Stage::Bound(Box::new(query))),
            last_use: kept.uses,
        };
        kept.texts.insert(text.into(), entry);
        drop(kept);
        drop(dropped);
    }

    /// Keeps the plans of a text that is kept.
    fn keep_planned(&self, text: &str, steps: Steps, relations: &SessionRelations) {
        let fits = steps.value_bytes() <= VALUE_BYTES_MAX;
        if let Some(entry) = self.kept().used(text, relations)
            && !matches!(entry.stage, Stage::Unsteady)
        {
            entry.stage = if fits { Stage::Planned(Arc::new(steps)) } else { Stage::Unsteady };
        }
    }

    /// A text's plan has turned out to be another one each time.
    fn refuse(&self, text: &str) {
        if let Some(entry) = self.kept().texts.get_mut(text) {
            entry.stage = Stage::Unsteady;
        }
    }
}

impl Under {
    fn is_of(&mut self, relations: &SessionRelations) -> bool {
        // The weak reference keeps the address from being another snapshot's.
        self.snapshot.as_ptr() == Arc::as_ptr(relations.snapshot())
            && same_settings(&mut self.settings, relations.session_settings())
    }
}

impl Kept {
    /// The entry of a text, if it holds for this snapshot and these settings. What does not is thrown away.
    fn used(&mut self, text: &str, relations: &SessionRelations) -> Option<&mut Entry> {
        if !self.under.as_mut().is_some_and(|under| under.is_of(relations)) {
            self.texts.clear();
            self.under = Some(Under {
                snapshot: Arc::downgrade(relations.snapshot()),
                settings: relations.session_settings().clone(),
            });
        }
        let settings = relations.session_settings();
        // Another thread of the session may have set the zone since this statement began, in which it is bound.
        if !settings.keeps.plan_cache || text.len() > TEXT_BYTES_MAX || settings.time_zone != zone::current()
        {
            return None;
        }
        self.uses += 1;
        let entry = self.texts.get_mut(text)?;
        entry.last_use = self.uses;
        Some(entry)
    }

    /// Takes out what was not used for longest, when there is as much as there may be.
    fn make_room(&mut self) -> Option<Entry> {
        if self.texts.len() < TEXTS_MAX {
            return None;
        }
        let oldest = self.texts.iter().min_by_key(|(_, entry)| entry.last_use)?.0.clone();
        self.texts.remove(&oldest)
    }
}
