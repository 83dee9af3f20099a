//! Without a capability nothing is opened: each function that takes an environment says so.

use files::Capability;
use plan::file::Encoding;
use types::{Field, Result, Schema, SqlState, Type};

use super::Scratch;
use crate::input::Input;
use crate::remote::{self, Conflict, RemoteFile, RemoteFiles, Stores, Upload};
use crate::write::{WriteOptions, write_to};
use crate::{Environment, listing};

/// What has to be refused, by name.
type Opening = (&'static str, Box<dyn Fn(&Environment, &str) -> Result<()>>);

fn of_files() -> Vec<Opening> {
    let columns = || Schema::new(vec![Field::new("a", Type::BigInt, true)]);
    vec![
        ("describe", Box::new(|e, path| crate::describe(e, path, &[]).map(drop))),
        ("describe_as", Box::new(move |e, path| crate::describe_as(e, path, &[], &columns()).map(drop))),
        ("report", Box::new(|e, path| crate::report(e, path, &[]).map(drop))),
        ("glob", Box::new(|e, path| crate::glob(e, &[path.to_owned()]).map(drop))),
        ("files_of", Box::new(|e, path| crate::files_of(e, &[path.to_owned()]).map(drop))),
        ("listing", Box::new(|e, path| listing::rows(e, "parquet_schema", &[path.to_owned()]).map(drop))),
        ("Input::open", Box::new(|e, path| Input::open(e, path).map(drop))),
        ("Input::open_text", Box::new(|e, path| Input::open_text(e, path, Encoding::Utf8).map(drop))),
        (
            "write_to",
            Box::new(move |e, path| {
                let options = WriteOptions::parse("x.csv", &[])?;
                write_to(e, path, &columns(), &mut || Ok(None), &options, 1, &|| Ok(())).map(drop)
            }),
        ),
    ]
}

fn of_addresses() -> Vec<Opening> {
    vec![
        ("RemoteFile::open", Box::new(|e, url| RemoteFile::open(e, url).map(drop))),
        ("RemoteFiles::new", Box::new(|e, url| RemoteFiles::new(e, url).map(drop))),
        ("Upload::begin", Box::new(|e, url| Upload::begin(e, url).map(drop))),
        ("list", Box::new(|e, url| remote::list(e, &format!("{url}/*")).map(drop))),
        ("exists_below", Box::new(|e, url| remote::exists_below(e, url).map(drop))),
    ]
}

fn of_secrets() -> Vec<Opening> {
    let options = || vec![("type".to_owned(), "s3".to_owned())];
    vec![
        (
            "create_secret",
            Box::new(move |e, name| {
                remote::create_secret(e, Conflict::Replace, false, name, &options()).map(drop)
            }),
        ),
        ("drop_secret", Box::new(|e, name| remote::drop_secret(e, name, true, None))),
        ("secrets", Box::new(|e, _| remote::secrets(e).map(drop))),
        ("which_secret", Box::new(|e, _| remote::which_secret(e, "s3://bucket/x").map(drop))),
        ("set", Box::new(|e, _| e.stores().set(e.capability(), "s3_secret_access_key", "x"))),
    ]
}

fn refused(openings: &[Opening], environment: &Environment, name: &str) {
    for (opening, open) in openings {
        let state = open(environment, name).err().map(|error| error.state());
        assert_eq!(state, Some(SqlState::InsufficientPrivilege), "{opening} of {name}");
    }
}

#[test]
fn nothing_is_opened_without_a_capability() {
    let nothing = Environment::new(Capability::nothing(), Stores::new());
    let (file, written) = (Scratch::new("x.csv", b"a\n1\n"), Scratch::new("written.csv", b""));
    let address = "s3://bucket/folder/x.csv";
    refused(&of_files(), &nothing, file.path());
    refused(&of_files(), &nothing, "/no/such/folder/x.csv");
    refused(&of_files(), &nothing, address);
    refused(&of_addresses(), &nothing, address);
    refused(&of_secrets(), &nothing, "depot");
    // Each kind alone says nothing of the others.
    let others = Capability::nothing().with_secrets().with_streams().with_addresses_below([address]);
    refused(&of_files(), &nothing.under(others), file.path());
    let folder = file.0.parent().unwrap();
    let others = Capability::nothing().with_files_below([folder]);
    refused(&of_addresses(), &nothing.under(others.clone()), address);
    refused(&of_secrets(), &nothing.under(others.clone()), "depot");
    // What is allowed works; a source that was described by whom it was allowed is still not opened by another.
    let some = nothing.under(others);
    for (opening, open) in of_files() {
        let path = if opening == "write_to" { written.path() } else { file.path() };
        let refusal = open(&some, path).err().filter(|e| e.state() == SqlState::InsufficientPrivilege);
        assert!(refusal.is_none(), "{opening}: {refusal:?}");
    }
    let source = crate::describe(&some, file.path(), &[]).unwrap();
    let refused = crate::open(&nothing, &source, &[0], 10).map(drop).unwrap_err();
    assert_eq!(refused.state(), SqlState::InsufficientPrivilege);
}

#[test]
fn a_link_in_a_folder_does_not_lead_out_of_it() {
    let secret = Scratch::new("secret.csv", b"a\n1\n");
    let open = secret.0.with_extension("open");
    std::fs::create_dir_all(&open).unwrap();
    std::os::unix::fs::symlink(&secret.0, open.join("link.csv")).unwrap();
    std::os::unix::fs::symlink(secret.0.with_extension("new"), open.join("new.csv")).unwrap();
    let some = Environment::new(Capability::nothing().with_files_below([&open]), Stores::new());
    let pattern = open.join("*.csv").to_string_lossy().into_owned();
    refused(&of_files()[..5], &some, &pattern);
    let through = open.join("new.csv").to_string_lossy().into_owned();
    refused(&of_files(), &some, &through);
    assert!(!secret.0.with_extension("new").exists());
    std::fs::remove_dir_all(&open).unwrap();
}

#[test]
fn keys_stay_with_whom_they_were_given_to() {
    let all = Environment::new(Capability::everything(), Stores::new());
    let options = [("type", "s3"), ("key_id", "hunter1"), ("secret", "hunter2"), ("scope", "s3://bucket")];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
    remote::create_secret(&all, Conflict::Replace, false, "depot", &options).unwrap();
    let address = Capability::nothing().with_addresses_below(["s3://bucket"]);
    let error = Upload::begin(&all.under(address.clone()), "s3://bucket/x").map(drop).unwrap_err();
    assert_eq!(error.state(), SqlState::InsufficientPrivilege);
    assert!(error.message().contains("depot") && !format!("{error:?}").contains("hunter"), "{error:?}");
    assert!(Upload::begin(&all.under(address.with_secrets()), "s3://bucket/x").is_ok());
}
