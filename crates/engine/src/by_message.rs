//! What a server asks for whose clients' messages come one by one: the statements of a script each with its rows as a
//! stream, and prepared statements that messages and SQL know by the same names.

use types::{Result, Type, Zone};

use crate::Session;
use crate::plan_cache::Given;
use crate::portal::PreparedStatement;
use crate::prepared::Prepared;
use crate::run::Form;
use crate::stream::{Opening, ResultStream};

/// A statement of a script, in its place.
pub struct ScriptStatement(sql::StatementText);

impl ScriptStatement {
    /// The statement's own text.
    pub fn of<'t>(&self, script: &'t str) -> &'t str {
        self.0.of(script)
    }

    /// Whether it is a COPY.
    pub fn is_copy(&self, script: &str) -> Result<bool> {
        let own = self.of(script).trim_start();
        let word = own.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        match word {
            // A comment comes first.
            "" => Ok(sql::verb(script, &self.0)?.0 == "COPY"),
            word => Ok(word.eq_ignore_ascii_case("copy")),
        }
    }
}

impl Session {
    /// The statements of a text, each of which can be read: none runs if one cannot.
    pub fn script(&self, text: &str) -> Result<Vec<ScriptStatement>> {
        self.called(|| Ok(self.statements_of_script(text)?.into_iter().map(ScriptStatement).collect()))
    }

    /// Runs one statement of a script; its rows come while they are read, unless they are few. Its errors stand where
    /// they are in the script. `alone`: it is the script's only one.
    pub fn run_of_script(
        &self,
        script: &str,
        statement: &ScriptStatement,
        alone: bool,
    ) -> Result<ResultStream> {
        let given = Given::default();
        let opening = Opening { text: script, statement: &statement.0, alone, given, snapshot: None };
        self.called(|| {
            let reading = self.standard.begin();
            let outcome = self.open_rows(&opening, |query, relations, recorded| {
                self.running_rows(query, relations, Form::Values, recorded)
            });
            reading.ended(outcome)
        })
    }

    /// The zone in which instants without one are read, and are shown.
    pub fn time_zone(&self) -> Zone {
        self.settings().time_zone
    }

    /// Whether PREPARE, or a message, has made a statement of this name.
    pub fn is_prepared(&self, name: &str) -> bool {
        self.prepared().contains_key(name)
    }

    /// Makes a prepared statement known to EXECUTE and DEALLOCATE; an error (42P05) for a name that is in use.
    pub fn keep_prepared(&self, name: &str, statement: &PreparedStatement) -> Result<()> {
        let types: Vec<Type> = statement.parameters().to_vec();
        let prepared = Prepared::new(statement.text().to_owned(), types, false);
        self.prepare_statement(name.to_owned(), prepared).map(|_| ())
    }

    /// The statement that PREPARE has made under a name; `None` when there is none.
    pub fn find_prepared(&self, name: &str) -> Option<Result<PreparedStatement>> {
        let Prepared { text, types, .. } = self.prepared().get(name).cloned()?;
        let types: Vec<Option<Type>> = types.into_iter().map(Some).collect();
        Some(self.prepare(&text, &types))
    }

    /// Forgets a prepared statement; one that is not there is no error.
    pub fn forget_prepared(&self, name: &str) {
        self.prepared().remove(name);
    }
}

#[cfg(test)]
mod tests {
    use types::SqlState;

    use crate::{Database, Options};

    #[test]
    fn a_script_runs_statement_by_statement_and_tells_where_its_errors_are() {
        let session = Database::in_memory(Options::default()).unwrap().session();
        let text = "SELECT 1;\nSELECT i FROM generate_series(1, 5000) AS t(i); SELECT nothing";
        let script = session.script(text).unwrap();
        let rows = |at: usize| {
            let mut stream = session.run_of_script(text, &script[at], false)?;
            let mut rows = 0;
            while let Some(batch) = stream.next_batch()? {
                rows += batch.rows;
            }
            Ok(rows)
        };
        assert_eq!((rows(0), rows(1)), (Ok(1), Ok(5000)));
        let error: types::Error = rows(2).unwrap_err();
        let place = error.position().unwrap();
        assert_eq!((place.line, place.offset as usize), (2, text.find("nothing").unwrap()));
        assert_eq!(session.script("SELECT 1; SELEC").err().unwrap().state(), SqlState::SyntaxError);
        assert!(session.script("-- nothing").unwrap().is_empty());
    }

    #[test]
    fn messages_and_sql_know_the_same_prepared_statements() {
        let session = Database::in_memory(Options::default()).unwrap().session();
        let statement = session.prepare("SELECT $1 + 1", &[Some(types::Type::Integer)]).unwrap();
        session.keep_prepared("s", &statement).unwrap();
        let again = session.keep_prepared("s", &statement).unwrap_err();
        assert_eq!(again.state(), SqlState::DuplicatePreparedStatement);
        assert_eq!(session.query("EXECUTE s(41)").unwrap().value(0, 0).display(types::Type::Integer), "42");
        session.execute("PREPARE p AS SELECT 7").unwrap();
        assert!(session.find_prepared("p").unwrap().unwrap().columns().is_some());
        session.execute("DEALLOCATE s").unwrap();
        session.forget_prepared("p");
        assert!(!session.is_prepared("s") && session.find_prepared("p").is_none());
    }
}
