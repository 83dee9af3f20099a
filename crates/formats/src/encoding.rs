//! Texts in other encodings than UTF-8, turned into UTF-8 while they are read.
//!
//! A file says nothing of its encoding but by a byte order mark, so the user does: `encoding => 'latin-1'`. What is no text
//! in the encoding that was said is an error with its place, never another character.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, UTF_16BE, UTF_16LE, WINDOWS_1252};
use plan::file::Encoding;
use types::{Error, Result, SqlState};

/// Bytes that are decoded at a time.
const PIECE_BYTES: usize = 64 << 10;
/// What a byte may become: a character of Latin-1 has up to two, a unit of UTF-16 up to three of UTF-8.
const GROWTH: usize = 4;

const UTF_16LE_MARK: [u8; 2] = [0xFF, 0xFE];
const UTF_16BE_MARK: [u8; 2] = [0xFE, 0xFF];

/// The encoding of that name; case, hyphens and underscores do not matter.
pub fn named(name: &str) -> Result<Encoding> {
    let plain: String = name.to_ascii_lowercase().replace(['-', '_'], "");
    Ok(match plain.as_str() {
        "utf8" => Encoding::Utf8,
        "latin1" | "iso88591" => Encoding::Latin1,
        "windows1252" | "cp1252" => Encoding::Windows1252,
        "utf16" => Encoding::Utf16,
        "utf16le" => Encoding::Utf16Le,
        "utf16be" => Encoding::Utf16Be,
        _ => {
            return Err(Error::unsupported(format!("encoding \"{name}\" is not supported")).with_hint(
                "the encodings are utf-8, latin-1, windows-1252, utf-16 (with a byte order mark), utf-16le and utf-16be; \
                 others become UTF-8 by iconv -f NAME -t UTF-8",
            ));
        }
    })
}

/// Whether bytes begin as UTF-16 that announces itself.
pub fn is_marked_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&UTF_16LE_MARK) || bytes.starts_with(&UTF_16BE_MARK)
}

enum How {
    Latin1,
    By(Box<Decoder>),
    /// The byte order mark has not been seen yet.
    Marked,
}

/// A text in another encoding, read as UTF-8.
pub struct Decoding<R> {
    source: R,
    how: How,
    name: &'static str,
    piece_bytes: usize,
    /// Bytes of the source that are not decoded, and the place of the first one in the file.
    raw: Vec<u8>,
    place: u64,
    ended: bool,
    /// Decoded, and handed on up to here.
    text: Vec<u8>,
    at: usize,
}

impl<R: Read> Decoding<R> {
    /// `piece_bytes` bytes are read at a time, or as many as are usual.
    pub fn new(source: R, encoding: Encoding, piece_bytes: Option<usize>) -> Self {
        let by = |encoding: &'static encoding_rs::Encoding| {
            How::By(Box::new(encoding.new_decoder_without_bom_handling()))
        };
        let (how, name) = match encoding {
            Encoding::Utf8 | Encoding::Latin1 => (How::Latin1, "latin-1"),
            Encoding::Windows1252 => (by(WINDOWS_1252), "windows-1252"),
            Encoding::Utf16 => (How::Marked, "utf-16"),
            Encoding::Utf16Le => (by(UTF_16LE), "utf-16le"),
            Encoding::Utf16Be => (by(UTF_16BE), "utf-16be"),
        };
        let piece_bytes = piece_bytes.unwrap_or(PIECE_BYTES).max(1);
        Decoding {
            source,
            how,
            name,
            piece_bytes,
            raw: Vec::new(),
            place: 0,
            ended: false,
            text: Vec::new(),
            at: 0,
        }
    }

    fn fault(&self, place: u64, what: &str) -> io::Error {
        let message = format!("it is no text in {}: {what} at byte {place}", self.name);
        io::Error::new(io::ErrorKind::InvalidData, message)
    }

    /// Reads more of the source; what is not decoded stays.
    fn take(&mut self) -> io::Result<()> {
        let known = self.raw.len();
        self.raw.resize(known + self.piece_bytes, 0);
        let read = loop {
            match self.source.read(&mut self.raw[known..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.raw.truncate(known + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        Ok(())
    }

    /// Takes the byte order mark; false when more must be read for it.
    fn take_mark(&mut self) -> io::Result<bool> {
        let encoding = match self.raw.as_slice() {
            [0xFF, 0xFE, ..] => UTF_16LE,
            [0xFE, 0xFF, ..] => UTF_16BE,
            [] if self.ended => UTF_16LE,
            [] | [_] if !self.ended => return Ok(false),
            _ => {
                let message = "it has no byte order mark: say encoding => 'utf-16le' or 'utf-16be'";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        };
        let mark = self.raw.len().min(UTF_16LE_MARK.len());
        self.raw.drain(..mark);
        self.place += mark as u64;
        self.how = How::By(Box::new(encoding.new_decoder_without_bom_handling()));
        Ok(true)
    }

    /// Decodes what has been read.
    fn decode(&mut self) -> io::Result<()> {
        if matches!(self.how, How::Marked) && !self.take_mark()? {
            return Ok(());
        }
        self.text.clear();
        self.at = 0;
        self.text.resize(self.raw.len() * GROWTH + 16, 0);
        let (read, written) = match &mut self.how {
            How::Latin1 => encoding_rs::mem::convert_latin1_to_utf8_partial(&self.raw, &mut self.text),
            How::Marked => (0, 0),
            How::By(decoder) => {
                let (result, read, written) =
                    decoder.decode_to_utf8_without_replacement(&self.raw, &mut self.text, self.ended);
                if let DecoderResult::Malformed(bytes, after) = result {
                    let end = self.place + read as u64;
                    return Err(
                        self.fault(end.saturating_sub(u64::from(bytes) + u64::from(after)), "it is damaged")
                    );
                }
                (read, written)
            }
        };
        self.raw.drain(..read);
        self.place += read as u64;
        self.text.truncate(written);
        Ok(())
    }
}

impl<R: Read> Read for Decoding<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            if self.ended {
                return Ok(0);
            }
            self.take()?;
            self.decode()?;
        }
        let count = out.len().min(self.text.len() - self.at);
        out[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// The error for a text in UTF-16 whose encoding is not given as an option.
pub fn unsaid_utf16(path: &str) -> Error {
    Error::new(SqlState::BadCopyFormat, format!("\"{path}\" is a text in UTF-16"))
        .with_hint("say so: encoding => 'utf-16' in read_csv, ENCODING 'utf-16' in COPY")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], encoding: Encoding, piece: usize) -> io::Result<String> {
        let mut text = String::new();
        Decoding::new(bytes, encoding, Some(piece)).read_to_string(&mut text)?;
        Ok(text)
    }

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn texts_are_the_same_in_pieces_of_any_size() {
        let text = "a,é\n\"ß𝄞\",€\u{FEFF}\n";
        let narrow = "a,é\nßÿ\u{80}\u{9F}\n";
        let latin: Vec<u8> = narrow.chars().map(|c| c as u8).collect();
        for piece in [1, 2, 3, 7, 64] {
            assert_eq!(decoded(&latin, Encoding::Latin1, piece).unwrap(), narrow);
            assert_eq!(decoded(&utf16(text, false), Encoding::Utf16Le, piece).unwrap(), text);
            assert_eq!(decoded(&utf16(text, true), Encoding::Utf16Be, piece).unwrap(), text);
            for big in [false, true] {
                let marked =
                    [if big { &UTF_16BE_MARK } else { &UTF_16LE_MARK }, utf16(text, big).as_slice()].concat();
                assert_eq!(decoded(&marked, Encoding::Utf16, piece).unwrap(), text);
            }
            assert_eq!(decoded(b"\x80\x93", Encoding::Windows1252, piece).unwrap(), "€“");
            assert_eq!(decoded(b"", Encoding::Utf16, piece).unwrap(), "");
            for (bytes, encoding, part) in [
                (&b"a\0"[..], Encoding::Utf16, "no byte order mark"),
                (b"a", Encoding::Utf16, "no byte order mark"),
                (b"a\0b", Encoding::Utf16Le, "byte 2"),
                (b"a\0\x00\xD8b\0", Encoding::Utf16Le, "byte 2"),
                (b"a\0\x00\xDC", Encoding::Utf16Le, "byte 2"),
            ] {
                let error = decoded(bytes, encoding, piece).unwrap_err().to_string();
                assert!(error.contains(part), "{error}");
            }
        }
    }

    #[test]
    fn names_are_known_in_any_spelling() {
        for name in ["UTF8", "utf-8", "UTF_8"] {
            assert_eq!(named(name).unwrap(), Encoding::Utf8);
        }
        assert_eq!(named("Latin1").unwrap(), Encoding::Latin1);
        assert_eq!(named("UTF-16LE").unwrap(), Encoding::Utf16Le);
        assert!(named("klingon").unwrap_err().hint().unwrap().contains("latin-1"));
    }
}
