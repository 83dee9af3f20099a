//! What a session remembers of sequences that come and go.

use engine::{Database, Options, SqlState, Value};

/// A sequence whose counter happens to lie where a dropped one's did is still a new sequence.
#[test]
fn a_new_sequence_has_no_current_value() {
    let session = Database::in_memory(Options::default()).expect("opens").session();
    let run = |sql: &str| session.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    for round in 0..300 {
        run("CREATE SEQUENCE gone");
        run("SELECT nextval('gone')");
        if round % 2 == 0 {
            run("ALTER SEQUENCE gone RESTART WITH 7");
            assert_eq!(run("SELECT nextval('gone')").value(0, 0), Value::I64(7));
        }
        run("DROP SEQUENCE gone");
        for name in ["a", "b", "c"] {
            run(&format!("CREATE SEQUENCE {name}"));
        }
        for name in ["a", "b", "c"] {
            let error = session.query(&format!("SELECT currval('{name}')")).expect_err("no value yet");
            assert_eq!(error.state(), SqlState::NotInPrerequisiteState, "round {round}: {error}");
        }
        run("DROP SEQUENCE a, b, c");
        // The last value given stays known though its sequence is gone.
        let last = if round % 2 == 0 { 7 } else { 1 };
        assert_eq!(run("SELECT lastval()").value(0, 0), Value::I64(last));
    }
}
