//! CREATE SECRET against a server of our own on this machine that verifies signatures: which secret is taken, where
//! persistent ones lie, and that no value is ever shown.

#[allow(dead_code)]
mod object_server;

use std::path::PathBuf;

use engine::{Database, Options, Session};
use object_server::{KEY, SECRET, Server};
use types::SqlState;

/// A server, and a session of a database with secrets and a folder of its own.
struct Place {
    server: Server,
    address: String,
    folder: PathBuf,
    session: Session,
}

fn session() -> Session {
    let options = Options { workers: Some(2), memory_bytes: None, ..Default::default() };
    Database::in_memory(options).expect("a database").session()
}

impl Place {
    fn new(name: &str) -> Place {
        let (server, address) = Server::start();
        let folder = std::env::temp_dir().join(format!("quickstep-secrets-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let place = Place { server, address, folder, session: session() };
        place.run(&format!("SET secret_directory = '{}'", place.folder.display()));
        place.run("SET http_timeout = 20");
        for name in ["a", "b", "c"] {
            let file = format!("x,name\n1,{name}\n");
            for bucket in ["private", "private/dir", "other", "account/private", "guarded"] {
                place.server.put(&format!("{bucket}/{name}.csv"), file.as_bytes());
            }
        }
        place
    }

    fn run(&self, sql: &str) {
        self.session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }

    fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let result = self.session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let width = result.schema().len();
        let text = |row, column| {
            result
                .value(row, column)
                .as_text()
                .map_or_else(|| format!("{:?}", result.value(row, column)), str::to_owned)
        };
        (0..result.rows()).map(|row| (0..width).map(|column| text(row, column)).collect()).collect()
    }

    fn error(&self, sql: &str) -> types::Error {
        self.session.query(sql).map(|_| ()).expect_err(sql)
    }

    fn endpoint(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    /// A secret with the server's keys, or others.
    fn keys(&self, key: &str, secret: &str) -> String {
        format!(
            "KEY_ID '{key}', SECRET '{secret}', REGION 'eu-north-1', ENDPOINT '{}', USE_SSL false, URL_STYLE 'path'",
            self.endpoint()
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_secret_says_how_a_bucket_is_reached() {
    let place = Place::new("reached");
    place.run(&format!("CREATE SECRET depot (TYPE s3, {})", place.keys(KEY, SECRET)));
    assert_eq!(place.rows("SELECT name FROM 's3://private/a.csv'"), [["a"]]);
    assert_eq!(place.rows("SELECT name FROM 's3://private/*.csv' ORDER BY name"), [["a"], ["b"], ["c"]]);
    place.run("COPY (SELECT 7 AS x) TO 's3://private/new.parquet'");
    assert_eq!(place.rows("SELECT CAST(x AS TEXT) FROM 's3://private/new.parquet'"), [["7"]]);
    // All sessions of the database have it, and no other database's.
    let another = place.session.database().session();
    assert!(another.query("SELECT name FROM 's3://private/a.csv'").is_ok());
    assert_eq!(session().query("SELECT name FROM quickstep_secrets WHERE name = 'depot'").unwrap().rows(), 0);
    // A replaced one is another one at once.
    place.run(&format!("CREATE OR REPLACE SECRET depot (TYPE s3, {})", place.keys(KEY, "wrong")));
    let refused = place.error("SELECT name FROM 's3://private/a.csv'");
    assert!(refused.message().contains("access is denied"), "{refused}");
    // Parameters are values as good as any.
    place
        .session
        .query_with(
            &format!(
                "CREATE OR REPLACE SECRET depot (TYPE s3, KEY_ID ?, SECRET ?, ENDPOINT '{}', USE_SSL false)",
                place.endpoint()
            ),
            &[KEY, SECRET].map(|text| (types::Value::text(text), types::Type::Text)),
        )
        .expect("parameters");
    assert_eq!(place.rows("SELECT name FROM 's3://private/b.csv'"), [["b"]]);
    // Google's interface that takes the same keys.
    place.run(&format!(
        "CREATE SECRET google (TYPE gcs, KEY_ID '{KEY}', SECRET '{SECRET}', ENDPOINT '{}')",
        place.address
    ));
    assert_eq!(place.rows("SELECT name FROM 'gs://private/a.csv'"), [["a"]]);
    place.run(&format!(
        "CREATE SECRET blue (TYPE azure, CONNECTION_STRING 'AccountName=account;AccountKey=a2V5;BlobEndpoint={}/account')",
        place.address
    ));
    assert_eq!(place.rows("SELECT name FROM 'az://private/c.csv'"), [["c"]]);
}

#[test]
fn a_token_goes_to_its_web_server_only() {
    let place = Place::new("token");
    let (url, address) = (format!("{}/guarded/a.csv", place.address), &place.address);
    assert!(place.session.query(&format!("SELECT name FROM '{url}'")).is_err());
    place.run(&format!("CREATE SECRET web (TYPE http, BEARER_TOKEN 'pass-word', SCOPE '{address}/guarded')"));
    assert_eq!(place.rows(&format!("SELECT name FROM '{url}'")), [["a"]]);
    place.run(&format!(
        "CREATE OR REPLACE SECRET web (TYPE http, BEARER_TOKEN 'pass-word', SCOPE '{address}/guard')"
    ));
    assert!(place.session.query(&format!("SELECT name FROM '{url}'")).is_err());
}

#[test]
fn the_longest_scope_wins() {
    let place = Place::new("scopes");
    let which = |address: &str| -> Vec<String> {
        place.rows(&format!("SELECT name FROM which_secret('{address}')")).concat()
    };
    assert_eq!(which("s3://private/a.csv"), [""; 0]);
    place.run(&format!("CREATE SECRET everywhere (TYPE s3, {})", place.keys(KEY, "wrong")));
    place.run(&format!("CREATE SECRET bucket (TYPE s3, SCOPE 's3://private', {})", place.keys(KEY, SECRET)));
    place.run(&format!(
        "CREATE SECRET part (TYPE s3, SCOPE ['s3://private/dir', 's3://elsewhere/'], {})",
        place.keys("nobody", SECRET)
    ));
    for (address, name) in [
        ("s3://private/a.csv", "bucket"),
        ("s3a://private/a.csv", "bucket"),
        ("s3://private", "bucket"),
        ("s3://private2/a.csv", "everywhere"),
        ("s3://private/dir/a.csv", "part"),
        ("s3://private/dir2/a.csv", "bucket"),
        ("s3://elsewhere/x", "part"),
    ] {
        assert_eq!(which(address), [name], "{address}");
    }
    assert_eq!(which("gs://private/a.csv"), [""; 0]);
    assert_eq!(
        place.rows("FROM which_secret('s3://private/x', 's3')"),
        [["bucket", "Bool(false)", "s3://private"]]
    );
    // And it is what is taken: one bucket, several keys.
    assert_eq!(place.rows("SELECT name FROM 's3://private/a.csv'"), [["a"]]);
    let refused = |from: &str| {
        place.error(&format!("SELECT name FROM '{from}'")).message().contains("access is denied")
    };
    assert!(refused("s3://private/dir/a.csv"));
    assert!(refused("s3://other/a.csv"));
    assert_eq!(place.rows("SELECT name FROM 's3://private/b.csv'"), [["b"]]);
    place.run("DROP SECRET part");
    assert_eq!(place.rows("SELECT name FROM 's3://private/dir/a.csv'"), [["a"]]);
    // A secret speaks for its addresses alone: settings do not mend it.
    place.run(&format!("SET s3_secret_access_key = '{SECRET}'"));
    assert!(refused("s3://other/a.csv"));
    place.run("RESET s3_secret_access_key");
}

#[test]
fn statements_and_their_mistakes() {
    let place = Place::new("statements");
    place.run("CREATE SECRET depot (TYPE s3, KEY_ID 'AKIA', SECRET 'hunter2', REGION 'eu-north-1')");
    let state = |sql: &str| place.error(sql).state();
    assert_eq!(state("CREATE SECRET depot (TYPE s3)"), SqlState::DuplicateObject);
    place.run("CREATE SECRET IF NOT EXISTS depot (TYPE s3, REGION 'nowhere')");
    let options = || place.rows("SELECT options FROM quickstep_secrets WHERE name = 'depot'").concat();
    assert_eq!(options(), ["key_id=redacted;region=eu-north-1;secret=redacted"]);
    place.run(
        "CREATE OR REPLACE TEMPORARY SECRET depot (TYPE s3, REGION 'us-east-1', PROVIDER credential_chain)",
    );
    assert_eq!(options(), ["region=us-east-1"]);
    // Without a name it has its type's.
    place.run("CREATE SECRET (TYPE gcs)");
    assert_eq!(
        place.rows("SELECT name, type, provider, CAST(persistent AS TEXT), scope FROM quickstep_secrets ORDER BY name"),
        [["default_gcs", "gcs", "config", "false", "gs://"], ["depot", "s3", "credential_chain", "false", "s3://"]]
    );
    assert_eq!(state("CREATE SECRET other (TYPE s3, KEYID 'x')"), SqlState::InvalidParameterValue);
    assert_eq!(state("CREATE SECRET other (TYPE huggingface, TOKEN 'x')"), SqlState::FeatureNotSupported);
    assert_eq!(state("CREATE SECRET other (TYPE)"), SqlState::SyntaxError);
    assert_eq!(state("DROP PERSISTENT SECRET depot"), SqlState::UndefinedObject);
    assert_eq!(state("FROM which_secret()"), SqlState::UndefinedFunction);
    place.run("DROP TEMPORARY SECRET depot");
    assert_eq!(state("DROP SECRET depot"), SqlState::UndefinedObject);
    place.run("DROP SECRET IF EXISTS depot");
    // They are no part of the database: one that cannot be changed takes them, and a rollback does not undo them.
    place.run("BEGIN");
    place.run("CREATE SECRET depot (TYPE s3)");
    place.run("ROLLBACK");
    assert_eq!(place.rows("SELECT name FROM which_secret('s3://x/y')"), [["depot"]]);
}

#[test]
fn no_value_is_shown_anywhere() {
    let place = Place::new("shown");
    let statements = [
        format!("CREATE SECRET depot (TYPE s3, {})", place.keys("hunter1", "hunter2")),
        "CREATE SECRET depot (TYPE s3, KEY_ID 'hunter1', SECRET 'hunter2')".to_owned(),
        "CREATE SECRET x (TYPE s3, SECRET 'hunter2', SECRET 'hunter2')".to_owned(),
        "CREATE SECRET x (TYPE s3, KEY_ID 'hunter1', SECRET 'hunter2' oops)".to_owned(),
        "CREATE SECRET x (TYPE s3, KEY_ID 'hunter1', SECRET 'hunter2".to_owned(),
        "CREATE SECRET x (TYPE http, BEARER_TOKEN 'hunter2\n')".to_owned(),
        "EXPLAIN CREATE SECRET x (TYPE s3, SECRET 'hunter2')".to_owned(),
        "CALL create_secret('error', 'temporary', 'x', 'type', 's3', 'secret', 'hunter2')".to_owned(),
        "SELECT name FROM 's3://private/a.csv'".to_owned(),
        "PREPARE p AS CREATE SECRET x (TYPE s3, KEY_ID 'hunter1', SECRET 'hunter2')".to_owned(),
    ];
    for statement in &statements {
        if let Err(error) = place.session.query(statement) {
            let told = format!("{error:?}\n{error}\n{}", error.render(&engine::masked(statement)));
            assert!(!told.contains("hunter"), "{statement}: {told}");
        }
    }
    for listing in [
        "FROM quickstep_secrets",
        "FROM which_secret('s3://private/a')",
        "FROM quickstep_workload",
        "FROM quickstep_settings",
        "FROM quickstep_queries",
    ] {
        assert!(!format!("{:?}", place.rows(listing)).contains("hunter"), "{listing}");
    }
    // What others see of a statement while it runs, whatever stands around it in its script.
    let script = "CREATE OR REPLACE SECRET depot (TYPE s3, KEY_ID 'hunter1', SECRET 'hunter2'); \
                  SELECT query FROM quickstep_queries WHERE query LIKE '%quickstep_queries%'";
    let seen = place.session.execute(script).expect("a script");
    let seen = seen.last().map(|result| result.value(0, 0)).expect("a result");
    let seen = seen.as_text().unwrap_or_default();
    assert!(seen.contains("quickstep_queries") && !seen.contains("hunter"), "{seen}");
}

#[cfg(unix)]
#[test]
fn persistent_secrets_lie_in_files_of_the_user() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("persistent");
    place.run(&format!(
        "CREATE PERSISTENT SECRET \"De pot\" (TYPE s3, SCOPE 's3://private', {})",
        place.keys(KEY, SECRET)
    ));
    place.run("CREATE PERSISTENT SECRET other (TYPE s3, REGION 'x')");
    let file = place.folder.join("%44e%20pot.json");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&place.folder)), (0o600, 0o700));
    assert_eq!(std::fs::read_dir(&place.folder).expect("a folder").count(), 2);
    // As after a start of the process: from another folder, and back.
    let again = || {
        place.run("SET secret_directory = '/no/such/folder'");
        assert_eq!(place.rows("SELECT name FROM quickstep_secrets"), [[""; 1]; 0]);
        place.run(&format!("SET secret_directory = '{}'", place.folder.display()));
    };
    again();
    assert_eq!(
        place.rows("SELECT name FROM quickstep_secrets WHERE persistent ORDER BY name"),
        [["De pot"], ["other"]]
    );
    assert_eq!(place.rows("SELECT name FROM 's3://private/a.csv'"), [["a"]]);
    // A temporary one does not take its place; a persistent one does, in the file too.
    let error = place.error("CREATE OR REPLACE SECRET other (TYPE s3)");
    assert_eq!(error.state(), SqlState::DuplicateObject);
    place.run("CREATE OR REPLACE PERSISTENT SECRET other (TYPE s3, REGION 'y')");
    again();
    assert_eq!(place.rows("SELECT options FROM quickstep_secrets WHERE name = 'other'"), [["region=y"]]);
    place.run("DROP SECRET other");
    again();
    assert_eq!(place.rows("SELECT name FROM quickstep_secrets"), [["De pot"]]);
    // Files that others may read, or that are damaged, are refused by name and without what is in them.
    let set = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("a mode");
    place.run("SET secret_directory = '/no/such/folder'");
    place.rows("FROM quickstep_secrets");
    place.run(&format!("SET secret_directory = '{}'", place.folder.display()));
    set(0o644);
    let error = place.error("SELECT name FROM 's3://private/a.csv'");
    assert_eq!(error.state(), SqlState::InsufficientPrivilege);
    assert!(error.hint().is_some_and(|hint| hint.starts_with("chmod 600")), "{error}");
    set(0o600);
    let whole = std::fs::read(&file).expect("bytes");
    std::fs::write(&file, &whole[..whole.len() - 3]).expect("cut");
    let error = place.error("SELECT name FROM 's3://private/a.csv'");
    assert_eq!(error.state(), SqlState::DataCorrupted);
    assert!(error.message().contains("%44e%20pot.json") && !format!("{error:?}").contains(SECRET), "{error}");
    std::fs::write(&file, &whole).expect("whole again");
    assert_eq!(place.rows("SELECT name FROM 's3://private/a.csv'"), [["a"]]);
}
