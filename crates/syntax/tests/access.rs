//! Statements about roles, privileges and row policies come back from their print.

const STATEMENTS: &[&str] = &[
    "CREATE ROLE a WITH LOGIN NOINHERIT PASSWORD 'x' VALID UNTIL '2030-01-01' CONNECTION LIMIT -1 IN ROLE b, c ROLE d ADMIN e",
    "CREATE USER a TIME LIMIT '5s' MEMORY LIMIT '1GB' PRIORITY LIMIT 9",
    "CREATE GROUP a",
    "ALTER ROLE a PASSWORD NULL SUPERUSER",
    "ALTER ROLE a RENAME TO b",
    "DROP ROLE IF EXISTS a, b",
    "GRANT a, b TO c WITH ADMIN OPTION GRANTED BY CURRENT_USER",
    "REVOKE ADMIN OPTION FOR a FROM b CASCADE",
    "GRANT SELECT, UPDATE (x, y) ON t TO a, PUBLIC WITH GRANT OPTION",
    "REVOKE GRANT OPTION FOR ALL PRIVILEGES ON TABLE s.t FROM a RESTRICT",
    "GRANT ALL (x) ON t TO a",
    "GRANT USAGE, CREATE ON SCHEMA main TO a",
    "GRANT SELECT ON ALL TABLES IN SCHEMA main, s TO a",
    "GRANT EXECUTE ON FUNCTION f, g TO a",
    "GRANT CONNECT, TEMP ON DATABASE memory TO a",
    "ALTER DEFAULT PRIVILEGES FOR ROLE a IN SCHEMA main GRANT SELECT ON TABLES TO b",
    "ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM PUBLIC",
    "CREATE POLICY p ON t AS RESTRICTIVE FOR UPDATE TO a, PUBLIC USING (x > 0) WITH CHECK (x > 1)",
    "ALTER POLICY p ON s.t RENAME TO q",
    "ALTER POLICY p ON t TO a USING (true)",
    "DROP POLICY IF EXISTS p ON t CASCADE",
    "ALTER TABLE t NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE t OWNER TO CURRENT_USER",
    "ALTER SCHEMA s OWNER TO a",
    "DROP OWNED BY a, b CASCADE",
    "REASSIGN OWNED BY a TO b",
];

#[test]
fn statements_about_access_come_back_from_their_print() {
    // WITH before options and PRIVILEGES behind ALL say nothing.
    let plain = |text: &str| text.to_lowercase().replace(" privileges", "").replace("with login", "login");
    for text in STATEMENTS {
        let read = |text: &str| {
            let tree = syntax::parse_statement(text);
            tree.unwrap_or_else(|error| panic!("{text}: {}", error.shown_in(text))).to_string()
        };
        let printed = read(text);
        assert_eq!(plain(&printed), plain(text));
        assert_eq!(read(&printed), printed);
    }
}
