//! Blocks that are packed in their files: what is asked of them has the same answers, and damage is found.

use files::{FileManager, LocalFiles, Loss, SimulatedFiles, packed};

use super::model::{Model, Step, commit};
use super::*;

/// Codes that pack well, in blocks of 64 KiB.
fn rows() -> Vec<Vec<Option<i64>>> {
    (0..70_000).map(|v| vec![(v % 1000 != 0).then_some(v / 100)]).collect()
}

fn steps() -> [Step; 2] {
    [Step::Create("t".into()), Step::Append("t".into(), rows())]
}

fn stored(packing: Packing) -> (SimulatedFiles, Model) {
    let files = SimulatedFiles::new(1);
    let opened = open(&files).unwrap();
    opened.store.set_packing(packing);
    opened.store.inline_bytes_max.store(3000, Relaxed);
    let mut model = Model::default();
    commit(&opened.catalog, &steps(), true).unwrap();
    steps().iter().for_each(|step| model.apply(step));
    (files.restart(Loss::Process), model)
}

/// The file of the only commit.
fn block_file(files: &SimulatedFiles) -> Vec<u8> {
    files.contents("blocks/1").unwrap()
}

#[test]
fn packed_blocks_come_back() {
    let mut lengths = Vec::new();
    for packing in [Packing::None, Packing::Fast, Packing::Small] {
        let (files, model) = stored(packing);
        let bytes = block_file(&files);
        assert_eq!(bytes[4096..4104] == packed::MAGIC, packing != Packing::None);
        lengths.push(bytes.len());
        let opened = open(&files).unwrap();
        assert_eq!(Model::of(&opened.catalog.snapshot()), model, "{packing:?}");
        assert_eq!(opened.store.check().unwrap(), []);
        // A backup packs anew what it reads unpacked.
        let copy = SimulatedFiles::new(2);
        back_up(&opened.catalog.snapshot(), &copy).unwrap();
        assert!(copy.contents("blocks/1").unwrap().len() < lengths[0] / 2);
        assert_eq!(Model::of(&open(&copy).unwrap().catalog.snapshot()), model);
        opened.store.checkpoint().unwrap();
        assert_eq!(Model::of(&open(&files.restart(Loss::Power)).unwrap().catalog.snapshot()), model);
    }
    assert!(lengths[1] < lengths[0] / 2 && lengths[2] <= lengths[1], "{lengths:?}");
}

#[test]
fn damage_of_a_packed_block_is_named() {
    let (files, _) = stored(Packing::Fast);
    let whole = block_file(&files);
    let (mut named, mut others) = (0, 0);
    for at in (4096..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        let copy = files.restart(Loss::Process);
        copy.set_contents("blocks/1", bytes);
        let opened = open(&copy).unwrap();
        let found = opened.store.check().unwrap();
        let snapshot = opened.catalog.snapshot();
        let (read, unreadable) = Model::readable(&snapshot);
        match found.as_slice() {
            // A gap, or bytes of a frame that make no difference.
            [] => assert!(unreadable.is_empty() && read.tables.contains_key("t"), "byte {at}"),
            [damage] if damage.column.as_deref() == Some("a") => {
                assert_eq!(damage.table, Some(("main".into(), "t".into())), "byte {at}: {damage}");
                let place = damage.offset..damage.offset + damage.bytes;
                assert!(damage.block.is_some() && place.contains(&(at as u64)), "byte {at}: {damage}");
                assert_eq!(unreadable, ["t"], "byte {at}");
                named += 1;
            }
            _ => others += 1,
        }
    }
    assert!(named > 5 && others > 5, "{named} {others}");
}

/// What an earlier program could not read is not written before it would refuse the whole database.
#[test]
fn an_old_database_is_raised_by_its_next_checkpoint() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format-1");
    let (old, files) =
        (LocalFiles::new(&files::Capability::everything(), &folder).unwrap(), SimulatedFiles::new(1));
    for entry in old.list("").unwrap() {
        files.set_contents(&entry.name, files::read_all(&old, &entry.name).unwrap());
    }
    let newest = || {
        let number =
            files.list("blocks").unwrap().iter().filter_map(|e| e.name[7..].parse::<u64>().ok()).max();
        files.contents(&format!("blocks/{}", number.unwrap())).unwrap()
    };
    let version = || names::read_identity(&files).unwrap().1;
    let opened = open(&files).unwrap();
    opened.store.inline_bytes_max.store(3000, Relaxed);
    let append = |table: &str| {
        let steps = [Step::Create(table.into()), Step::Append(table.into(), rows())];
        commit(&opened.catalog, &steps, true).unwrap();
    };
    append("before");
    assert_eq!((version(), newest()[4096..4104] == packed::MAGIC), (1, false));
    opened.store.checkpoint().unwrap();
    append("after");
    assert_eq!((version(), newest()[4096..4104] == packed::MAGIC), (names::FORMAT, true));
}
