//! Where the bitmap of a file's deleted rows is.

use formats::lake::Folder;
use plan::lake::Deletions;
use types::{Error, Result};

use super::actions::DeletionVector;
use super::location;
use crate::table::damaged;

/// Letters of base 85 as ZeroMQ writes it (rfc.zeromq.org/spec/32).
const LETTERS: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
/// Letters of a file's unique number.
const UNIQUE_LETTERS: usize = 20;

/// The deletions that a log's entry for a data file names.
pub(crate) fn read(folder: &Folder, data_path: &str, vector: &DeletionVector) -> Result<Deletions> {
    let DeletionVector { storage_type, path_or_inline_dv: text, size_in_bytes, cardinality, offset } = vector;
    let wrong = || damaged(data_path, "where its deleted rows are is not readable");
    let (bytes, rows) = (*size_in_bytes, *cardinality);
    let in_file = |path| Ok(Deletions::Vector { path, offset: offset.unwrap_or(1), bytes, rows });
    match storage_type.as_str() {
        "u" => {
            let at = text.len().checked_sub(UNIQUE_LETTERS).ok_or_else(wrong)?;
            let (prefix, letters) = text.split_at_checked(at).ok_or_else(wrong)?;
            let unique = decoded(letters).filter(|bytes| bytes.len() == 16).ok_or_else(wrong)?;
            let hex: String = unique.iter().map(|byte| format!("{byte:02x}")).collect();
            let name = format!(
                "deletion_vector_{}-{}-{}-{}-{}.bin",
                &hex[..8],
                &hex[8..12],
                &hex[12..16],
                &hex[16..20],
                &hex[20..]
            );
            in_file(folder.join(&if prefix.is_empty() { name } else { format!("{prefix}/{name}") }))
        }
        "p" => in_file(location(folder, text)?),
        "i" => {
            let mut bitmap = decoded(text).ok_or_else(wrong)?;
            let length = usize::try_from(bytes).ok().filter(|length| *length <= bitmap.len());
            bitmap.truncate(length.ok_or_else(wrong)?);
            Ok(Deletions::Inline { bitmap, rows })
        }
        other => Err(Error::unsupported(format!(
            "deleted rows of \"{data_path}\" are kept in the way \"{other}\""
        ))),
    }
}

/// The bytes of letters, four of five; `None` where they are no such letters.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let letters = text.as_bytes();
    if !letters.len().is_multiple_of(5) {
        return None;
    }
    let mut out = Vec::with_capacity(letters.len() / 5 * 4);
    for five in letters.chunks_exact(5) {
        let mut number = 0u32;
        for letter in five {
            let digit = LETTERS.iter().position(|known| known == letter)?;
            number = number.checked_mul(85)?.checked_add(u32::try_from(digit).ok()?)?;
        }
        out.extend(number.to_be_bytes());
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_bytes() {
        // The example of ZeroMQ's text, and that of Delta's.
        assert_eq!(decoded("HelloWorld").unwrap(), [0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B]);
        assert_eq!(decoded("^-aqEH.-t@S}K{vb[*k^").unwrap().len(), 16);
        assert!(decoded("Hell").is_none() && decoded("Hell\u{e9}").is_none() && decoded("#####").is_none());
        let vector = |kind: &str, text: &str| DeletionVector {
            storage_type: kind.into(),
            path_or_inline_dv: text.into(),
            offset: Some(4),
            size_in_bytes: 40,
            cardinality: 6,
        };
        let folder = Folder::new("/t");
        let found = read(&folder, "f", &vector("u", "ab^-aqEH.-t@S}K{vb[*k^")).unwrap();
        let path = "/t/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin".to_owned();
        assert_eq!(found, Deletions::Vector { path, offset: 4, bytes: 40, rows: 6 });
        assert!(read(&folder, "f", &vector("u", "short")).is_err());
        assert!(read(&folder, "f", &vector("x", "y")).is_err());
    }
}
