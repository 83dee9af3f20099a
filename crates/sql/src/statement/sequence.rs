//! CREATE, ALTER and DROP SEQUENCE, and the sequences of columns.
//!
//! Options may come once each, in any order; numbers are constants. SERIAL and IDENTITY columns get a sequence of their
//! own, whose options `identity` reads. CACHE is checked and ignored, as numbers are handed out one at a time.

use plan::Statement;
use plan::modification::{AlterSequence, CreateSequence, Identity, SequenceOptions};
use plan::statement::ObjectName;
use syntax::Span;
use syntax::tree::{
    AlterObject, Drop, Expr, ExprKind, IfThere, Literal, ObjectChange, OperatorKind, Path, SequenceOption,
    TypeKind, TypeName,
};
use types::{Error, Result, SqlState, Type};

use crate::words::folded;
use crate::{Relations, parse, place};

/// Where the names of a statement about sequences lead.
pub(super) struct Sequences<'a> {
    /// The statement's text, for places of errors.
    pub text: &'a str,
    /// The catalog.
    pub relations: &'a dyn Relations,
}

/// What options say.
#[derive(Default)]
struct Said {
    options: SequenceOptions,
    owner: Option<Vec<String>>,
}

impl Sequences<'_> {
    fn object_name(&self, path: &Path) -> Result<ObjectName> {
        super::named(self.text, path, self.relations)
    }

    /// Plans CREATE SEQUENCE. RESTART is an error.
    pub fn create(
        &self,
        name: &Path,
        options: &[SequenceOption],
        if_there: IfThere,
        temporary: bool,
    ) -> Result<Statement> {
        let name = self.object_name(name)?;
        let Said { options, owner } = self.said(options)?;
        if options.restart.is_some() {
            return Err(Error::new(SqlState::SyntaxError, "a new sequence cannot be restarted"));
        }
        let if_exists = super::if_exists(if_there);
        Ok(Statement::CreateSequence(CreateSequence { name, options, owner, temporary, if_exists }))
    }

    /// Plans ALTER SEQUENCE: a new name or new options. SET SCHEMA and OWNER TO are errors.
    pub fn alter(&self, syntax: &AlterObject) -> Result<Statement> {
        let AlterObject { kind: _, if_exists, name, change } = syntax;
        let unsupported = |what: &str| {
            let error = Error::unsupported(format!("ALTER SEQUENCE {what} is not supported"));
            Err(error.at(place::START))
        };
        let (mut said, mut rename) = (Said::default(), None);
        match change {
            ObjectChange::Rename(to) => rename = Some(folded(to)),
            ObjectChange::Sequence(options) => said = self.said(options)?,
            ObjectChange::SetSchema(_) => return unsupported("SET SCHEMA"),
            ObjectChange::OwnerTo(_) => return unsupported("IF EXISTS with OWNER TO"),
            ObjectChange::AddValue { .. }
            | ObjectChange::RenameValue(..)
            | ObjectChange::Set(..)
            | ObjectChange::Reset(_) => return unsupported("of this kind"),
        }
        let (name, if_exists) = (self.object_name(name)?, *if_exists);
        let Said { options, owner } = said;
        Ok(Statement::AlterSequence(AlterSequence { name, options, owner, rename, if_exists }))
    }

    /// Plans DROP SEQUENCE of one or several sequences.
    pub fn drop(&self, syntax: &Drop) -> Result<Statement> {
        let Drop { kind: _, if_exists, names: written, cascade, concurrently: _, persistent: _, on } = syntax;
        let mut names = Vec::with_capacity(written.len());
        for (name, types) in written {
            if types.is_some() {
                return Err(parse::unexpected(self.text, behind(name)));
            }
            names.push(self.object_name(name)?);
        }
        if let Some(on) = on {
            return Err(parse::unexpected(self.text, on.span()));
        }
        Ok(Statement::DropSequence { names, if_exists: *if_exists, cascade: *cascade == Some(true) })
    }

    fn said(&self, options: &[SequenceOption]) -> Result<Said> {
        let mut said = Said::default();
        options.iter().try_for_each(|option| self.option(option, &mut said))?;
        Ok(said)
    }

    fn option(&self, option: &SequenceOption, said: &mut Said) -> Result<()> {
        let options = &mut said.options;
        let number = |value: &Expr| number_of(self.text, value);
        match option {
            SequenceOption::As(ty) => {
                options.range = Some(range(ty)?);
                Ok(())
            }
            SequenceOption::Increment(by) => once(&mut options.increment, number(by)?),
            SequenceOption::Min(least) => once(&mut options.min, least.as_ref().map(number).transpose()?),
            SequenceOption::Max(most) => once(&mut options.max, most.as_ref().map(number).transpose()?),
            SequenceOption::Start(at) => once(&mut options.start, number(at)?),
            SequenceOption::Restart(at) => once(&mut options.restart, at.as_ref().map(number).transpose()?),
            SequenceOption::Cycle(cycle) => once(&mut options.cycle, *cycle),
            SequenceOption::Cache(count) => cached(number(count)?),
            SequenceOption::OwnedBy(owner) => {
                let names = owner.as_ref().map(|path| path.names.iter().map(folded).collect());
                once(&mut said.owner, names.unwrap_or_default())
            }
            SequenceOption::Name(name) => Err(parse::unexpected(self.text, name.span())),
        }
    }
}

/// The place behind a path.
fn behind(path: &Path) -> Span {
    let end = path.span().end;
    Span::new(end, end + 1)
}

/// Numbers are handed out one by one; nothing is kept back.
fn cached(count: i64) -> Result<()> {
    match count < 1 {
        true => Err(Error::new(SqlState::InvalidParameterValue, "CACHE must be greater than zero")),
        false => Ok(()),
    }
}

/// A number with its sign.
fn number_of(text: &str, value: &Expr) -> Result<i64> {
    let (sign, digits) = match &value.kind {
        ExprKind::Prefix(sign, inner) => (Some(&sign.kind), &inner.kind),
        plain => (None, plain),
    };
    let ExprKind::Literal(Literal::Number(digits)) = digits else {
        return Err(parse::unexpected(text, value.span));
    };
    match sign {
        Some(OperatorKind::Minus) => bigint(&format!("-{digits}")),
        _ => bigint(digits),
    }
}

fn bigint(digits: &str) -> Result<i64> {
    digits.replace('_', "").parse().map_err(|_| {
        let message = format!("value \"{digits}\" is out of range for type bigint");
        Error::new(SqlState::NumericValueOutOfRange, message)
    })
}

/// The range of a sequence's type.
fn range(ty: &TypeName) -> Result<(i64, i64)> {
    let name = match &ty.kind {
        TypeKind::Named { name, modifiers } if modifiers.is_empty() && ty.lists.is_empty() => {
            name.single().map(folded).unwrap_or_default()
        }
        _ => String::new(),
    };
    Ok(match name.as_str() {
        "smallint" | "int2" => (i64::from(i16::MIN), i64::from(i16::MAX)),
        "integer" | "int" | "int4" => (i64::from(i32::MIN), i64::from(i32::MAX)),
        "bigint" | "int8" => (i64::MIN, i64::MAX),
        _ => {
            let message = "sequence type must be smallint, integer, or bigint";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    })
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<()> {
    if slot.is_some() {
        return Err(Error::new(SqlState::SyntaxError, "conflicting or redundant options"));
    }
    *slot = Some(value);
    Ok(())
}

/// The type that SERIAL and its kin stand for.
pub(super) fn serial(ty: &TypeName) -> Option<Type> {
    let TypeKind::Named { name, modifiers } = &ty.kind else { return None };
    if !modifiers.is_empty() || !ty.lists.is_empty() {
        return None;
    }
    match name.single().filter(|name| !name.quoted)?.text.to_lowercase().as_str() {
        "smallserial" | "serial2" => Some(Type::SmallInt),
        "serial" | "serial4" => Some(Type::Integer),
        "bigserial" | "serial8" => Some(Type::BigInt),
        _ => None,
    }
}

/// A column's sequence, with the options that are given for it.
pub(super) fn identity(column: &str, ty: Type, given: &[SequenceOption], always: bool) -> Result<Identity> {
    let mut options = SequenceOptions::default();
    let number = |value: &Expr| bigint(value.to_string().trim_start_matches('+'));
    for option in given {
        match option {
            SequenceOption::Increment(by) => once(&mut options.increment, number(by)?)?,
            SequenceOption::Min(least) => once(&mut options.min, least.as_ref().map(number).transpose()?)?,
            SequenceOption::Max(most) => once(&mut options.max, most.as_ref().map(number).transpose()?)?,
            SequenceOption::Start(at) => once(&mut options.start, number(at)?)?,
            SequenceOption::Cache(count) => cached(number(count)?)?,
            SequenceOption::Cycle(cycle) => once(&mut options.cycle, *cycle)?,
            SequenceOption::As(_)
            | SequenceOption::Restart(_)
            | SequenceOption::OwnedBy(_)
            | SequenceOption::Name(_) => {
                return Err(Error::internal("an option that columns do not have"));
            }
        }
    }
    options.range = Some(match ty {
        Type::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Type::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Type::BigInt => (i64::MIN, i64::MAX),
        _ => {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    });
    Ok(Identity { column: column.to_owned(), options, always })
}
