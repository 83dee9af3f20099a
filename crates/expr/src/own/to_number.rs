//! `to_number(text, template)`: reads a number as PostgreSQL's templates of digits have it.

use types::{Result, SqlState, Value, decimal};

use super::{Arguments, refuse};

/// What a place of a template stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemplatePart {
    /// `9` or `0`.
    Digit,
    Point,
    Group,
    /// `S`, `MI`, `PL`, `SG` or `PR`.
    Sign,
    /// `L` or `$`.
    Currency,
    /// A character that stands for itself: one of the text is passed over.
    Other,
}

fn places(template: &str) -> Result<Vec<TemplatePart>> {
    let mut places = Vec::new();
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        let two = rest.get(..2).map(str::to_ascii_uppercase).unwrap_or_default();
        let (place, taken) = match (two.as_str(), c.to_ascii_uppercase()) {
            ("FM", _) => (None, 2),
            ("MI" | "PL" | "SG" | "PR", _) => (Some(TemplatePart::Sign), 2),
            ("TH", _) => {
                places.extend([TemplatePart::Other; 2]);
                (None, 2)
            }
            ("RN", _) | ("EE", _) | (_, 'V') => {
                let message =
                    format!("to_number: the template \"{template}\" has a pattern that reads no numbers");
                return Err(refuse(SqlState::FeatureNotSupported, message)
                    .with_hint("it takes 9, 0, D, G, S, MI, PL, SG, PR, L, FM and text"));
            }
            (_, '9' | '0') => (Some(TemplatePart::Digit), 1),
            (_, '.' | 'D') => (Some(TemplatePart::Point), 1),
            (_, ',' | 'G') => (Some(TemplatePart::Group), 1),
            (_, 'S') => (Some(TemplatePart::Sign), 1),
            (_, 'L' | '$') => (Some(TemplatePart::Currency), 1),
            (_, '"') => {
                let quoted = rest[1..].find('"').map_or(&rest[1..], |end| &rest[1..=end]);
                places.extend(quoted.chars().map(|_| TemplatePart::Other));
                (None, (quoted.len() + 2).min(rest.len()))
            }
            (_, c) => (Some(TemplatePart::Other), c.len_utf8()),
        };
        places.extend(place);
        rest = &rest[taken..];
    }
    Ok(places)
}

/// `to_number(text, template)`: reads what `to_char` with the template would write.
pub(super) fn to_number(a: &Arguments<'_>) -> Result<Value> {
    let (text, template) = (a.text(0)?, a.text(1)?);
    let mut rest = text.trim_start().chars().peekable();
    let (mut number, mut negative, mut signed, mut point) = (String::new(), false, false, false);
    let mut sign_of = |c: char, negative: &mut bool| {
        let is_sign = matches!(c, '-' | '+' | '<');
        if is_sign && !signed {
            signed = true;
            *negative = c != '+';
        }
        is_sign
    };
    for place in places(template)? {
        match place {
            TemplatePart::Digit => {
                while rest.next_if(|c| *c == ' ').is_some() {}
                if number.is_empty() && rest.peek().is_some_and(|c| sign_of(*c, &mut negative)) {
                    rest.next();
                    while rest.next_if(|c| *c == ' ').is_some() {}
                }
                match rest.next_if(|c| c.is_ascii_digit() || (*c == '.' && !point)) {
                    Some('.') => {
                        point = true;
                        number.push('.');
                        number.extend(rest.next_if(char::is_ascii_digit));
                    }
                    Some(digit) => number.push(digit),
                    None => {}
                }
            }
            TemplatePart::Point => {
                while rest.next_if(|c| *c == ' ').is_some() {}
                if !point && rest.next_if_eq(&'.').is_some() {
                    point = true;
                    number.push('.');
                }
            }
            TemplatePart::Group => {
                rest.next_if_eq(&',');
            }
            TemplatePart::Sign => {
                while rest.next_if(|c| *c == ' ').is_some() {}
                if rest.peek().is_some_and(|c| sign_of(*c, &mut negative)) {
                    rest.next();
                }
            }
            TemplatePart::Currency => {
                rest.next_if(|c| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '+' | '-')));
            }
            TemplatePart::Other => {
                // What may belong to the number is not passed over.
                rest.next_if(|c| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '+' | '-')));
            }
        }
    }
    if !number.bytes().any(|b| b.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric: \"{text}\"");
        return Err(refuse(SqlState::InvalidTextRepresentation, message));
    }
    let unscaled = decimal::parse(&number, a.ty.scale()).ok().flatten();
    let value = unscaled.map(|n| if negative { -n } else { n });
    value
        .filter(|n| decimal::fits(*n, 38))
        .and_then(|n| Value::from_i128(n, a.ty.physical()))
        .ok_or_else(|| types::Error::out_of_range(&a.ty))
}
