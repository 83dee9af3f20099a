//! Collations: which texts are equal, and which stands before which.
//!
//! A collation is a column's or an expression's, as a part of its type (`Type::Collated`). Two texts are compared by their
//! keys, byte by byte, and whoever compares, groups, joins or sorts puts the key in place of the text; the text itself
//! is kept and shown as it was written. A key is made in two steps:
//!
//! ```text
//!  text --forms: without accents, without case, composed--> text --language: a sort key of the Unicode collation--> bytes
//!                                                                 \--no language: its bytes ----------------------> bytes
//! ```
//! Names are DuckDB's (`NOCASE`, `NOACCENT`, `NFC`, `de`, `NOCASE.de`) and PostgreSQL's (`C`, `en_US`, `de-x-icu`). A
//! collation in a file is its code, so that a language keeps its place in `LANGUAGES` for ever.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use icu_collator::options::{CaseLevel, CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed};
use icu_locale_core::Locale;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

use crate::{Error, Result, SqlState, Type, names};

/// Case does not count.
const NOCASE: u8 = 1;
/// Marks that combine with the letter before them do not count.
const NOACCENT: u8 = 2;
/// A letter with its mark equals the letter that has it.
const NFC: u8 = 4;
/// The forms by their names, in the order in which a collation's name has them.
const FORMS: [(&str, u8); 3] = [("nocase", NOCASE), ("noaccent", NOACCENT), ("nfc", NFC)];

/// The order of bytes, by the names that it has.
const BINARY: [&str; 5] = ["c", "posix", "binary", "ucs_basic", "default"];

/// The root collation without accents, which has no language's name.
const ROOT_WITHOUT_ACCENTS: &str = "icu_noaccent";

/// Languages with a collation of their own, or the root one. The place of a name is its number in files: new ones are
/// added at the end.
const LANGUAGES: &[&str] = &[
    "aa",
    "af",
    "am",
    "ar",
    "ar_sa",
    "as",
    "az",
    "bal",
    "be",
    "bg",
    "blo",
    "bn",
    "bo",
    "br",
    "bs",
    "ca",
    "ceb",
    "chr",
    "cs",
    "cu",
    "cy",
    "da",
    "de",
    "de_at",
    "dsb",
    "dz",
    "ee",
    "el",
    "en",
    "en_us",
    "eo",
    "es",
    "et",
    "fa",
    "fa_af",
    "ff",
    "fi",
    "fil",
    "fo",
    "fr",
    "fr_ca",
    "fy",
    "ga",
    "gl",
    "gu",
    "ha",
    "haw",
    "he",
    "he_il",
    "hi",
    "hr",
    "hsb",
    "hu",
    "hy",
    "icu_noaccent",
    "id",
    "id_id",
    "ig",
    "is",
    "it",
    "ja",
    "ka",
    "kk",
    "kl",
    "km",
    "kn",
    "ko",
    "kok",
    "ku",
    "ky",
    "lb",
    "lij",
    "lkt",
    "ln",
    "lo",
    "lt",
    "lv",
    "mk",
    "ml",
    "mn",
    "mr",
    "ms",
    "mt",
    "my",
    "nb",
    "nb_no",
    "ne",
    "nl",
    "nn",
    "no",
    "nso",
    "om",
    "or",
    "pa",
    "pa_in",
    "pl",
    "ps",
    "pt",
    "ro",
    "ru",
    "sa",
    "se",
    "sgs",
    "si",
    "sk",
    "sl",
    "smn",
    "sq",
    "sr",
    "sr_ba",
    "sr_me",
    "sr_rs",
    "ssy",
    "st",
    "sv",
    "sw",
    "ta",
    "te",
    "th",
    "tk",
    "tn",
    "to",
    "tr",
    "ug",
    "uk",
    "ur",
    "uz",
    "vi",
    "vo",
    "wae",
    "wo",
    "xh",
    "yi",
    "yo",
    "zh",
    "zh_cn",
    "zh_hk",
    "zh_mo",
    "zh_sg",
    "zh_tw",
    "zu",
];

/// Which texts are equal, and in which order they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collation {
    /// `NOCASE` and the others, as bits.
    forms: u8,
    /// The language's place, from 1; 0 is none.
    language: u8,
}

const _: () = assert!(LANGUAGES.len() < u8::MAX as usize, "a language's number has to fit its byte");

impl Collation {
    /// The order of bytes.
    pub const BINARY: Collation = Collation { forms: 0, language: 0 };

    /// Whether texts are compared by their bytes.
    pub fn is_binary(self) -> bool {
        self == Self::BINARY
    }

    /// The number that stands for the collation in files.
    pub fn code(self) -> u32 {
        u32::from(self.language) << 8 | u32::from(self.forms)
    }

    /// The collation of that number; `None` where there is none.
    pub fn of_code(code: u32) -> Option<Collation> {
        let [forms, language, 0, 0] = code.to_le_bytes() else { return None };
        let known = forms <= NOCASE | NOACCENT | NFC && usize::from(language) <= LANGUAGES.len();
        known.then_some(Collation { forms, language })
    }

    /// The collation of that name, in any case: forms and at most one language, with points between.
    ///
    /// # Errors
    /// An unknown name, and two languages.
    pub fn named(name: &str) -> Result<Collation> {
        let lower = name.trim().to_lowercase();
        if lower.is_empty() || BINARY.contains(&lower.as_str()) {
            return Ok(Self::BINARY);
        }
        let plain = lower.strip_suffix(".utf8").or(lower.strip_suffix(".utf-8")).unwrap_or(&lower);
        let mut found = Self::BINARY;
        for part in plain.split('.') {
            if let Some((_, form)) = FORMS.iter().find(|(name, _)| *name == part) {
                found.forms |= form;
            } else if let Some(language) = language_of(part) {
                if found.language != 0 && found.language != language {
                    let message = format!("collation \"{name}\" names two languages");
                    return Err(Error::new(SqlState::InvalidParameterValue, message)
                        .with_hint("NOCASE, NOACCENT and NFC go together with one language"));
                }
                found.language = language;
            } else {
                return Err(unknown(name, part));
            }
        }
        Ok(found)
    }

    /// The names of all collations that stand alone, in order.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<&str> =
            FORMS.iter().map(|(name, _)| *name).chain(LANGUAGES.iter().copied()).collect();
        names.extend(["c", "posix", "binary"]);
        names.sort_unstable();
        names
    }

    /// What is compared of a text.
    pub fn key(self, text: &str) -> Cow<'_, [u8]> {
        let folded = self.fold(text);
        match LANGUAGES.get(usize::from(self.language).wrapping_sub(1)) {
            None => match folded {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            Some(_) => Cow::Owned(sort_key(self.language, &folded)),
        }
    }

    /// The text in the forms of the collation, without regard to its language: what patterns and parts of texts are
    /// searched in.
    pub fn fold(self, text: &str) -> Cow<'_, str> {
        let mut text = Cow::Borrowed(text);
        if self.forms & NOACCENT != 0 {
            text = owned_from(text, without_accents);
        }
        if self.forms & NOCASE != 0 {
            text = owned_from(text, without_case);
        }
        if self.forms & NFC != 0 && !text.is_ascii() {
            text = Cow::Owned(ComposingNormalizerBorrowed::new_nfc().normalize(&text).into_owned());
        }
        text
    }

    /// The name as COLLATE takes it: names of languages may be reserved words.
    pub fn written(self) -> String {
        match self.language {
            0 => self.to_string(),
            _ => crate::quote::name(&self.to_string()),
        }
    }

    /// Whether `fold` changes some texts.
    pub fn folds(self) -> bool {
        self.forms != 0
    }
}

/// As a name that `named` reads: `NOCASE.NOACCENT.de`, `C`.
impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut point = "";
        for (name, form) in FORMS {
            if self.forms & form != 0 {
                write!(f, "{point}{}", name.to_uppercase())?;
                point = ".";
            }
        }
        match LANGUAGES.get(usize::from(self.language).wrapping_sub(1)) {
            Some(language) => write!(f, "{point}{language}"),
            None if point.is_empty() => f.write_str("C"),
            None => Ok(()),
        }
    }
}

fn owned_from<'a>(text: Cow<'a, str>, change: fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => change(text),
        Cow::Owned(text) => Cow::Owned(change(&text).into_owned()),
    }
}

/// The text in lower case, each character by itself: the end of a word changes nothing.
fn without_case(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    Cow::Owned(text.chars().flat_map(char::to_lowercase).collect())
}

/// The text without marks that combine with the character before them.
pub fn without_accents(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let classes = CanonicalCombiningClassMapBorrowed::new();
    let apart = DecomposingNormalizerBorrowed::new_nfd().normalize(text);
    let kept: String = apart.chars().filter(|c| classes.get_u8(*c) == 0).collect();
    Cow::Owned(ComposingNormalizerBorrowed::new_nfc().normalize(&kept).into_owned())
}

/// The number of a language by its name: `de`, `de_AT`, `de-AT`, `de-x-icu`. A region without an order of its own has that
/// of its language.
fn language_of(name: &str) -> Option<u8> {
    let name = name.replace('-', "_");
    let name = name.strip_suffix("_x_icu").unwrap_or(&name);
    let at = |name: &str| LANGUAGES.iter().position(|known| *known == name);
    let of_region = || {
        let (language, region) = name.split_once('_')?;
        let is_region =
            matches!(region.len(), 2 | 3) && region.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_region { at(language) } else { None }
    };
    u8::try_from(at(name).or_else(of_region)? + 1).ok()
}

fn unknown(name: &str, part: &str) -> Error {
    let error = Error::new(SqlState::UndefinedObject, format!("collation \"{name}\" does not exist"));
    match names::nearest(part, Collation::names()) {
        Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
        None => error.with_hint(
            "there are C, NOCASE, NOACCENT, NFC and languages such as de and en_US; PRAGMA collations lists them",
        ),
    }
}

thread_local! {
    static COLLATORS: RefCell<Vec<Option<CollatorBorrowed<'static>>>> = const { RefCell::new(Vec::new()) };
    static DEFAULT: Cell<Collation> = const { Cell::new(Collation::BINARY) };
}

/// The sort key of a text in a language.
fn sort_key(language: u8, text: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(text.len() + 8);
    COLLATORS.with_borrow_mut(|known| {
        known.resize_with(known.len().max(usize::from(language) + 1), || None);
        let slot = &mut known[usize::from(language)];
        if slot.is_none() {
            *slot = collator(language);
        }
        match slot {
            Some(collator) => match collator.write_sort_key_to(text, &mut key) {
                Ok(()) => {}
            },
            // The data are part of the program: without them texts are ordered by their bytes.
            None => key.extend_from_slice(text.as_bytes()),
        }
    });
    key
}

fn collator(language: u8) -> Option<CollatorBorrowed<'static>> {
    let name = LANGUAGES.get(usize::from(language).wrapping_sub(1))?;
    let mut options = CollatorOptions::default();
    let tag = match *name {
        ROOT_WITHOUT_ACCENTS => {
            options.strength = Some(Strength::Primary);
            options.case_level = Some(CaseLevel::On);
            "und".to_owned()
        }
        name => name.replace('_', "-"),
    };
    let locale: Locale = tag.parse().ok()?;
    Collator::try_new(locale.into(), options).ok()
}

/// The collation of texts that have none of their own, on this thread: the session's `default_collation`.
pub fn default() -> Collation {
    DEFAULT.get()
}

/// Runs `work` with `collation` as this thread's default, and restores the one before, also on a panic.
pub fn within<T>(collation: Collation, work: impl FnOnce() -> T) -> T {
    struct Before(Collation);
    impl Drop for Before {
        fn drop(&mut self) {
            DEFAULT.set(self.0);
        }
    }
    let _before = Before(DEFAULT.replace(collation));
    work()
}

impl Type {
    /// The collation that is part of the type; `None` of types without one.
    pub fn collation(self) -> Option<Collation> {
        if let Type::Collated(collation) = self { Some(collation) } else { None }
    }
    /// The collation by which values of the type are compared: their own, or for other texts the session's.
    pub fn compared_by(self) -> Collation {
        match self {
            Type::Collated(collation) => collation,
            Type::Text | Type::Varchar(_) | Type::Char(_) => default(),
            _ => Collation::BINARY,
        }
    }
    /// Whether the same collation decides which values of the two types are equal.
    pub fn compared_alike(self, other: Type) -> bool {
        self.collation().unwrap_or_default() == other.collation().unwrap_or_default()
    }
    /// TEXT in place of a text with a collation; other types as they are.
    pub fn without_collation(self) -> Type {
        if let Type::Collated(_) = self { Type::Text } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Collation {
        Collation::named(name).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn sorted(collation: &str, texts: &[&'static str]) -> Vec<&'static str> {
        let mut texts = texts.to_vec();
        texts.sort_by_key(|text| named(collation).key(text).into_owned());
        texts
    }

    #[test]
    fn names_are_read_back() {
        for name in ["C", "NOCASE", "NOACCENT", "NOCASE.NOACCENT", "de", "NOCASE.de", "NFC", "zh_tw"] {
            assert_eq!(named(name).to_string(), name);
            assert_eq!(Collation::of_code(named(name).code()), Some(named(name)));
        }
        for (same, name) in [
            ("posix", "C"),
            ("", "C"),
            ("noaccent.nocase", "NOCASE.NOACCENT"),
            ("NOCASE.nocase", "NOCASE"),
            ("en_US", "en_us"),
            ("en-GB", "en"),
            ("de_DE.utf8", "de"),
            ("de-x-icu", "de"),
        ] {
            assert_eq!(named(same).to_string(), name);
        }
        for wrong in ["blabla", "de.fr", "nocase.x", "1", "en_ENGLISH"] {
            assert!(Collation::named(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Collation::of_code(u32::MAX), None);
    }

    #[test]
    fn forms_make_texts_equal() {
        let equal = |collation, a: &str, b: &str| named(collation).key(a) == named(collation).key(b);
        assert!(equal("nocase", "MÜhleisen", "mühleisen") && !equal("nocase", "ü", "u"));
        assert!(equal("noaccent", "hëllö", "hello") && !equal("noaccent", "H", "h"));
        assert!(equal("nocase.noaccent", "HËLLÖ", "hello"));
        assert!(equal("nfc", "e\u{301}", "\u{e9}") && !equal("C", "e\u{301}", "\u{e9}"));
        assert!(equal("da", "\u{212b}", "\u{c5}") && equal("icu_noaccent", "à", "a"));
        assert!(!equal("icu_noaccent", "À", "a"));
    }

    #[test]
    fn languages_have_their_orders() {
        let names = ["Götz", "Goldmann", "Göbel", "Goethe", "Gabel", "Göthe"];
        assert_eq!(sorted("de", &names), ["Gabel", "Göbel", "Goethe", "Goldmann", "Göthe", "Götz"]);
        assert_eq!(sorted("cs", &["i", "ch", "h"]), ["h", "ch", "i"]);
        assert_eq!(sorted("da", &["aa", "z", "a"]), ["a", "z", "aa"]);
        assert_eq!(sorted("sv", &["ö", "z", "o"]), ["o", "z", "ö"]);
    }
}
