//! CREATE, ALTER and DROP ROLE; memberships; who a session is.

use engine::SqlState as S;

use crate::support::{database, expect, rows, run, state};

#[test]
fn roles_are_made_altered_and_dropped() {
    let database = database();
    let admin = database.session();
    expect(
        &admin,
        &[
            ("CREATE ROLE a", None),
            ("CREATE ROLE a", Some(S::DuplicateObject)),
            ("CREATE USER u WITH PASSWORD 'x' CONNECTION LIMIT 2 VALID UNTIL '2030-01-01'", None),
            ("CREATE GROUP g ROLE a", None),
            ("CREATE ROLE pg_mine", Some(S::ReservedName)),
            ("CREATE ROLE quickstep_mine", Some(S::ReservedName)),
            ("CREATE ROLE public", Some(S::ReservedName)),
            ("CREATE ROLE b LOGIN LOGIN", Some(S::SyntaxError)),
            ("CREATE ROLE b REPLICATION", Some(S::FeatureNotSupported)),
            ("CREATE ROLE b IN ROLE nobody", Some(S::UndefinedObject)),
            ("ALTER ROLE nobody LOGIN", Some(S::UndefinedObject)),
            ("ALTER ROLE a CREATEROLE", None),
            ("ALTER ROLE pg_monitor LOGIN", Some(S::ReservedName)),
            ("ALTER ROLE quickstep NOSUPERUSER", Some(S::FeatureNotSupported)),
            ("ALTER ROLE a RENAME TO c", None),
            ("DROP ROLE a", Some(S::UndefinedObject)),
            ("DROP ROLE IF EXISTS a", None),
            ("DROP ROLE quickstep", Some(S::ObjectInUse)),
            ("DROP ROLE c, u, g", None),
            ("DROP OWNED BY c", Some(S::FeatureNotSupported)),
        ],
    );
}

#[test]
fn memberships_are_a_graph_without_circles() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE ROLE a LOGIN; CREATE ROLE b; CREATE ROLE c; GRANT b TO a; GRANT c TO b");
    expect(
        &admin,
        &[
            ("GRANT a TO c", Some(S::InvalidGrantOperation)),
            ("GRANT a TO a", Some(S::InvalidGrantOperation)),
            ("GRANT a TO PUBLIC", Some(S::UndefinedObject)),
            ("GRANT nobody TO a", Some(S::UndefinedObject)),
        ],
    );
    let a = database.session_as("a").unwrap();
    expect(
        &a,
        &[
            ("SET ROLE c", None),
            ("RESET ROLE", None),
            ("SET ROLE b", None),
            ("SET ROLE NONE", None),
            ("SET ROLE quickstep", Some(S::InsufficientPrivilege)),
            ("SET ROLE nobody", Some(S::InvalidParameterValue)),
            ("SET SESSION AUTHORIZATION b", Some(S::InsufficientPrivilege)),
            ("GRANT b TO c", Some(S::InsufficientPrivilege)),
        ],
    );
    run(&admin, "REVOKE b FROM a");
    assert_eq!(state(&a, "SET ROLE c"), Some(S::InsufficientPrivilege));
    run(&admin, "GRANT b TO a WITH ADMIN OPTION; CREATE ROLE d");
    assert_eq!(state(&a, "GRANT b TO d"), None);
    run(&admin, "REVOKE ADMIN OPTION FOR b FROM a");
    assert_eq!(state(&a, "REVOKE b FROM d"), Some(S::InsufficientPrivilege));
}

#[test]
fn sessions_begin_as_roles_that_may_log_in() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE ROLE a; CREATE USER u PASSWORD 'secret' CONNECTION LIMIT 1; CREATE USER s SUPERUSER");
    let fault = |role: &str| database.session_as(role).err().map(|error| error.state());
    assert_eq!(fault("nobody"), Some(S::InvalidAuthorization));
    assert_eq!(fault("a"), Some(S::InvalidAuthorization));
    let first = database.session_as("u").unwrap();
    assert_eq!(fault("u"), Some(S::TooManyConnections));
    drop(first);
    let u = database.session_as("u").unwrap();
    assert_eq!(rows(&u, "SELECT current_user, session_user"), ["u|u"]);
    let login = database.login("u").unwrap();
    assert!(login.verifier.as_ref().unwrap().matches("secret") && !login.is_expired());
    assert!(!login.verifier.unwrap().matches("Secret"));
    run(&admin, "ALTER ROLE u VALID UNTIL '2001-01-01' PASSWORD NULL");
    let login = database.login("u").unwrap();
    assert!(login.is_expired() && login.verifier.is_none());
    run(&admin, "REVOKE CONNECT ON DATABASE memory FROM PUBLIC");
    drop(u);
    assert_eq!(fault("u"), Some(S::InsufficientPrivilege));
    assert!(database.session_as("s").unwrap().is_superuser());
    assert!(database.login("nobody").is_none());
}

#[test]
fn who_makes_roles_makes_no_superuser() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE ROLE maker LOGIN CREATEROLE; CREATE ROLE other; CREATE USER boss SUPERUSER");
    let maker = database.session_as("maker").unwrap();
    expect(
        &maker,
        &[
            ("CREATE ROLE r LOGIN", None),
            ("ALTER ROLE r PASSWORD 'x'", None),
            ("ALTER ROLE r SUPERUSER", Some(S::InsufficientPrivilege)),
            ("CREATE ROLE s SUPERUSER", Some(S::InsufficientPrivilege)),
            ("CREATE ROLE s BYPASSRLS", Some(S::InsufficientPrivilege)),
            ("CREATE ROLE s IN ROLE pg_read_server_files", Some(S::InsufficientPrivilege)),
            ("CREATE ROLE s IN ROLE boss", Some(S::InsufficientPrivilege)),
            ("ALTER ROLE other LOGIN", Some(S::InsufficientPrivilege)),
            ("ALTER ROLE boss PASSWORD 'x'", Some(S::InsufficientPrivilege)),
            ("DROP ROLE other", Some(S::InsufficientPrivilege)),
            ("GRANT pg_monitor TO r", Some(S::InsufficientPrivilege)),
            ("ALTER ROLE maker PASSWORD 'mine'", None),
            ("ALTER ROLE maker SUPERUSER", Some(S::InsufficientPrivilege)),
            ("ALTER ROLE maker CONNECTION LIMIT -1", Some(S::InsufficientPrivilege)),
            ("DROP ROLE r", None),
            ("DROP ROLE maker", Some(S::InsufficientPrivilege)),
        ],
    );
}

#[test]
fn passwords_are_shown_nowhere() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE ROLE a LOGIN PASSWORD 'hunter2'; ALTER USER a ENCRYPTED PASSWORD 'hunter2x'");
    _ = admin.execute("CREATE ROLE a PASSWORD 'hunter2'");
    _ = admin.execute("ALTER ROLE a PASSWORD 'hunter2' LOGIN LOGIN");
    let history = rows(&admin, "SELECT query, error FROM quickstep_query_history").join("\n");
    assert!(history.contains("ROLE") && !history.contains("hunter2"), "{history}");
    for text in ["ALTER ROLE a PASSWORD 'hunter2", "CREATE ROLE b PASSWORD 'hunter2' NONSENSE"] {
        let shown = engine::masked(text);
        assert!(!shown.contains("hunter2") && shown.len() == text.len(), "{shown}");
    }
    let verifier = admin.with_access(|access| {
        let id = access.state().find("a").unwrap();
        access.state().role(id).unwrap().verifier.unwrap()
    });
    assert!(verifier.starts_with("SCRAM-SHA-256$4096:"));
    run(&admin, &format!("CREATE ROLE copy LOGIN PASSWORD '{verifier}'"));
    assert!(database.login("copy").unwrap().verifier.unwrap().matches("hunter2x"));
}

#[test]
fn the_embedded_engine_is_as_it_was() {
    let session = database().session();
    expect(
        &session,
        &[
            ("ALTER ROLE dashboards SET priority = 50", None),
            ("SET ROLE dashboards", None),
            ("CREATE TABLE t (a INT)", None),
            ("RESET ROLE", None),
        ],
    );
    assert_eq!(rows(&session, "SELECT current_user"), ["quickstep"]);
}
