//! GRANT and REVOKE on tables, columns, schemas, sequences and functions; owners; views.

use engine::SqlState as S;

use crate::support::{database, expect, rows, run, state};

const NO: Option<S> = Some(S::InsufficientPrivilege);

#[test]
fn a_plain_role_may_nothing_until_it_is_granted() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE TABLE t (a INT, b INT, c INT); INSERT INTO t VALUES (1, 2, 3); CREATE ROLE u LOGIN");
    let u = database.session_as("u").unwrap();
    expect(
        &u,
        &[
            ("SELECT 1", None),
            ("SELECT a FROM t", NO),
            ("SELECT count(*) FROM t", NO),
            ("EXPLAIN SELECT a FROM t", NO),
            ("SELECT (SELECT max(a) FROM t)", NO),
            ("WITH x AS (SELECT * FROM t) SELECT 1 FROM x", NO),
            ("INSERT INTO t VALUES (1, 2, 3)", NO),
            ("UPDATE t SET a = 1", NO),
            ("DELETE FROM t", NO),
            ("TRUNCATE t", NO),
            ("COPY t TO STDOUT", NO),
            ("COPY t FROM STDIN", NO),
            ("MERGE INTO t USING (SELECT 1 AS x) s ON t.a = s.x WHEN MATCHED THEN DELETE", NO),
            ("SUMMARIZE t", NO),
            ("CREATE TABLE mine (a INT)", NO),
            ("CREATE TABLE mine AS SELECT 1 AS a", NO),
            ("SELECT 1 AS a INTO mine", NO),
            ("CREATE VIEW v AS SELECT 1", NO),
            ("CREATE SEQUENCE s", NO),
            ("CREATE MACRO m(x) AS x", NO),
            ("CREATE TYPE mood AS ENUM ('a')", NO),
            ("CREATE SCHEMA s", NO),
            ("CREATE TEMP TABLE mine (a INT)", None),
            ("INSERT INTO mine VALUES (1)", None),
            ("DROP TABLE mine", None),
            ("ALTER TABLE t ADD COLUMN d INT", NO),
            ("ALTER TABLE t RENAME TO r", NO),
            ("COMMENT ON TABLE t IS 'x'", NO),
            ("CREATE INDEX ON t (a)", NO),
            ("DROP TABLE t", NO),
            ("GRANT SELECT ON t TO PUBLIC", NO),
            ("ALTER TABLE t OWNER TO u", NO),
        ],
    );
    run(&admin, "GRANT SELECT ON t TO u");
    expect(&u, &[("SELECT * FROM t", None), ("SELECT count(*) FROM t", None), ("DELETE FROM t", NO)]);
    run(&admin, "GRANT INSERT, DELETE, TRUNCATE ON TABLE t TO u");
    expect(
        &u,
        &[
            ("INSERT INTO t VALUES (1, 2, 3)", None),
            ("INSERT INTO t VALUES (1, 2, 3) RETURNING a", None),
            ("DELETE FROM t WHERE a = 9", None),
            ("UPDATE t SET a = 1", NO),
            ("TRUNCATE t", None),
        ],
    );
    run(&admin, "REVOKE ALL ON t FROM u");
    expect(&u, &[("SELECT * FROM t", NO), ("INSERT INTO t VALUES (1, 2, 3)", NO)]);
    expect(
        &admin,
        &[
            ("GRANT EXECUTE ON t TO u", Some(S::InvalidGrantOperation)),
            ("GRANT DELETE (a) ON t TO u", Some(S::InvalidGrantOperation)),
            ("GRANT NONSENSE ON t TO u", Some(S::SyntaxError)),
            ("GRANT SELECT ON nothing TO u", Some(S::UndefinedTable)),
            ("GRANT SELECT ON t TO nobody", Some(S::UndefinedObject)),
            ("GRANT SELECT (z) ON t TO u", Some(S::UndefinedColumn)),
            ("GRANT SELECT ON t TO PUBLIC WITH GRANT OPTION", Some(S::InvalidGrantOperation)),
            ("GRANT SELECT ON t TO u GRANTED BY u", Some(S::FeatureNotSupported)),
        ],
    );
}

#[test]
fn columns_are_checked_for_those_used() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE TABLE t (a INT, b INT, c INT); INSERT INTO t VALUES (1, 2, 3); CREATE ROLE u LOGIN");
    run(&admin, "GRANT SELECT (a, b), INSERT (a), UPDATE (b) ON t TO u");
    let u = database.session_as("u").unwrap();
    expect(
        &u,
        &[
            ("SELECT a FROM t", None),
            ("SELECT b FROM t WHERE a = 1 ORDER BY a", None),
            ("SELECT count(*) FROM t", None),
            ("SELECT t.a FROM t JOIN t s USING (b)", None),
            ("SELECT * FROM t", NO),
            ("FROM t", NO),
            ("TABLE t", NO),
            ("SELECT t FROM t", NO),
            ("SELECT c FROM t", NO),
            ("SELECT a FROM t WHERE c = 3", NO),
            ("SELECT a FROM t ORDER BY c", NO),
            ("SELECT a FROM t GROUP BY a, c", NO),
            ("SELECT a FROM t GROUP BY a HAVING max(c) > 1", NO),
            ("SELECT count(c) FROM t", NO),
            ("SELECT sum(a) OVER (ORDER BY c) FROM t", NO),
            ("SELECT a FROM t NATURAL JOIN t s", NO),
            ("SELECT t.a FROM t JOIN t s USING (c)", NO),
            ("SELECT t.a FROM t JOIN t s ON t.c = s.a", NO),
            ("SELECT a FROM (SELECT a FROM t) s", None),
            ("SELECT a FROM (SELECT * FROM t) s", NO),
            ("SELECT (SELECT max(s.c) FROM t s WHERE s.a = t.a) FROM t", NO),
            ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM t s WHERE s.a = t.c)", NO),
            ("SELECT COLUMNS('c') FROM t", NO),
            ("SELECT * EXCLUDE (c) FROM t", NO),
            ("WITH x AS MATERIALIZED (SELECT c FROM t) SELECT count(*) FROM x", NO),
            ("SELECT a FROM t UNION SELECT c FROM t", NO),
            ("INSERT INTO t (a) VALUES (1)", None),
            ("INSERT INTO t (a, b) VALUES (1, 2)", NO),
            ("INSERT INTO t VALUES (1)", None),
            ("INSERT INTO t (a) VALUES (1) RETURNING c", NO),
            ("UPDATE t SET b = a WHERE a = 1", None),
            ("UPDATE t SET b = c", NO),
            ("UPDATE t SET b = 1 WHERE c = 1", NO),
            ("UPDATE t SET b = 1 RETURNING c", NO),
            ("UPDATE t SET a = 1", NO),
            ("DELETE FROM t WHERE a = 1", NO),
        ],
    );
    // Columns keep their privileges under another name, and lose them when they go.
    run(&admin, "ALTER TABLE t RENAME COLUMN a TO x");
    expect(&u, &[("SELECT x FROM t", None), ("SELECT c FROM t", NO)]);
    run(&admin, "ALTER TABLE t DROP COLUMN b; ALTER TABLE t ADD COLUMN b INT");
    expect(&u, &[("SELECT b FROM t", NO), ("SELECT x FROM t", None)]);
    // Taking the whole away takes columns away, too.
    run(&admin, "REVOKE SELECT ON t FROM u");
    assert_eq!(state(&u, "SELECT x FROM t"), NO);
}

#[test]
fn cached_plans_end_with_the_privilege() {
    let database = database();
    let admin = database.session();
    run(
        &admin,
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); CREATE ROLE u LOGIN; GRANT SELECT ON t TO u",
    );
    let u = database.session_as("u").unwrap();
    run(&u, "PREPARE p AS SELECT a FROM t WHERE a = $1");
    for _ in 0..12 {
        assert_eq!(rows(&u, "SELECT a FROM t"), ["1"]);
        assert_eq!(rows(&u, "EXECUTE p(1)"), ["1"]);
    }
    run(&admin, "REVOKE SELECT ON t FROM u");
    expect(&u, &[("SELECT a FROM t", NO), ("EXECUTE p(1)", NO)]);
    // And a session that changes its role does not go on with what it was before.
    for _ in 0..3 {
        assert_eq!(rows(&admin, "SELECT a FROM t"), ["1"]);
    }
    run(&admin, "SET ROLE u");
    assert_eq!(state(&admin, "SELECT a FROM t"), NO);
    run(&admin, "RESET ROLE");
    assert_eq!(rows(&admin, "SELECT a FROM t"), ["1"]);
}

#[test]
fn views_run_with_their_owners_rights() {
    let database = database();
    let admin = database.session();
    run(
        &admin,
        "CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2); CREATE ROLE u LOGIN; CREATE ROLE v LOGIN;
         CREATE VIEW shown AS SELECT a FROM t; GRANT SELECT ON shown TO u; GRANT CREATE ON SCHEMA main TO u",
    );
    let (u, v) = (database.session_as("u").unwrap(), database.session_as("v").unwrap());
    expect(&u, &[("SELECT a FROM shown", None), ("SELECT a FROM t", NO)]);
    assert_eq!(state(&v, "SELECT * FROM shown"), NO);
    // A view of one's own gives no more than one has.
    expect(&u, &[("CREATE VIEW mine AS SELECT * FROM shown", None), ("GRANT SELECT ON mine TO v", None)]);
    assert_eq!(rows(&v, "SELECT * FROM mine"), ["1"]);
    run(&admin, "REVOKE SELECT ON shown FROM u");
    assert_eq!(state(&v, "SELECT * FROM mine"), NO);
    // A view keeps its owner when it is renamed, and a new one of the old name has nothing of it.
    run(&admin, "GRANT SELECT ON shown TO u");
    run(&u, "ALTER VIEW mine RENAME TO ours");
    assert_eq!(rows(&v, "SELECT * FROM ours"), ["1"]);
    run(&u, "DROP VIEW ours; CREATE VIEW ours AS SELECT * FROM shown");
    assert_eq!(state(&v, "SELECT * FROM ours"), NO);
    expect(&v, &[("DROP VIEW ours", NO), ("CREATE OR REPLACE VIEW ours AS SELECT 1 AS a", NO)]);
}

#[test]
fn owners_grant_and_give_away() {
    let database = database();
    let admin = database.session();
    run(
        &admin,
        "CREATE ROLE a LOGIN; CREATE ROLE b LOGIN; CREATE ROLE c LOGIN; GRANT CREATE ON SCHEMA main TO a",
    );
    let sessions = ["a", "b", "c"].map(|name| database.session_as(name).unwrap());
    let [a, b, c] = &sessions;
    run(a, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1); GRANT SELECT ON t TO b WITH GRANT OPTION");
    run(b, "GRANT SELECT ON t TO c");
    assert_eq!(rows(c, "SELECT * FROM t"), ["1"]);
    expect(
        a,
        &[
            ("REVOKE SELECT ON t FROM b", Some(S::DependentObjectsStillExist)),
            ("REVOKE GRANT OPTION FOR SELECT ON t FROM b CASCADE", None),
        ],
    );
    expect(b, &[("SELECT * FROM t", None), ("GRANT SELECT ON t TO c", NO)]);
    assert_eq!(state(c, "SELECT * FROM t"), NO);
    expect(&admin, &[("DROP ROLE a", Some(S::DependentObjectsStillExist))]);
    expect(a, &[("ALTER TABLE t OWNER TO b", NO)]);
    run(&admin, "ALTER TABLE t OWNER TO b");
    expect(a, &[("SELECT * FROM t", NO), ("DROP TABLE t", NO)]);
    run(&admin, "REASSIGN OWNED BY b TO c");
    expect(b, &[("DROP TABLE t", NO)]);
    run(c, "DROP TABLE t");
    run(&admin, "REVOKE CREATE ON SCHEMA main FROM a; DROP ROLE b");
}

#[test]
fn schemas_sequences_and_functions_have_privileges() {
    let database = database();
    let admin = database.session();
    run(
        &admin,
        "CREATE ROLE u LOGIN; CREATE SCHEMA s; CREATE TABLE s.t (a INT); GRANT SELECT ON s.t TO u;
         CREATE SEQUENCE q; CREATE MACRO twice(x) AS 2 * x; CREATE MACRO ones() AS TABLE SELECT 1 AS one;
         CREATE TABLE numbered (id INT GENERATED BY DEFAULT AS IDENTITY, a INT); GRANT INSERT ON numbered TO u",
    );
    let u = database.session_as("u").unwrap();
    assert_eq!(state(&u, "SELECT * FROM s.t"), NO);
    run(&admin, "GRANT USAGE ON SCHEMA s TO u");
    expect(&u, &[("SELECT * FROM s.t", None), ("CREATE TABLE s.x (a INT)", NO), ("DROP SCHEMA s", NO)]);
    run(&admin, "GRANT CREATE ON SCHEMA s TO u");
    expect(&u, &[("CREATE TABLE s.x (a INT)", None), ("ALTER TABLE s.x RENAME COLUMN a TO b", None)]);
    expect(&u, &[("SELECT nextval('q')", NO), ("SELECT setval('q', 5)", NO), ("DROP SEQUENCE q", NO)]);
    run(&admin, "GRANT USAGE ON SEQUENCE q TO u");
    expect(
        &u,
        &[("SELECT nextval('q')", None), ("SELECT setval('q', 5)", NO), ("ALTER SEQUENCE q RESTART", NO)],
    );
    expect(&u, &[("INSERT INTO numbered (a) VALUES (1)", None)]);
    expect(&u, &[("SELECT twice(2)", None), ("SELECT * FROM ones()", None), ("DROP MACRO twice", NO)]);
    run(&admin, "REVOKE EXECUTE ON FUNCTION twice, ones FROM PUBLIC");
    expect(&u, &[("SELECT twice(2)", NO), ("SELECT * FROM ones()", NO)]);
    run(&admin, "GRANT EXECUTE ON FUNCTION twice TO u");
    expect(&u, &[("SELECT twice(2)", None)]);
    run(
        &admin,
        "GRANT SELECT ON ALL TABLES IN SCHEMA main TO u; ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO u",
    );
    run(&admin, "CREATE TABLE later (a INT)");
    expect(&u, &[("SELECT * FROM numbered", None), ("SELECT * FROM later", None)]);
    expect(&u, &[("CREATE TABLE s.f (a INT, FOREIGN KEY (a) REFERENCES later (a))", NO)]);
}

#[test]
fn all_data_roles_read_and_write_all_data() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE TABLE t (a INT); CREATE ROLE r LOGIN IN ROLE pg_read_all_data; CREATE ROLE w LOGIN");
    run(&admin, "GRANT pg_write_all_data TO w; CREATE ROLE n LOGIN NOINHERIT IN ROLE pg_read_all_data");
    let sessions = ["r", "w", "n"].map(|name| database.session_as(name).unwrap());
    let [r, w, n] = &sessions;
    expect(r, &[("SELECT * FROM t", None), ("INSERT INTO t VALUES (1)", NO), ("DROP TABLE t", NO)]);
    expect(w, &[("INSERT INTO t VALUES (1)", None), ("SELECT * FROM t", NO), ("DELETE FROM t", None)]);
    expect(n, &[("SELECT * FROM t", NO), ("SET ROLE pg_read_all_data", None), ("SELECT * FROM t", None)]);
}

/// CREATE TABLE (LIKE) tells what a table looks like to whom its rows may be read.
#[test]
fn tables_are_copied_in_form_by_whom_may_read_them() {
    let database = database();
    let admin = database.session();
    run(&admin, "CREATE TABLE t (a INT DEFAULT 42 CHECK (a <> 4711)); CREATE ROLE u LOGIN");
    run(&admin, "GRANT CREATE ON SCHEMA main TO u");
    let u = database.session_as("u").unwrap();
    expect(&u, &[("CREATE TABLE own (a INT)", None), ("CREATE TABLE like_t (LIKE t INCLUDING ALL)", NO)]);
    run(&admin, "GRANT SELECT ON t TO u");
    expect(&u, &[("CREATE TABLE like_t (LIKE t INCLUDING ALL)", None)]);
}
