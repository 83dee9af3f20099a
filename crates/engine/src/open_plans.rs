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

mod choice;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use catalog::Snapshot;
use plan::PhysicalPlan;
use sql::OpenStatement;
use types::{Type, Value, cast};

use crate::relations::SessionRelations;
use crate::settings::{Settings, same_settings};

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
    settings: Arc<Settings>,
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
        if !same_settings(&mut entry.settings, relations.session_settings()) {
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
