//! What is made as a whole asks for memory first: a file as a value, a text that is unpacked, a text in another
//! encoding.
//!
//! The allocator is counted, as it is in the product; alone in its process, so that no other test allocates.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Command;

use engine::{Database, Options, Value};
use types::SqlState;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<std::alloc::System> =
    memory::CountingAllocator(std::alloc::System);

#[test]
fn whole_texts_are_asked_for() {
    let folder = std::env::temp_dir().join(format!("quickstep-whole-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let plain = folder.join("f.csv").to_string_lossy().into_owned();
    let mut out = BufWriter::new(File::create(&plain).expect("a file"));
    out.write_all(b"a,b\n").expect("written");
    for _ in 0..150_000 {
        writeln!(out, "1,{}", "x".repeat(1000)).expect("written");
    }
    out.into_inner().expect("written");
    assert!(Command::new("gzip").args(["-k", "-1", &plain]).status().expect("gzip runs").success());
    let options = Options { workers: Some(1), memory_bytes: Some(64 << 20), ..Default::default() };
    let session = Database::in_memory(options).expect("a database").session();
    let before = memory::allocated_bytes();
    for sql in [
        format!("SELECT length(content) FROM read_text('{plain}')"),
        format!("SELECT length(content) FROM read_blob('{plain}')"),
        format!("SELECT count(*) FROM read_csv('{plain}', encoding => 'latin-1')"),
        format!("SELECT count(*) FROM '{plain}.gz'"),
    ] {
        let error = session.query(&sql).map(|_| ()).expect_err(&sql);
        assert_eq!(error.state(), SqlState::OutOfMemory, "{sql}: {error}");
    }
    let grown = memory::peak_allocated_bytes().saturating_sub(before);
    assert!(grown < 80 << 20, "{grown} bytes more");
    // Names and sizes need no memory, and rows come in pieces.
    let size = session.query(&format!("SELECT size FROM read_blob('{plain}')")).expect("a size");
    assert_eq!(size.value(0, 0), Value::I64(150_000 * 1003 + 4));
    let rows = session.query(&format!("SELECT count(*) FROM '{plain}'")).expect("rows");
    assert_eq!(rows.value(0, 0), Value::I64(150_000));
    let _ = std::fs::remove_dir_all(&folder);
}
