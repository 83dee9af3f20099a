//! CREATE SECRET and DROP SECRET, which the parser makes calls of, and what can be seen of secrets in SQL.

mod statements;

use formats::Environment;
use formats::remote::{self, Conflict, ShownSecret};
use types::{Error, Field, Result, SqlState, Type, Value};

use crate::result::ResultSet;

/// Whether a procedure changes secrets, which are no part of the database.
pub(crate) fn is_about_secrets(procedure: &str) -> bool {
    sql::secrets::PROCEDURES.contains(&procedure)
}

fn call(
    environment: &Environment,
    procedure: &str,
    arguments: &[(Option<String>, Value, Type)],
) -> Result<ResultSet> {
    // A parameter may be NULL or a number; nothing of it is told.
    let texts: Option<Vec<&str>> = arguments.iter().map(|(_, value, _)| value.as_text()).collect();
    let usage = || {
        Error::new(SqlState::InvalidParameterValue, "the values of a secret's options are texts")
            .with_hint("CREATE SECRET name (TYPE s3, KEY_ID '...', SECRET '...')")
    };
    let texts = texts.ok_or_else(usage)?;
    match (procedure, texts.as_slice()) {
        ("create_secret", [conflict, lasting, name, options @ ..]) if options.len().is_multiple_of(2) => {
            let conflict = match *conflict {
                "replace" => Conflict::Replace,
                "keep" => Conflict::Keep,
                _ => Conflict::Error,
            };
            let pair = |pair: &[&str]| (pair[0].to_owned(), pair[1].to_owned());
            let options: Vec<_> = options.chunks_exact(2).map(pair).collect();
            remote::create_secret(environment, conflict, *lasting == "persistent", name, &options)?;
            Ok(ResultSet::done("CREATE SECRET"))
        }
        ("drop_secret", [conflict, lasting, name]) => {
            let persistent = match *lasting {
                "persistent" => Some(true),
                "temporary" => Some(false),
                _ => None,
            };
            remote::drop_secret(environment, name, *conflict == "keep", persistent)?;
            Ok(ResultSet::done("DROP SECRET"))
        }
        _ => Err(usage()),
    }
}

/// Columns and rows of a table function.
type Rows = (Vec<Field>, Vec<Vec<Value>>);

fn text(name: &str) -> Field {
    Field::new(name, Type::Text, false)
}

/// `quickstep_secrets`.
pub(crate) fn rows(environment: &Environment) -> Result<Rows> {
    let fields = vec![
        text("name"),
        text("type"),
        text("provider"),
        Field::new("persistent", Type::Boolean, false),
        text("scope"),
        text("options"),
    ];
    let row = |secret: ShownSecret| {
        vec![
            Value::text(&secret.name),
            Value::text(secret.kind),
            Value::text(secret.provider),
            Value::Bool(secret.persistent),
            Value::text(&secret.scope.join(", ")),
            Value::text(&secret.options),
        ]
    };
    Ok((fields, remote::secrets(environment)?.into_iter().map(row).collect()))
}

/// `which_secret(address)`: a row, or none. DuckDB's second argument, the type, says nothing that the address does not.
pub(crate) fn which(environment: &Environment, arguments: &[Value]) -> Result<Rows> {
    let address = match arguments {
        [address] | [address, _] => address.as_text(),
        _ => None,
    };
    let Some(address) = address else {
        return Err(Error::new(SqlState::UndefinedFunction, "which_secret takes an address")
            .with_hint("SELECT * FROM which_secret('s3://bucket/file.parquet')"));
    };
    let fields = vec![text("name"), Field::new("persistent", Type::Boolean, false), text("scope")];
    let row = |secret: ShownSecret| {
        vec![Value::text(&secret.name), Value::Bool(secret.persistent), Value::text(&secret.scope.join(", "))]
    };
    Ok((fields, remote::which_secret(environment, address)?.into_iter().map(row).collect()))
}
