//! Evaluation of a path over a value, in the order and with the errors of PostgreSQL's `jsonpath_exec.c`.
//!
//! Steps are applied depth first: each hands what it leads to on to the steps behind it, and the last one adds it to
//! `found`. Without `found` only whether there is anything is asked, and the first item ends the search. An error is
//! soft where a predicate or a silent call may swallow it, and hard where it ends the statement.

mod predicates;

use std::rc::Rc;

use types::jsonb::Tree;
use types::{Error, JsonState as J, Result, SqlState, stop};

use super::moment::Moment;
use super::number::Number;
use super::{How, JsonPath, Method, Node, Step};

/// Levels of steps and of the value, together.
const LEVELS_MAX: usize = 1_500;
/// What the items that are found may take for each byte of the value, and in any case.
const SHARE_MAX: usize = 16;
const BYTES_MIN: usize = 64 << 10;

/// What a path leads to.
#[derive(Clone)]
enum Item<'a> {
    /// A part of the value, of a variable or of the path.
    Part(&'a Tree),
    /// What a method or an operator made, and parts of it.
    Made(Rc<Tree>),
    Moment(Moment),
}

enum Fault {
    /// Of the value: unknown in a predicate.
    Soft(Error),
    /// Of the statement.
    Hard(Error),
}

type Run<T> = std::result::Result<T, Fault>;
type Found<'f, 'a> = Option<&'f mut Vec<Item<'a>>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Truth {
    False,
    True,
    Unknown,
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Truth::True } else { Truth::False }
    }
}

struct Evaluation<'a> {
    strict: bool,
    root: &'a Tree,
    /// The values of `$name`; without an object they are all null.
    variables: &'a Tree,
    current: Option<Item<'a>>,
    /// Elements of the array whose subscript is evaluated.
    count: usize,
    /// Missing structure is no error.
    ignores: bool,
    level: usize,
    how: How,
    /// Bytes that may still be found.
    left: usize,
}

fn soft<T>(state: SqlState, message: impl Into<String>) -> Run<T> {
    Err(Fault::Soft(Error::new(state, message)))
}

impl<'a> Item<'a> {
    fn tree(&self) -> Option<&Tree> {
        match self {
            Item::Part(tree) => Some(tree),
            Item::Made(tree) => Some(tree),
            Item::Moment(_) => None,
        }
    }

    fn elements(&self) -> Option<usize> {
        match self.tree() {
            Some(Tree::Array(items)) => Some(items.len()),
            _ => None,
        }
    }

    fn is_container(&self) -> bool {
        matches!(self.tree(), Some(Tree::Array(_) | Tree::Object(_)))
    }

    /// Element or entry at a place.
    fn child(&self, at: usize) -> Option<Item<'a>> {
        fn of(tree: &Tree, at: usize) -> Option<&Tree> {
            match tree {
                Tree::Array(items) => items.get(at),
                Tree::Object(entries) => entries.get(at).map(|(_, value)| value),
                _ => None,
            }
        }
        match self {
            Item::Part(tree) => of(tree, at).map(Item::Part),
            Item::Made(tree) => of(tree, at).map(|part| Item::Made(Rc::new(part.clone()))),
            Item::Moment(_) => None,
        }
    }

    fn children(&self) -> usize {
        match self.tree() {
            Some(Tree::Array(items)) => items.len(),
            Some(Tree::Object(entries)) => entries.len(),
            _ => 0,
        }
    }

    fn made(tree: Tree) -> Item<'a> {
        Item::Made(Rc::new(tree))
    }

    fn number(&self) -> Option<Run<Number>> {
        match self.tree() {
            Some(Tree::Number(digits)) => Some(Number::read(digits).map_err(Fault::Soft)),
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self.tree() {
            Some(Tree::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn into_tree(self) -> Tree {
        match self {
            Item::Part(tree) => tree.clone(),
            Item::Made(tree) => Rc::unwrap_or_clone(tree),
            Item::Moment(moment) => Tree::Text(moment.shown()),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Item::Moment(moment) => moment.type_name(),
            _ => match self.tree() {
                Some(Tree::Bool(_)) => "boolean",
                Some(Tree::Number(_)) => "number",
                Some(Tree::Text(_)) => "string",
                Some(Tree::Array(_)) => "array",
                Some(Tree::Object(_)) => "object",
                Some(Tree::Null) | None => "null",
            },
        }
    }
}

/// About what a value takes as text.
fn bytes_of(tree: &Tree) -> usize {
    match tree {
        Tree::Null | Tree::Bool(_) => 4,
        Tree::Number(text) | Tree::Text(text) => 2 + text.len(),
        Tree::Array(items) => items.iter().map(|item| 2 + bytes_of(item)).sum::<usize>() + 2,
        Tree::Object(entries) => {
            entries.iter().map(|(key, value)| 6 + key.len() + bytes_of(value)).sum::<usize>() + 2
        }
    }
}

fn evaluation<'a>(path: &JsonPath, value: &'a Tree, variables: &'a Tree, how: How) -> Evaluation<'a> {
    let left = bytes_of(value).saturating_mul(SHARE_MAX).saturating_add(BYTES_MIN);
    Evaluation {
        strict: path.strict,
        root: value,
        variables,
        current: None,
        count: 0,
        ignores: !path.strict,
        level: 0,
        how,
        left,
    }
}

/// The result, or nothing of it where the error is to be silent.
fn heard<T>(run: Run<T>, silent: bool) -> Result<Option<T>> {
    match run {
        Ok(value) => Ok(Some(value)),
        Err(Fault::Soft(_)) if silent => Ok(None),
        Err(Fault::Soft(error) | Fault::Hard(error)) => Err(error),
    }
}

pub(super) fn query(path: &JsonPath, value: &Tree, variables: &Tree, how: How) -> Result<Vec<Tree>> {
    let mut evaluation = evaluation(path, value, variables, how);
    let mut found = Vec::new();
    // What was found before a silent error counts.
    let run = evaluation.node(&path.root, &[], Some(&mut found));
    heard(run, how.silent)?;
    Ok(found.into_iter().map(Item::into_tree).collect())
}

pub(super) fn exists(path: &JsonPath, value: &Tree, variables: &Tree, how: How) -> Result<Option<bool>> {
    let mut evaluation = evaluation(path, value, variables, how);
    let run = match path.strict {
        // An error behind the first item counts.
        true => {
            let mut found = Vec::new();
            evaluation.node(&path.root, &[], Some(&mut found)).map(|_| !found.is_empty())
        }
        false => evaluation.node(&path.root, &[], None),
    };
    heard(run, how.silent)
}

pub(super) fn matches(path: &JsonPath, value: &Tree, variables: &Tree, how: How) -> Result<Option<bool>> {
    match query(path, value, variables, how)?.as_slice() {
        [Tree::Bool(truth)] => Ok(Some(*truth)),
        [Tree::Null] => Ok(None),
        _ if how.silent => Ok(None),
        _ => Err(Error::new(SqlState::Json(J::JsonSingletonRequired), "single boolean result is expected")),
    }
}

impl<'a> Evaluation<'a> {
    /// What a node gives, through further steps; whether there was anything.
    fn node(&mut self, node: &'a Node, steps: &'a [Step], found: Found<'_, 'a>) -> Run<bool> {
        self.level += 1;
        if self.level > LEVELS_MAX {
            let message =
                format!("a jsonpath goes through at most {LEVELS_MAX} levels of itself and of the value");
            return Err(Fault::Hard(Error::new(SqlState::StatementTooComplex, message)));
        }
        let run = self.node_within(node, steps, found);
        self.level -= 1;
        run
    }

    fn node_within(&mut self, node: &'a Node, steps: &'a [Step], found: Found<'_, 'a>) -> Run<bool> {
        let item = match node {
            // A path does not begin with a path.
            Node::Path { start, steps } => return self.node(start, steps, found),
            Node::Literal(value) => Item::Part(value),
            Node::Variable(name) => match self.variables {
                Tree::Object(entries) => match entries.iter().find(|(own, _)| own == name) {
                    Some((_, value)) => Item::Part(value),
                    None => {
                        let message = format!("could not find jsonpath variable \"{name}\"");
                        return Err(Fault::Hard(Error::new(SqlState::UndefinedObject, message)));
                    }
                },
                _ => Item::made(Tree::Null),
            },
            Node::Root => Item::Part(self.root),
            Node::Current => match &self.current {
                Some(item) => item.clone(),
                None => return Err(Fault::Hard(Error::internal("@ outside of a filter"))),
            },
            Node::Last => Item::made(Tree::Number((self.count as i64 - 1).to_string())),
            Node::Sign { minus, operand } => return self.signed(*minus, operand, steps, found),
            Node::Arithmetic { operator, left, right } => {
                let symbol = operator.symbol();
                let left = self.single_number(left, "left", symbol)?;
                let right = self.single_number(right, "right", symbol)?;
                let made = left.apply(*operator, &right).and_then(|n| n.tree()).map_err(Fault::Soft)?;
                Item::made(made)
            }
            Node::Predicate(predicate) => Item::made(match self.predicate(predicate)? {
                Truth::True => Tree::Bool(true),
                Truth::False => Tree::Bool(false),
                Truth::Unknown => Tree::Null,
            }),
        };
        self.next(steps, item, found)
    }

    /// Hands an item on to further steps.
    fn next(&mut self, steps: &'a [Step], item: Item<'a>, found: Found<'_, 'a>) -> Run<bool> {
        if !steps.is_empty() {
            return self.step(steps, item, !self.strict, found);
        }
        if let Some(found) = found {
            let bytes = 32 + item.tree().map_or(32, bytes_of);
            stop::spend(bytes);
            let Some(left) = self.left.checked_sub(bytes) else {
                let message = "the path leads to far more than the value has";
                return Err(Fault::Hard(
                    Error::new(SqlState::StatementTooComplex, message)
                        .with_hint("parts that a path leads to several times are given several times"),
                ));
            };
            self.left = left;
            found.push(item);
        }
        Ok(true)
    }

    /// Applies the first of the steps, and the others to what it leads to.
    fn step(&mut self, steps: &'a [Step], item: Item<'a>, unwrap: bool, found: Found<'_, 'a>) -> Run<bool> {
        stop::check(stop::Place::Evaluate).map_err(Fault::Hard)?;
        self.level += 1;
        if self.level > LEVELS_MAX {
            let message =
                format!("a jsonpath goes through at most {LEVELS_MAX} levels of itself and of the value");
            return Err(Fault::Hard(Error::new(SqlState::StatementTooComplex, message)));
        }
        let run = self.step_within(steps, item, unwrap, found);
        self.level -= 1;
        run
    }

    fn step_within(
        &mut self,
        steps: &'a [Step],
        item: Item<'a>,
        unwrap: bool,
        mut found: Found<'_, 'a>,
    ) -> Run<bool> {
        let Some((step, rest)) = steps.split_first() else { return self.next(steps, item, found) };
        let is_array = item.elements().is_some();
        match step {
            Step::Key(key) => {
                if let Some(Tree::Object(entries)) = item.tree() {
                    let at = entries.iter().position(|(own, _)| own == key);
                    return match at.and_then(|at| item.child(at)) {
                        Some(value) => self.next(rest, value, found),
                        None => self.missing(
                            SqlState::Json(J::JsonMemberNotFound),
                            format!("JSON object does not contain key \"{key}\""),
                        ),
                    };
                }
                if unwrap && is_array {
                    return self.each_element(steps, &item, found);
                }
                let message = "jsonpath member accessor can only be applied to an object";
                self.missing(SqlState::Json(J::JsonMemberNotFound), message)
            }
            Step::AnyKey if matches!(item.tree(), Some(Tree::Object(_))) => {
                self.each_child(rest, &item, found)
            }
            Step::AnyKey if unwrap && is_array => self.each_element(steps, &item, found),
            Step::AnyKey => self.missing(
                SqlState::Json(J::JsonObjectNotFound),
                "jsonpath wildcard member accessor can only be applied to an object",
            ),
            Step::AnyElement if is_array => self.each_child(rest, &item, found),
            Step::AnyElement if !self.strict => self.next(rest, item, found),
            Step::AnyElement => self.missing(
                SqlState::Json(J::JsonArrayNotFound),
                "jsonpath wildcard array accessor can only be applied to an array",
            ),
            Step::Elements(places) if is_array || !self.strict => self.elements(places, rest, &item, found),
            Step::Elements(_) => self.missing(
                SqlState::Json(J::JsonArrayNotFound),
                "jsonpath array accessor can only be applied to an array",
            ),
            Step::Deep { first, last } => {
                let mut any = false;
                if *first == Some(0) {
                    let around = std::mem::replace(&mut self.ignores, true);
                    let run = self.next(rest, item.clone(), found.as_deref_mut());
                    self.ignores = around;
                    any = run?;
                    if any && found.is_none() {
                        return Ok(true);
                    }
                }
                Ok(self.deep(rest, &item, 1, (*first, *last), found)? || any)
            }
            Step::Filter(_) if unwrap && is_array => self.each_element(steps, &item, found),
            Step::Filter(predicate) => {
                let around = self.current.replace(item.clone());
                let truth = self.predicate(predicate);
                self.current = around;
                match truth? {
                    Truth::True => self.next(rest, item, found),
                    Truth::False | Truth::Unknown => Ok(false),
                }
            }
            Step::Method(method) => self.method(*method, steps, item, unwrap, found),
        }
    }

    /// Structure that is not there.
    fn missing(&self, state: SqlState, message: impl Into<String>) -> Run<bool> {
        if self.ignores { Ok(false) } else { soft(state, message) }
    }

    /// All steps, the first of them applied to each element instead of to the array.
    fn each_element(&mut self, steps: &'a [Step], item: &Item<'a>, mut found: Found<'_, 'a>) -> Run<bool> {
        let mut any = false;
        for at in 0..item.children() {
            let Some(child) = item.child(at) else { break };
            any |= self.step(steps, child, false, found.as_deref_mut())?;
            if any && found.is_none() {
                break;
            }
        }
        Ok(any)
    }

    /// Further steps for each element or value.
    fn each_child(&mut self, rest: &'a [Step], item: &Item<'a>, mut found: Found<'_, 'a>) -> Run<bool> {
        let mut any = false;
        for at in 0..item.children() {
            let Some(child) = item.child(at) else { break };
            any |= self.next(rest, child, found.as_deref_mut())?;
            if any && found.is_none() {
                break;
            }
        }
        Ok(any)
    }

    /// What lies in an item at the depths from first to last; `None` is the depth of what has nothing in it.
    fn deep(
        &mut self,
        rest: &'a [Step],
        item: &Item<'a>,
        level: u32,
        (first, last): (Option<u32>, Option<u32>),
        mut found: Found<'_, 'a>,
    ) -> Run<bool> {
        let leaves = first.is_none() && last.is_none();
        let last_level = last.unwrap_or(u32::MAX);
        if level > last_level {
            return Ok(false);
        }
        self.level += 1;
        let mut any = false;
        for at in 0..item.children() {
            let Some(child) = item.child(at) else { break };
            stop::check(stop::Place::Evaluate).map_err(Fault::Hard)?;
            let container = child.is_container();
            if first.is_some_and(|first| level >= first) || (leaves && !container) {
                let around = std::mem::replace(&mut self.ignores, true);
                let run = self.next(rest, child.clone(), found.as_deref_mut());
                self.ignores = around;
                any |= run?;
            }
            if !(any && found.is_none()) && level < last_level && container {
                any |= self.deep(rest, &child, level + 1, (first, last), found.as_deref_mut())?;
            }
            if any && found.is_none() {
                break;
            }
        }
        self.level -= 1;
        Ok(any)
    }

    /// Elements at the places of a subscript; what is no array is one of one element.
    fn elements(
        &mut self,
        places: &'a [(Node, Option<Node>)],
        rest: &'a [Step],
        item: &Item<'a>,
        mut found: Found<'_, 'a>,
    ) -> Run<bool> {
        let is_array = item.elements().is_some();
        let count = item.elements().unwrap_or(1);
        let around = std::mem::replace(&mut self.count, count);
        let mut any = false;
        for (first, last) in places {
            self.count = count;
            let from = self.place(first)?;
            let to = match last {
                Some(last) => {
                    self.count = count;
                    self.place(last)?
                }
                None => from,
            };
            if !self.ignores && (from < 0 || from > to || to >= count as i64) {
                return soft(SqlState::Json(J::JsonSubscript), "jsonpath array subscript is out of bounds");
            }
            for at in from.max(0)..=to.min(count as i64 - 1) {
                let element = if is_array { item.child(at as usize) } else { Some(item.clone()) };
                let Some(element) = element else { continue };
                self.count = around;
                any |= self.next(rest, element, found.as_deref_mut())?;
                if any && found.is_none() {
                    return Ok(true);
                }
            }
        }
        self.count = around;
        Ok(any)
    }

    /// What is found on the way to a condition or a number, and let go of again: it takes nothing of what the whole may
    /// find. An error may have ended in the middle of anything.
    fn apart<T>(&mut self, find: impl FnOnce(&mut Self) -> Run<T>) -> Run<T> {
        let (level, ignores, count, left) = (self.level, self.ignores, self.count, self.left);
        let run = find(self);
        (self.level, self.ignores, self.count, self.left) = (level, ignores, count, left);
        run
    }

    fn place(&mut self, node: &'a Node) -> Run<i64> {
        let found = self.apart(|this| this.items(node, false))?;
        let number = match found.as_slice() {
            [only] => only.number().transpose()?,
            _ => None,
        };
        let Some(number) = number else {
            return soft(
                SqlState::Json(J::JsonSubscript),
                "jsonpath array subscript is not a single numeric value",
            );
        };
        match number.truncated() {
            Some(place) => Ok(i64::from(place)),
            None => {
                soft(SqlState::Json(J::JsonSubscript), "jsonpath array subscript is out of integer range")
            }
        }
    }

    /// What a node gives; lax, arrays among it are opened where that is asked for.
    fn items(&mut self, node: &'a Node, unwrap: bool) -> Run<Vec<Item<'a>>> {
        let mut found = Vec::new();
        self.node(node, &[], Some(&mut found))?;
        if !unwrap || self.strict || found.iter().all(|item| item.elements().is_none()) {
            return Ok(found);
        }
        let mut opened = Vec::new();
        for item in found {
            match item.elements() {
                Some(_) => {
                    self.each_child(&[], &item, Some(&mut opened))?;
                }
                None => opened.push(item),
            }
        }
        Ok(opened)
    }

    fn single_number(&mut self, node: &'a Node, side: &str, symbol: &str) -> Run<Number> {
        let items = self.apart(|this| this.items(node, true))?;
        let number = match items.as_slice() {
            [only] => only.number().transpose()?,
            _ => None,
        };
        number.map_or_else(
            || {
                let message =
                    format!("{side} operand of jsonpath operator {symbol} is not a single numeric value");
                soft(SqlState::Json(J::JsonSingletonRequired), message)
            },
            Ok,
        )
    }

    fn signed(
        &mut self,
        minus: bool,
        operand: &'a Node,
        steps: &'a [Step],
        mut found: Found<'_, 'a>,
    ) -> Run<bool> {
        let mut any = false;
        for item in self.items(operand, true)? {
            let Some(number) = item.number().transpose()? else {
                if found.is_none() && steps.is_empty() {
                    continue;
                }
                let symbol = if minus { "-" } else { "+" };
                let message = format!("operand of unary jsonpath operator {symbol} is not a numeric value");
                return soft(SqlState::Json(J::JsonNumberNotFound), message);
            };
            let made = if minus { number.negated().tree().map_err(Fault::Soft)? } else { item.into_tree() };
            any |= self.next(steps, Item::made(made), found.as_deref_mut())?;
            if any && found.is_none() {
                break;
            }
        }
        Ok(any)
    }

    fn method(
        &mut self,
        method: Method,
        steps: &'a [Step],
        item: Item<'a>,
        unwrap: bool,
        found: Found<'_, 'a>,
    ) -> Run<bool> {
        let rest = steps.get(1..).unwrap_or_default();
        let opens = !matches!(method, Method::Type | Method::Size);
        if opens && unwrap && item.elements().is_some() {
            return self.each_element(steps, &item, found);
        }
        let made = match method {
            Method::Type => Tree::Text(item.type_name().to_owned()),
            Method::Size => match item.elements() {
                Some(count) => Tree::Number(count.to_string()),
                None if !self.strict => Tree::Number("1".to_owned()),
                None => {
                    let message = "jsonpath item method .size() can only be applied to an array";
                    return self.missing(SqlState::Json(J::JsonArrayNotFound), message);
                }
            },
            Method::Abs | Method::Floor | Method::Ceiling => {
                let Some(number) = item.number().transpose()? else {
                    let name = method.name();
                    let message =
                        format!("jsonpath item method .{name}() can only be applied to a numeric value");
                    return soft(SqlState::Json(J::JsonNonNumeric), message);
                };
                let made = match method {
                    Method::Abs => number.absolute(),
                    Method::Floor => number.floor(),
                    _ => number.ceiling(),
                };
                made.tree().map_err(Fault::Soft)?
            }
            Method::Double => return self.double(rest, item, found),
            Method::KeyValue => return self.key_values(rest, &item, found),
            Method::Datetime => {
                let Some(text) = item.text() else {
                    let message = "jsonpath item method .datetime() can only be applied to a string";
                    return soft(SqlState::Json(J::JsonDatetime), message);
                };
                let Some(moment) = Moment::read(text) else {
                    let error = Error::new(
                        SqlState::Json(J::JsonDatetime),
                        format!("datetime format is not recognized: \"{text}\""),
                    );
                    return Err(Fault::Soft(
                        error.with_hint("the forms are ISO's: 2024-01-31, 12:30:00+01, 2024-01-31T12:30:00"),
                    ));
                };
                return self.next(rest, Item::Moment(moment), found);
            }
        };
        self.next(rest, Item::made(made), found)
    }

    fn double(&mut self, rest: &'a [Step], item: Item<'a>, found: Found<'_, 'a>) -> Run<bool> {
        let name = ".double()";
        match item.tree() {
            Some(Tree::Number(digits)) => {
                if digits.parse::<f64>().is_ok_and(f64::is_finite) {
                    return self.next(rest, item, found);
                }
                let message = format!(
                    "numeric argument of jsonpath item method {name} is out of range for type double precision"
                );
                soft(SqlState::Json(J::JsonNonNumeric), message)
            }
            Some(Tree::Text(text)) => {
                let read = text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
                let made = read.and_then(|value| Tree::read(&format!("{value:e}")).ok());
                let Some(made) = made else {
                    let message = format!(
                        "string argument of jsonpath item method {name} is not a valid representation of a double precision number"
                    );
                    return soft(SqlState::Json(J::JsonNonNumeric), message);
                };
                self.next(rest, Item::made(made), found)
            }
            _ => soft(
                SqlState::Json(J::JsonNonNumeric),
                format!("jsonpath item method {name} can only be applied to a string or numeric value"),
            ),
        }
    }

    /// An object for each entry, with its key, its value and the number of the object that it is in.
    fn key_values(&mut self, rest: &'a [Step], item: &Item<'a>, mut found: Found<'_, 'a>) -> Run<bool> {
        let Some(Tree::Object(entries)) = item.tree() else {
            let message = "jsonpath item method .keyvalue() can only be applied to an object";
            return soft(SqlState::Json(J::JsonObjectNotFound), message);
        };
        let id = match item {
            Item::Part(tree) => number_of(self.root, tree, &mut 0),
            _ => None,
        };
        let id = Tree::Number(id.unwrap_or(0).to_string());
        let mut any = false;
        for (key, value) in entries {
            // In the order of keys of one form.
            let pair = Tree::Object(vec![
                ("id".to_owned(), id.clone()),
                ("key".to_owned(), Tree::Text(key.clone())),
                ("value".to_owned(), value.clone()),
            ]);
            stop::spend(bytes_of(value));
            any |= self.next(rest, Item::made(pair), found.as_deref_mut())?;
            if any && found.is_none() {
                break;
            }
        }
        Ok(any)
    }
}

/// The number of a part among the arrays and objects of a value, in their order.
fn number_of(tree: &Tree, part: &Tree, next: &mut u64) -> Option<u64> {
    stop::spend(16);
    let own = *next;
    match tree {
        Tree::Array(_) | Tree::Object(_) if std::ptr::eq(tree, part) => return Some(own),
        Tree::Array(_) | Tree::Object(_) => *next += 1,
        _ => return None,
    }
    match tree {
        Tree::Array(items) => items.iter().find_map(|item| number_of(item, part, next)),
        Tree::Object(entries) => entries.iter().find_map(|(_, value)| number_of(value, part, next)),
        _ => None,
    }
}
