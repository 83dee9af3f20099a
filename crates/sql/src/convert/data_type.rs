//! Types.
//!
//! Types with words of their own become the nodes of the binder's tree. Nested types (`nested_type`) have none: their
//! text becomes a quoted name, which `crate::data_type` reads with `type_names`. No name is resolved here. Called for
//! casts, columns and `PREPARE`.

use sqlparser::ast::{
    ArrayElemTypeDef, BinaryLength, CharacterLength, DataType, EnumMember, ExactNumberInfo, Expr, Ident,
    IntervalFields, ObjectName, ObjectNamePart, TimezoneInfo, UnaryOperator, Value,
};
use syntax::Span;
use syntax::tree::{self, IntervalField, TypeKind};
use types::{Error, Result, SqlState};

use super::{Converter, object_name, span};

impl Converter<'_> {
    /// Any type, with the brackets that make lists of it.
    pub(crate) fn data_type(&self, t: &tree::TypeName) -> Result<DataType> {
        let tree::TypeName { kind, lists, span } = t;
        let mut ty = self.type_kind(kind, *span)?;
        for length in lists {
            ty = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(ty), *length));
        }
        Ok(ty)
    }

    fn type_kind(&self, kind: &TypeKind, at: Span) -> Result<DataType> {
        Ok(match kind {
            TypeKind::Named { name, modifiers } => return self.named_type(name, modifiers, at),
            TypeKind::Moment { name, precision, zone } => {
                let precision = precision.map(u64::from);
                let zone = match zone {
                    None => TimezoneInfo::None,
                    Some(true) => TimezoneInfo::WithTimeZone,
                    Some(false) => TimezoneInfo::WithoutTimeZone,
                };
                match name.text.eq_ignore_ascii_case("time") {
                    true => DataType::Time(precision, zone),
                    false => DataType::Timestamp(precision, zone),
                }
            }
            TypeKind::Interval { fields, precision } => {
                let digits = precision.or(fields.and_then(|fields| fields.precision)).map(u64::from);
                DataType::Interval { fields: self.interval_fields(fields.as_ref(), at)?, precision: digits }
            }
            TypeKind::Struct { .. } | TypeKind::Map(..) | TypeKind::List(_) => self.nested_type(at),
            TypeKind::Union(_) => return Err(self.unsupported("the type UNION", at)),
            TypeKind::Enum(labels) => {
                let label = |label: &tree::TextLiteral| EnumMember::Name(label.text.to_string());
                DataType::Enum(labels.iter().map(label).collect(), None)
            }
        })
    }

    /// A nested type is a name in quotes: the type as it is written, without what makes a list of it.
    fn nested_type(&self, at: Span) -> DataType {
        let written = self.text_of(at);
        let end = written.rfind(')').map_or(written.len(), |close| close + 1);
        let place = Span { start: at.start, end: at.start + u32::try_from(end).unwrap_or_default() };
        let name = Ident {
            value: written.get(..end).unwrap_or(written).to_owned(),
            quote_style: Some('"'),
            span: span(place),
        };
        DataType::Custom(ObjectName(vec![ObjectNamePart::Identifier(name)]), vec![])
    }

    /// The fields of an interval's type, such as YEAR TO MONTH.
    pub(super) fn interval_fields(
        &self,
        fields: Option<&tree::IntervalFields>,
        at: Span,
    ) -> Result<Option<IntervalFields>> {
        use IntervalField as F;
        let Some(tree::IntervalFields { from, to, precision: _ }) = fields else { return Ok(None) };
        Ok(Some(match (from, to) {
            (F::Year, None) => IntervalFields::Year,
            (F::Month, None) => IntervalFields::Month,
            (F::Day, None) => IntervalFields::Day,
            (F::Hour, None) => IntervalFields::Hour,
            (F::Minute, None) => IntervalFields::Minute,
            (F::Second, None) => IntervalFields::Second,
            (F::Year, Some(F::Month)) => IntervalFields::YearToMonth,
            (F::Day, Some(F::Hour)) => IntervalFields::DayToHour,
            (F::Day, Some(F::Minute)) => IntervalFields::DayToMinute,
            (F::Day, Some(F::Second)) => IntervalFields::DayToSecond,
            (F::Hour, Some(F::Minute)) => IntervalFields::HourToMinute,
            (F::Hour, Some(F::Second)) => IntervalFields::HourToSecond,
            (F::Minute, Some(F::Second)) => IntervalFields::MinuteToSecond,
            _ => return Err(self.unsupported("an interval of these fields", at)),
        }))
    }

    fn named_type(&self, name: &tree::Path, modifiers: &[tree::Expr], at: Span) -> Result<DataType> {
        let word = match name.single() {
            Some(name) if !name.quoted => name.text.to_ascii_uppercase(),
            _ => String::new(),
        };
        let numbers = Modifiers { converter: self, name: &word, list: modifiers, at };
        if let Some(ty) = with_numbers(&word, &numbers)? {
            return Ok(ty);
        }
        if let Some(ty) = without_numbers(&word) {
            return match modifiers {
                [] => Ok(ty),
                // TEXT with numbers is a name that nothing has.
                _ if word == "TEXT" => Ok(DataType::Custom(
                    ObjectName(vec![ObjectNamePart::Identifier(Ident::new("TEXT"))]),
                    numbers.texts()?,
                )),
                _ => {
                    let message =
                        format!("type modifier is not allowed for type \"{}\"", word.to_lowercase());
                    Err(self.at(Error::new(SqlState::SyntaxError, message), at))
                }
            };
        }
        Ok(DataType::Custom(object_name(name), numbers.texts()?))
    }
}

/// What stands in the brackets of a type.
struct Modifiers<'c, 't> {
    converter: &'c Converter<'t>,
    name: &'c str,
    list: &'c [tree::Expr],
    at: Span,
}

impl Modifiers<'_, '_> {
    fn wrong(&self) -> Error {
        let message = format!("invalid type modifier of \"{}\"", self.name.to_lowercase());
        let at = self.list.first().map_or(self.at, |first| first.span);
        self.converter.at(Error::new(SqlState::SyntaxError, message), at)
    }

    fn number(&self, e: &tree::Expr) -> Result<i64> {
        let digits = |value: &Expr| match value {
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => digits.parse::<i64>().ok(),
                _ => None,
            },
            _ => None,
        };
        let number = match &self.converter.expr(e)? {
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => digits(expr).map(|number| -number),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => digits(expr),
            value => digits(value),
        };
        number.ok_or_else(|| self.wrong())
    }

    fn unsigned(&self, e: &tree::Expr) -> Result<u64> {
        u64::try_from(self.number(e)?).map_err(|_| self.wrong())
    }

    /// None, or one.
    fn precision(&self) -> Result<Option<u64>> {
        match self.list {
            [] => Ok(None),
            [one] => Ok(Some(self.unsigned(one)?)),
            _ => Err(self.wrong()),
        }
    }

    fn exact(&self) -> Result<ExactNumberInfo> {
        match self.list {
            [] => Ok(ExactNumberInfo::None),
            [precision] => Ok(ExactNumberInfo::Precision(self.unsigned(precision)?)),
            [precision, scale] => {
                Ok(ExactNumberInfo::PrecisionAndScale(self.unsigned(precision)?, self.number(scale)?))
            }
            _ => Err(self.wrong()),
        }
    }

    fn characters(&self) -> Result<Option<CharacterLength>> {
        match self.list {
            [] => Ok(None),
            [one] if self.converter.text_of(one.span).eq_ignore_ascii_case("max") => {
                Ok(Some(CharacterLength::Max))
            }
            [one] => Ok(Some(CharacterLength::IntegerLength { length: self.unsigned(one)?, unit: None })),
            _ => Err(self.wrong()),
        }
    }

    fn bytes(&self) -> Result<Option<BinaryLength>> {
        Ok(self.characters()?.map(|length| match length {
            CharacterLength::IntegerLength { length, .. } => BinaryLength::IntegerLength { length },
            CharacterLength::Max => BinaryLength::Max,
        }))
    }

    fn texts(&self) -> Result<Vec<String>> {
        let text = |e: &tree::Expr| match self.converter.expr(e)? {
            Expr::Value(value) => match value.value {
                Value::Number(text, _) | Value::SingleQuotedString(text) => Ok(text),
                _ => Err(self.wrong()),
            },
            Expr::Identifier(ident) => Ok(ident.to_string()),
            _ => Err(self.wrong()),
        };
        self.list.iter().map(text).collect()
    }
}

/// Types that may have numbers in brackets.
fn with_numbers(word: &str, numbers: &Modifiers<'_, '_>) -> Result<Option<DataType>> {
    use DataType as D;
    Ok(Some(match word {
        "FLOAT" => D::Float(numbers.exact()?),
        "DOUBLE" => D::Double(numbers.exact()?),
        "NUMERIC" => D::Numeric(numbers.exact()?),
        "DECIMAL" => D::Decimal(numbers.exact()?),
        "DEC" => D::Dec(numbers.exact()?),
        "BIGNUMERIC" => D::BigNumeric(numbers.exact()?),
        "BIGDECIMAL" => D::BigDecimal(numbers.exact()?),
        "TINYINT" => D::TinyInt(numbers.precision()?),
        "INT2" => D::Int2(numbers.precision()?),
        "SMALLINT" => D::SmallInt(numbers.precision()?),
        "MEDIUMINT" => D::MediumInt(numbers.precision()?),
        "INT" => D::Int(numbers.precision()?),
        "INT4" => D::Int4(numbers.precision()?),
        "INT8" => D::Int8(numbers.precision()?),
        "INTEGER" => D::Integer(numbers.precision()?),
        "BIGINT" => D::BigInt(numbers.precision()?),
        "VARCHAR" => D::Varchar(numbers.characters()?),
        "NVARCHAR" => D::Nvarchar(numbers.characters()?),
        "CHARACTER VARYING" => D::CharacterVarying(numbers.characters()?),
        "CHARACTER" => D::Character(numbers.characters()?),
        "CHAR" => D::Char(numbers.characters()?),
        "CHAR VARYING" => D::CharVarying(numbers.characters()?),
        "CLOB" => D::Clob(numbers.precision()?),
        "BINARY" => D::Binary(numbers.precision()?),
        "VARBINARY" => D::Varbinary(numbers.bytes()?),
        "BLOB" => D::Blob(numbers.precision()?),
        "BYTES" => D::Bytes(numbers.precision()?),
        "BIT" => D::Bit(numbers.precision()?),
        "BIT VARYING" => D::BitVarying(numbers.precision()?),
        "VARBIT" => D::VarBit(numbers.precision()?),
        "DATETIME" => D::Datetime(numbers.precision()?),
        "TIMESTAMPTZ" => D::Timestamp(numbers.precision()?, TimezoneInfo::Tz),
        "TIMESTAMP_NTZ" => D::TimestampNtz(numbers.precision()?),
        "TIMETZ" => D::Time(numbers.precision()?, TimezoneInfo::Tz),
        "STRING" => D::String(numbers.precision()?),
        _ => return Ok(None),
    }))
}

/// Types that have none.
fn without_numbers(word: &str) -> Option<DataType> {
    use DataType as D;
    Some(match word {
        "BOOLEAN" => D::Boolean,
        "BOOL" => D::Bool,
        "REAL" => D::Real,
        "FLOAT4" => D::Float4,
        "FLOAT32" => D::Float32,
        "FLOAT64" => D::Float64,
        "FLOAT8" => D::Float8,
        "DOUBLE PRECISION" => D::DoublePrecision,
        "INT16" => D::Int16,
        "INT32" => D::Int32,
        "INT64" => D::Int64,
        "INT128" => D::Int128,
        "INT256" => D::Int256,
        "HUGEINT" => D::HugeInt,
        "UBIGINT" => D::UBigInt,
        "UHUGEINT" => D::UHugeInt,
        "USMALLINT" => D::USmallInt,
        "UTINYINT" => D::UTinyInt,
        "UINT8" => D::UInt8,
        "UINT16" => D::UInt16,
        "UINT32" => D::UInt32,
        "UINT64" => D::UInt64,
        "UINT128" => D::UInt128,
        "UINT256" => D::UInt256,
        "TINYBLOB" => D::TinyBlob,
        "MEDIUMBLOB" => D::MediumBlob,
        "LONGBLOB" => D::LongBlob,
        "UUID" => D::Uuid,
        "DATE" => D::Date,
        "DATE32" => D::Date32,
        "JSON" => D::JSON,
        "JSONB" => D::JSONB,
        "REGCLASS" => D::Regclass,
        "TEXT" => D::Text,
        "TINYTEXT" => D::TinyText,
        "MEDIUMTEXT" => D::MediumText,
        "LONGTEXT" => D::LongText,
        "BYTEA" => D::Bytea,
        "TRIGGER" => D::Trigger,
        "SIGNED" => D::Signed,
        "UNSIGNED" => D::Unsigned,
        "TSVECTOR" => D::TsVector,
        "TSQUERY" => D::TsQuery,
        _ => return None,
    })
}
