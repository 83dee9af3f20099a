//! Roles of the database, through the protocol, by a client that proves its password with SCRAM.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Database, Options};
use server::{Config, DatabaseRoles, Handle, Server};
use tokio_postgres::{Client, NoTls};

/// Limits of memory hold over what is counted.
#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

/// A server that believes nobody, and the superuser's password.
struct Running {
    handle: Handle,
    database: Database,
    password: String,
}

fn start_over(database: Database) -> (Running, bool) {
    start_with(database, |_| ())
}

fn start_with(database: Database, change: impl FnOnce(&mut Config)) -> (Running, bool) {
    let mut config = Config {
        port: Some(0),
        listen: vec!["127.0.0.1".to_owned()],
        socket_directory: None,
        ..Config::default()
    };
    change(&mut config);
    let roles = Arc::new(DatabaseRoles::new(&database));
    let first = server::first_password(&*roles).unwrap();
    let told = first.is_some();
    let password = first.map_or_else(String::new, |first| first.password);
    let handle = Server::start(database.clone(), config, roles).unwrap();
    (Running { handle, database, password }, told)
}

fn options() -> Options {
    Options { workers: Some(2), memory_bytes: Some(1 << 30), ..Options::default() }
}

fn start() -> Running {
    start_over(Database::in_memory(options()).unwrap()).0
}

fn code(error: &tokio_postgres::Error) -> String {
    error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned())
}

impl Running {
    async fn connect(&self, user: &str, password: &str) -> Result<Client, String> {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(self.handle.port()).user(user).password(password).dbname("postgres");
        let (client, connection) = config.connect(NoTls).await.map_err(|error| code(&error))?;
        tokio::spawn(connection);
        Ok(client)
    }

    async fn superuser(&self) -> Client {
        self.connect("quickstep", &self.password).await.unwrap()
    }

    /// How a login ends: `in`, or with which code.
    async fn login(&self, user: &str, password: &str) -> String {
        self.connect(user, password).await.map_or_else(|code| code, |_| "in".to_owned())
    }

    async fn until_connections(&self, count: usize) {
        let began = Instant::now();
        while self.handle.connections() != count {
            assert!(began.elapsed() < Duration::from_secs(10), "{} connections", self.handle.connections());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// How a text ends: with `ok`, or with which code.
async fn outcome(client: &Client, text: &str) -> String {
    client.batch_execute(text).await.map_or_else(|error| code(&error), |()| "ok".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_roles_see_what_each_was_granted() {
    let server = start();
    let owner = server.superuser().await;
    owner
        .batch_execute(
            "CREATE TABLE orders (id INTEGER, secret TEXT); INSERT INTO orders VALUES (1, 'x');
             CREATE ROLE ada LOGIN PASSWORD 'ada''s'; CREATE ROLE grace LOGIN PASSWORD 'grace''s';
             GRANT SELECT (id) ON orders TO ada; GRANT ALL ON orders TO grace",
        )
        .await
        .unwrap();
    let ada = server.connect("ada", "ada's").await.unwrap();
    let grace = server.connect("grace", "grace's").await.unwrap();
    for (text, by_ada, by_grace) in [
        ("SELECT id FROM orders", "ok", "ok"),
        ("SELECT secret FROM orders", "42501", "ok"),
        ("SELECT * FROM orders", "42501", "ok"),
        ("INSERT INTO orders VALUES (2, 'y')", "42501", "ok"),
        ("DELETE FROM orders WHERE id = 2", "42501", "ok"),
        ("DROP TABLE orders", "42501", "42501"),
        ("CREATE ROLE mallory", "42501", "42501"),
        ("ALTER ROLE ada SUPERUSER", "42501", "42501"),
        ("SET ROLE quickstep", "42501", "42501"),
        ("SET SESSION AUTHORIZATION quickstep", "42501", "42501"),
        ("SELECT * FROM read_text('/etc/passwd')", "42501", "42501"),
        ("COPY orders TO '/tmp/quickstep-roles-test.csv'", "42501", "42501"),
        ("SET memory_limit = '1TB'", "42501", "42501"),
    ] {
        let outcomes = (outcome(&ada, text).await, outcome(&grace, text).await);
        assert_eq!(outcomes, (by_ada.to_owned(), by_grace.to_owned()), "{text}");
    }
    let row = ada.query_one("SELECT current_user::text, session_user::text", &[]).await.unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("ada", "ada"));
    // Prepared statements ask again.
    let prepared = ada.prepare("SELECT id FROM orders").await.unwrap();
    assert_eq!(ada.query(&prepared, &[]).await.unwrap().len(), 1);
    owner.batch_execute("REVOKE SELECT (id) ON orders FROM ada").await.unwrap();
    assert_eq!(code(&ada.query(&prepared, &[]).await.unwrap_err()), "42501");
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_let_in_and_stop_to() {
    let server = start();
    let owner = server.superuser().await;
    let sql = async |text: &str| owner.batch_execute(text).await.unwrap();
    sql(
        "CREATE ROLE ada LOGIN PASSWORD 'first'; CREATE ROLE locked PASSWORD 'known'; CREATE ROLE bare LOGIN",
    )
    .await;
    assert_eq!(server.login("ada", "first").await, "in");
    // Whatever the reason is, a client is told the same.
    for (user, password) in [("ada", "wrong"), ("nobody", "first"), ("locked", "known"), ("bare", "x")] {
        assert_eq!(server.login(user, password).await, "28P01", "{user}");
    }
    sql("ALTER ROLE ada PASSWORD 'second'").await;
    assert_eq!(server.login("ada", "first").await, "28P01");
    let ada = server.connect("ada", "second").await.unwrap();
    // A role's own password is its own to change; a verifier is kept as it is given.
    assert_eq!(outcome(&ada, "ALTER ROLE ada PASSWORD 'third'").await, "ok");
    assert_eq!(server.login("ada", "third").await, "in");
    sql("ALTER ROLE ada NOLOGIN").await;
    assert_eq!(server.login("ada", "third").await, "28P01");
    assert_eq!(outcome(&ada, "SELECT 1").await, "ok", "who is in stays");
    sql("ALTER ROLE ada LOGIN VALID UNTIL '2001-01-01'").await;
    assert_eq!(server.login("ada", "third").await, "28P01");
    sql("ALTER ROLE ada VALID UNTIL 'infinity'; REVOKE CONNECT ON DATABASE memory FROM PUBLIC").await;
    assert_eq!(server.login("ada", "third").await, "42501");
    sql("GRANT CONNECT ON DATABASE memory TO ada").await;
    assert_eq!(server.login("ada", "third").await, "in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_role_s_sessions_are_nobody_s() {
    let server = start();
    let owner = server.superuser().await;
    let sql = async |text: &str| owner.batch_execute(text).await.unwrap();
    sql("CREATE ROLE ada LOGIN PASSWORD 'x'; CREATE ROLE grace LOGIN PASSWORD 'x'; GRANT ada TO grace").await;
    let ada = server.connect("ada", "x").await.unwrap();
    let grace = server.connect("grace", "x").await.unwrap();
    assert_eq!(outcome(&grace, "SET ROLE ada").await, "ok");
    sql("DROP ROLE ada").await;
    assert_eq!(server.login("ada", "x").await, "28P01");
    for text in ["SELECT 1", "SELECT current_user", "CREATE TABLE t (a INTEGER)"] {
        assert_eq!(outcome(&ada, text).await, "28000", "{text}");
    }
    assert_eq!(outcome(&grace, "SELECT 1").await, "28000");
    // A new role has another number, so that neither of them becomes it.
    sql("CREATE ROLE boss SUPERUSER LOGIN PASSWORD 'x'").await;
    for client in [&ada, &grace] {
        assert_eq!(outcome(client, "CREATE ROLE mine SUPERUSER").await, "28000");
    }
    sql("CREATE ROLE ada LOGIN PASSWORD 'x'").await;
    assert_eq!(outcome(&ada, "SELECT 1").await, "28000");
    assert_eq!(server.login("ada", "x").await, "in");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_roles_hold() {
    let server = start();
    let owner = server.superuser().await;
    let sql = async |text: &str| owner.batch_execute(text).await.unwrap();
    sql("CREATE ROLE ada LOGIN PASSWORD 'x' CONNECTION LIMIT 2").await;
    let first = server.connect("ada", "x").await.unwrap();
    let _second = server.connect("ada", "x").await.unwrap();
    assert_eq!(server.login("ada", "x").await, "53300");
    drop(first);
    server.until_connections(2).await;
    assert_eq!(server.login("ada", "x").await, "in");
    // Time and memory of a statement, which no setting of the role's own raises.
    sql("CREATE ROLE grace LOGIN PASSWORD 'x' TIME LIMIT '200ms' MEMORY LIMIT '16MB'").await;
    let grace = server.connect("grace", "x").await.unwrap();
    assert_eq!(outcome(&grace, "SET statement_timeout = '1h'; SET query_memory = '1GB'").await, "ok");
    let long = "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000)";
    assert_eq!(outcome(&grace, long).await, "57014");
    let wide = "SELECT string_agg(repeat('x', 1000), '') FROM generate_series(1, 100000)";
    let ended = outcome(&grace, wide).await;
    // On a crowded machine its time may be over before its memory is.
    assert!(ended == "53200" || ended == "57014", "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_told_once_for_a_database_on_disk() {
    let folder = std::env::temp_dir().join(format!("quickstep-server-roles-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let open = || Database::open(folder.to_str(), options()).unwrap();
    let (first, told) = start_over(open());
    assert!(told);
    let password = first.password.clone();
    assert_eq!(first.login("quickstep", &password).await, "in");
    first.until_connections(0).await;
    let ended = first.database.downgrade();
    let Running { handle, database, .. } = first;
    tokio::task::spawn_blocking(move || drop((handle, database))).await.unwrap();
    while !ended.is_gone() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (second, told) = start_over(open());
    assert!(!told, "it is told once");
    assert_eq!(second.login("quickstep", &password).await, "in");
    assert_eq!(second.login("quickstep", "").await, "28P01");
    drop(second);
    let _ = std::fs::remove_dir_all(&folder);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_begin_with_what_role_host_and_client_say() {
    let server = start();
    let owner = server.superuser().await;
    owner
        .batch_execute("CREATE ROLE ada LOGIN PASSWORD 'x'; ALTER ROLE ada SET timezone = 'Asia/Tokyo'")
        .await
        .unwrap();
    let ada = server.connect("ada", "x").await.unwrap();
    let shown = async |client: &Client, name: &str| {
        let row = client.query_one(&format!("SHOW {name}"), &[]).await.unwrap();
        row.get::<_, String>(0)
    };
    assert_eq!(shown(&ada, "timezone").await, "Asia/Tokyo");
    assert_eq!(shown(&ada, "default_schema_name").await, "public");
    assert_eq!(shown(&ada, "is_superuser").await, "off");
    assert_eq!(shown(&owner, "is_superuser").await, "on");
    ada.batch_execute("SET timezone = 'UTC'; SET default_schema_name = 'main'; DISCARD ALL")
        .await
        .unwrap_err();
    ada.batch_execute("SET timezone = 'UTC'; SET default_schema_name = 'main'").await.unwrap();
    assert_eq!(shown(&ada, "default_schema_name").await, "main");
    ada.batch_execute("DISCARD ALL").await.unwrap();
    assert_eq!(shown(&ada, "timezone").await, "Asia/Tokyo");
    assert_eq!(shown(&ada, "default_schema_name").await, "public");
    let mut config = tokio_postgres::Config::new();
    config.host("127.0.0.1").port(server.handle.port()).user("ada").password("x").dbname("postgres");
    config.options("-c timezone=UTC").application_name("mine");
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("SET application_name = 'other'").await.unwrap();
    client.batch_execute("RESET ALL").await.unwrap();
    assert_eq!(shown(&client, "timezone").await, "UTC");
    assert_eq!(shown(&client, "application_name").await, "mine");
}

/// The process that a client's statements run in, as other sessions see it.
async fn process(client: &Client) -> i32 {
    client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_shown_to_whom_they_concern() {
    let server = start();
    let owner = server.superuser().await;
    owner
        .batch_execute(
            "CREATE ROLE ada LOGIN PASSWORD 'x'; CREATE ROLE grace LOGIN PASSWORD 'x';
             CREATE ROLE watcher LOGIN PASSWORD 'x'; GRANT pg_monitor TO watcher",
        )
        .await
        .unwrap();
    let [ada, grace, watcher] = [
        server.connect("ada", "x").await.unwrap(),
        server.connect("grace", "x").await.unwrap(),
        server.connect("watcher", "x").await.unwrap(),
    ];
    ada.batch_execute("SET application_name = 'reports'; BEGIN; SELECT 'of ada'").await.unwrap();
    let of = async |client: &Client, pid: i32| {
        let text = format!(
            "SELECT usename::text, application_name, state, query, host(client_addr), backend_start IS NULL,
                    xact_start IS NULL FROM pg_stat_activity WHERE pid = {pid}"
        );
        let text = text.replace("host(client_addr)", "client_addr::text");
        let row = client.query_one(&text, &[]).await.unwrap();
        let text = |at: usize| row.get::<_, Option<String>>(at).unwrap_or_else(|| "-".to_owned());
        ([0, 1, 2, 3, 4].map(text), row.get::<_, bool>(5), row.get::<_, bool>(6))
    };
    let pid = process(&ada).await;
    let full = ["ada", "reports", "idle in transaction", "SELECT pg_backend_pid()", "127.0.0.1"];
    let full = (full.map(str::to_owned), false, false);
    assert_eq!(of(&owner, pid).await, full);
    assert_eq!(of(&watcher, pid).await, full);
    let little = ["ada", "reports", "-", "<insufficient privilege>", "-"].map(str::to_owned);
    assert_eq!(of(&grace, pid).await, (little, true, true));
    // What a session does itself is active.
    let row = grace
        .query_one(
            "SELECT state, query LIKE '%pg_stat%' FROM pg_stat_activity WHERE pid = pg_backend_pid()",
            &[],
        )
        .await
        .unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, bool>(1)), ("active", true));
    let locks: i64 = owner
        .query_one(&format!("SELECT count(*) FROM pg_locks WHERE pid = {pid} AND granted"), &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(locks, 1);
    drop(ada);
    server.until_connections(3).await;
    let count: i64 = owner
        .query_one("SELECT count(*) FROM pg_stat_activity WHERE usename = 'ada'", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(count, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_cancelled_and_ended_by_whom_may() {
    const LONG: &str =
        "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000)";
    let server = start();
    let owner = server.superuser().await;
    owner
        .batch_execute(
            "CREATE ROLE ada LOGIN PASSWORD 'x'; CREATE ROLE grace LOGIN PASSWORD 'x';
             CREATE ROLE warden LOGIN PASSWORD 'x'; GRANT pg_signal_backend TO warden",
        )
        .await
        .unwrap();
    let ada = Arc::new(server.connect("ada", "x").await.unwrap());
    let grace = server.connect("grace", "x").await.unwrap();
    let warden = server.connect("warden", "x").await.unwrap();
    let (pid, owners) = (process(&ada).await, process(&owner).await);
    for name in ["pg_cancel_backend", "pg_terminate_backend"] {
        assert_eq!(outcome(&grace, &format!("SELECT {name}({pid})")).await, "42501", "{name}");
        for client in [&grace, &warden] {
            assert_eq!(outcome(client, &format!("SELECT {name}({owners})")).await, "42501", "{name}");
        }
        let none = warden.query_one(&format!("SELECT {name}(2000000000)"), &[]).await.unwrap();
        assert!(!none.get::<_, bool>(0));
    }
    let busy = {
        let ada = ada.clone();
        tokio::spawn(async move { outcome(&ada, LONG).await })
    };
    let began = Instant::now();
    loop {
        let row =
            owner.query_one(&format!("SELECT state FROM pg_stat_activity WHERE pid = {pid}"), &[]).await;
        if row.unwrap().get::<_, &str>(0) == "active" {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(outcome(&warden, &format!("SELECT pg_cancel_backend({pid})")).await, "ok");
    assert_eq!(busy.await.unwrap(), "57014");
    assert_eq!(outcome(&ada, "SELECT 1").await, "ok", "the session goes on");
    assert_eq!(outcome(&owner, &format!("SELECT pg_terminate_backend({pid})")).await, "ok");
    server.until_connections(3).await;
    assert!(ada.batch_execute("SELECT 1").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_compared_as_they_are_given() {
    let server = start();
    let owner = server.superuser().await;
    owner
        .batch_execute("CREATE TABLE p (price DECIMAL(12, 2)); INSERT INTO p VALUES (1.00), (1.01)")
        .await
        .unwrap();
    let count = async |text: &str, number: &'static str| -> i64 {
        let text = text.replace("$1", "$1::numeric");
        let statement = owner.prepare_typed(&text, &[tokio_postgres::types::Type::NUMERIC]).await.unwrap();
        owner.query_one(&statement, &[&Numeric(number)]).await.unwrap().get(0)
    };
    assert_eq!(count("SELECT count(*) FROM p WHERE price = $1", "1.01").await, 1);
    // Rounded to the column's two digits it would find a row.
    assert_eq!(count("SELECT count(*) FROM p WHERE price = $1", "1.005").await, 0);
    assert_eq!(count("SELECT count(*) FROM p WHERE price > $1", "1.005").await, 1);
    assert_eq!(count("SELECT count(*) FROM p WHERE price < $1", "12345678901234567890.5").await, 2);
}

/// A number as NUMERIC, in binary.
#[derive(Debug)]
struct Numeric(&'static str);

impl tokio_postgres::types::ToSql for Numeric {
    fn to_sql(
        &self,
        _: &tokio_postgres::types::Type,
        out: &mut tokio_postgres::types::private::BytesMut,
    ) -> Result<tokio_postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let (whole, fraction) = self.0.split_once('.').unwrap_or((self.0, ""));
        let whole = format!("{whole:0>width$}", width = whole.len().div_ceil(4) * 4);
        let scale = fraction.len() as u16;
        let fraction = format!("{fraction:0<width$}", width = fraction.len().div_ceil(4) * 4);
        let digits: Vec<u16> = (whole.clone() + &fraction)
            .as_bytes()
            .chunks(4)
            .map(|four| std::str::from_utf8(four).unwrap().parse().unwrap())
            .collect();
        let head = [digits.len() as u16, (whole.len() / 4 - 1) as u16, 0, scale];
        head.into_iter().chain(digits).for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
        Ok(tokio_postgres::types::IsNull::No)
    }
    fn accepts(ty: &tokio_postgres::types::Type) -> bool {
        *ty == tokio_postgres::types::Type::NUMERIC
    }
    tokio_postgres::types::to_sql_checked!();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_tells_who_came_changed_and_was_refused() {
    let path = std::env::temp_dir().join(format!("quickstep-audit-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let database = Database::in_memory(options()).unwrap();
    let log = path.to_string_lossy().into_owned();
    let (server, _) = start_with(database, |config| config.audit_log = Some(log));
    let owner = server.superuser().await;
    owner
        .batch_execute("CREATE ROLE ada LOGIN PASSWORD 'very secret'; CREATE TABLE t (a INTEGER)")
        .await
        .unwrap();
    let ada = server.connect("ada", "very secret").await.unwrap();
    assert_eq!(outcome(&ada, "SELECT * FROM t").await, "42501");
    assert_eq!(outcome(&ada, "DROP TABLE t").await, "42501");
    assert_eq!(server.login("ada", "guess").await, "28P01");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("very secret") && text.contains("CREATE ROLE ada"), "{text}");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = |event: &str, role: &str, code: Option<&str>, statement: &str| {
        lines.iter().any(|line| {
            line["event"] == event
                && line["session_role"] == role
                && line["code"].as_str() == code
                && line["statement"].as_str().unwrap_or_default().contains(statement)
                && line["at"].as_str().is_some_and(|at| at.starts_with("20"))
        })
    };
    assert!(found("login", "quickstep", None, "") && found("login", "ada", None, ""), "{text}");
    assert!(found("statement", "quickstep", None, "CREATE TABLE t"), "{text}");
    assert!(found("statement", "ada", Some("42501"), "DROP TABLE t"), "{text}");
    assert!(found("denied", "ada", Some("42501"), "SELECT * FROM t"), "{text}");
    assert!(found("login_failed", "ada", Some("28P01"), ""), "{text}");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let _ = std::fs::remove_file(&path);
}

#[tokio::test(flavor = "multi_thread")]
async fn catalogs_tell_what_each_role_may() {
    let server = start();
    let owner = server.superuser().await;
    owner
        .batch_execute(
            "CREATE TABLE orders (id INTEGER, secret TEXT); CREATE SEQUENCE numbers; CREATE SCHEMA hidden;
             CREATE ROLE team; CREATE ROLE ada LOGIN PASSWORD 'x' CONNECTION LIMIT 3; GRANT team TO ada WITH ADMIN OPTION;
             GRANT SELECT (id) ON orders TO ada; GRANT INSERT ON orders TO team WITH GRANT OPTION;
             GRANT USAGE ON SEQUENCE numbers TO team",
        )
        .await
        .unwrap();
    let ada = server.connect("ada", "x").await.unwrap();
    let truth = async |client: &Client, text: &str| -> Option<bool> {
        client.query_one(&format!("SELECT {text}"), &[]).await.unwrap().get(0)
    };
    for (text, by_ada, by_owner) in [
        ("has_table_privilege('orders', 'SELECT')", false, true),
        ("has_table_privilege('orders', 'INSERT')", true, true),
        ("has_table_privilege('orders', 'DELETE, INSERT')", true, true),
        ("has_table_privilege('orders', 'INSERT WITH GRANT OPTION')", true, true),
        ("has_table_privilege('orders', 'UPDATE WITH GRANT OPTION')", false, true),
        ("has_table_privilege('pg_class', 'SELECT')", true, true),
        ("has_table_privilege('pg_class', 'DELETE')", false, true),
        ("has_any_column_privilege('orders', 'SELECT')", true, true),
        ("has_column_privilege('orders', 'id', 'SELECT')", true, true),
        ("has_column_privilege('orders', 'secret', 'SELECT')", false, true),
        ("has_sequence_privilege('numbers', 'USAGE')", true, true),
        ("has_sequence_privilege('numbers', 'UPDATE')", false, true),
        ("has_schema_privilege('hidden', 'USAGE')", false, true),
        ("has_schema_privilege('pg_catalog', 'USAGE')", true, true),
        ("has_database_privilege('postgres', 'CREATE')", false, true),
        ("has_database_privilege('postgres', 'CONNECT')", true, true),
        ("pg_has_role('team', 'MEMBER')", true, true),
        ("pg_has_role('quickstep', 'USAGE')", false, true),
        ("pg_has_role('ada', 'team', 'USAGE WITH ADMIN OPTION')", true, true),
    ] {
        assert_eq!(
            (truth(&ada, text).await, truth(&owner, text).await),
            (Some(by_ada), Some(by_owner)),
            "{text}"
        );
    }
    assert_eq!(truth(&owner, "has_table_privilege('ada', 'orders', 'SELECT')").await, Some(false));
    for (text, code) in [
        ("SELECT has_table_privilege('orders', 'FLY')", "22023"),
        ("SELECT has_table_privilege('nobody', 'orders', 'SELECT')", "42704"),
        ("SELECT has_table_privilege('nothing', 'SELECT')", "42P01"),
        ("SELECT * FROM pg_authid", "42501"),
        ("SELECT * FROM pg_shadow", "42501"),
        ("SELECT * FROM numbers", "42501"),
    ] {
        assert_eq!(outcome(&ada, text).await, code, "{text}");
    }
    let shown = async |client: &Client, text: &str| -> Vec<String> {
        let rows = client.query(text, &[]).await.unwrap();
        rows.iter().map(|row| row.get::<_, Option<String>>(0).unwrap_or_else(|| "-".to_owned())).collect()
    };
    assert_eq!(
        shown(&ada, "SELECT rolname || ' ' || rolcanlogin || ' ' || rolconnlimit FROM pg_roles WHERE oid >= 16384 ORDER BY 1").await,
        ["ada true 3", "team false -1"]
    );
    let members = "SELECT pg_get_userbyid(member) || ' in ' || pg_get_userbyid(roleid) || ' ' || admin_option
                   FROM pg_auth_members WHERE roleid >= 16384";
    assert_eq!(shown(&ada, members).await, ["ada in team true"]);
    assert_eq!(
        shown(&owner, "SELECT array_to_string(relacl, ' ') FROM pg_class WHERE relname = 'orders'").await,
        ["quickstep=arwdDx/quickstep team=a*/quickstep"]
    );
    let grants = "SELECT grantee || ' ' || privilege_type || ' ' || is_grantable FROM information_schema.role_table_grants
                  WHERE table_name = 'orders' ORDER BY 1";
    assert_eq!(shown(&ada, grants).await, ["team INSERT YES"]);
    assert_eq!(shown(&owner, grants).await.len(), 7);
    let types = "SELECT udt_name FROM information_schema.columns WHERE table_name = 'orders' ORDER BY ordinal_position";
    assert_eq!(shown(&owner, types).await, ["int4", "text"]);
    assert_eq!(shown(&owner, "SELECT last_value || ' ' || is_called FROM numbers").await, ["1 false"]);
    owner
        .batch_execute(
            "SELECT nextval('numbers'); PREPARE p AS SELECT 1; BEGIN; DECLARE c CURSOR FOR SELECT 2",
        )
        .await
        .unwrap();
    assert_eq!(shown(&owner, "SELECT last_value || ' ' || is_called FROM numbers").await, ["1 true"]);
    assert_eq!(
        shown(&owner, "SELECT statement FROM pg_prepared_statements WHERE name = 'p'").await,
        ["SELECT 1"]
    );
    assert_eq!(shown(&owner, "SELECT name FROM pg_cursors").await, ["c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn set_config_holds_from_the_statements_end() {
    let server = start();
    let owner = server.superuser().await;
    let shown =
        async |name: &str| -> String { owner.query_one(&format!("SHOW {name}"), &[]).await.unwrap().get(0) };
    let row = owner.query_one("SELECT set_config('application_name', 'mine', false)", &[]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), "mine");
    assert_eq!(shown("application_name").await, "mine");
    // An error takes it back, as does the end of a transaction that it is local to.
    assert_eq!(outcome(&owner, "SELECT set_config('application_name', 'lost', false), 1 / 0").await, "22012");
    assert_eq!(shown("application_name").await, "mine");
    owner.batch_execute("BEGIN; SELECT set_config('application_name', 'passing', true)").await.unwrap();
    assert_eq!(shown("application_name").await, "passing");
    owner.batch_execute("COMMIT").await.unwrap();
    assert_eq!(shown("application_name").await, "mine");
    for (text, code) in [
        ("SELECT set_config('client_encoding', 'LATIN1', false)", "22023"),
        ("SELECT set_config('no_such_setting', 'x', false)", "42704"),
        ("SELECT set_config('server_version', '16', false)", "55P02"),
        ("SELECT set_config(NULL, 'x', false)", "22004"),
        ("SELECT set_config('workers', '1', false)", "0A000"),
    ] {
        assert_eq!(outcome(&owner, text).await, code, "{text}");
    }
    let named = "SELECT current_setting(name) FROM (VALUES ('application_name')) AS t(name)";
    let row = owner.query_one(named, &[]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), "mine");
    let row = owner.query_one("SELECT current_setting('nothing', true) IS NULL", &[]).await.unwrap();
    assert!(row.get::<_, bool>(0));
}
