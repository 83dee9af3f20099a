//! Statements that are bound before their parameters have values.
//!
//! ```text
//!  plan_with(text, values)    $1 is the literal that it stands for
//!  plan_open(text, declared)  $1 is a plan::Parameter, of the type that it was declared with or that its place asks for
//! ```
//! A parameter without a declared type is as untyped as a quoted literal (`coerce::Bound`), and gets its type where that
//! would be read. One that is used at several places has one type: where these ask for different ones, the first place
//! that asks for more than a text decides, and the statement is bound once more with that type declared. What no place
//! says anything about is TEXT.
//!
//! Some constructs are planned by a value: the number of rows of LIMIT, a pattern, arguments of functions that choose
//! what is computed. The types of such parameters are told as well, and `OpenStatement::by_value` says that the statement
//! is to be planned with each set of values.

use std::cell::Cell;

use plan::{Parameter, Statement, parameters};
use types::{Error, Result, SqlState, Type};

pub(crate) use crate::given::{Given, Later, is_by_value};
use crate::script::StatementText;
use crate::{Relations, parse, place, stack, statement};

/// A statement that is bound without values.
#[derive(Clone, Debug)]
pub struct OpenStatement {
    /// With `plan::ExprKind::Parameter` where values go, each of its type in `types`.
    pub statement: Statement,
    /// The parameters' types, by number.
    pub types: Vec<Type>,
    /// A construct is planned by a parameter's value: the statement describes what runs, but is not to be run itself.
    pub by_value: bool,
}

/// As `plan_with`, before there are values; `declared` has the parameters' types as far as they are known.
pub fn plan_open(
    text: &str,
    statement: &StatementText,
    relations: &dyn Relations,
    declared: &[Option<Type>],
) -> Result<OpenStatement> {
    let own = statement.of(text);
    stack::with_room(statement.depth(), || {
        let tree = parse::tree(own)?;
        let bind = |types: Vec<Option<Type>>| {
            let later = Later { types, by_value: Cell::new(false) };
            let bound = types::collation::within(relations.default_collation(), || {
                statement::plan(own, &tree, Some(statement), relations, Given::Later(&later))
            })?;
            Ok::<_, Error>((bound, later.by_value.get()))
        };
        let wanted = crate::markers::parameters_wanted(&crate::markers::markers(own)).max(declared.len());
        let mut types = declared.to_vec();
        types.resize(wanted, None);
        let (mut bound, mut by_value) = bind(types.clone())?;
        let mut places = parameters::of_statement(&mut bound);
        if let Some(agreed) = agreed(&types, &places) {
            let first = places;
            (bound, by_value) = bind(agreed).map_err(|error| conflict(own, &first).unwrap_or(error))?;
            places = parameters::of_statement(&mut bound);
        }
        let of = |at: usize| {
            let place = places.iter().find(|(parameter, _)| parameter.number as usize == at + 1);
            types[at].or(place.map(|(_, ty)| *ty)).unwrap_or(Type::Text)
        };
        let types = (0..wanted).map(of).collect();
        Ok(OpenStatement { statement: bound, types, by_value })
    })
    .map_err(|error| statement.in_script(error))
}

/// The types to declare where the places of a parameter ask for different ones; `None` where they agree.
fn agreed(declared: &[Option<Type>], places: &[(Parameter, Type)]) -> Option<Vec<Option<Type>>> {
    let mut types = declared.to_vec();
    let mut differ = false;
    for (at, ty) in types.iter_mut().enumerate() {
        let mut own: Vec<_> = places.iter().filter(|(p, _)| p.number as usize == at + 1).collect();
        own.sort_by_key(|(parameter, _)| parameter.at);
        let Some((_, first)) = own.first() else { continue };
        if ty.is_none() && own.iter().any(|(_, other)| other != first) {
            *ty = own.iter().map(|(_, ty)| *ty).find(|ty| !ty.is_text());
            differ |= ty.is_some();
        }
    }
    differ.then_some(types)
}

/// The error for a parameter that cannot have all the types that its places ask for.
fn conflict(text: &str, places: &[(Parameter, Type)]) -> Option<Error> {
    let mut places = places.to_vec();
    places.sort_by_key(|(parameter, _)| (parameter.number, parameter.at));
    let (one, other) = places
        .iter()
        .zip(places.iter().skip(1))
        .find(|((p, ty), (q, other))| p.number == q.number && ty != other)?;
    let shown = |(parameter, ty): &(Parameter, Type)| {
        let at = place::at_offset(text, (parameter.at as usize).min(text.len()));
        format!("{ty} at line {}, column {}", at.line, at.column)
    };
    let message = format!("inconsistent types deduced for parameter ${}", one.0.number);
    let error = Error::new(SqlState::AmbiguousParameter, message)
        .with_detail(format!("{}; {}", shown(one), shown(other)))
        .with_hint("cast the parameter to one type at each place");
    Some(error.at(place::at_offset(text, (other.0.at as usize).min(text.len()))))
}

/// The error for a parameter where planning needs a value.
pub(crate) fn value_needed(parameter: Parameter) -> Error {
    Error::unsupported(format!("the value of ${} is needed while the statement is planned", parameter.number))
        .with_hint(VALUE_NEEDED)
}

const VALUE_NEEDED: &str =
    "such a statement is planned for each set of values, and cannot be described without them";

/// Whether `plan_open` has failed because planning needs the value of a parameter, as the path of a file.
pub fn is_value_needed(error: &Error) -> bool {
    error.hint() == Some(VALUE_NEEDED)
}
