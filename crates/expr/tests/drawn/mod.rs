//! Random types, values, columns and expressions: for the tests of this crate and of the crate that compiles
//! expressions.
//!
//! The root of a test says with `fails` what may raise an error: of AND and OR at most one operand does, since which of
//! two errors is raised, or none, is left open.

use std::sync::Arc;

use plan::{Arithmetic, Expr, ExprKind, Function};
use random::Random;
use types::{Comparison, LikePattern, Type, Value, decimal};
use vector::Vector;

use crate::fails;

/// What these tests draw besides.
pub trait Draw {
    fn one_of<T: Clone>(&mut self, items: &[T]) -> T;
    /// A whole number of so many bits, the sign among them.
    fn whole(&mut self, bits: u32) -> i128;
}

impl Draw for Random {
    fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        self.pick(items).clone()
    }
    fn whole(&mut self, bits: u32) -> i128 {
        let drawn = u128::from(self.bits()) << 64 | u128::from(self.bits());
        (drawn as i128) >> (128 - bits)
    }
}

pub const fn dec(precision: u8, scale: u8) -> Type {
    Type::Decimal { precision, scale }
}

pub const TYPES: [Type; 18] = [
    Type::Boolean,
    Type::SmallInt,
    Type::Integer,
    Type::BigInt,
    Type::Real,
    Type::Double,
    dec(9, 2),
    dec(18, 2),
    dec(18, 4),
    dec(38, 2),
    dec(38, 6),
    Type::Text,
    Type::Varchar(20),
    Type::Date,
    Type::Timestamp,
    Type::Time,
    Type::IntervalYearMonth,
    Type::IntervalDayTime,
];

const WORDS: [&str; 16] = [
    "",
    "a",
    "B",
    "ab",
    "PROMO BURNISHED COPPER",
    "special packages requests",
    "é",
    "naïve café",
    "日本語テキスト",
    "AbCdEfGhIjKl",
    "AbCdEfGhIjKlM",
    "12",
    "-7.5",
    "x\0",
    "x",
    "zzzzzzzzzzzzzzzzzzzzzzzzz",
];

fn value(r: &mut Random, ty: Type, wild: bool) -> Value {
    let wild = wild && r.chance(25);
    let bits = if wild { 127 } else { 9 };
    match ty {
        Type::Null => Value::Null,
        Type::Boolean => Value::Bool(r.chance(50)),
        Type::SmallInt if wild => Value::I16(r.one_of(&[i16::MIN, i16::MAX, -1, 0, 300])),
        Type::Integer if wild => Value::I32(r.one_of(&[i32::MIN, i32::MAX, -1, 0, 1 << 20])),
        Type::BigInt if wild => Value::I64(r.one_of(&[i64::MIN, i64::MAX, -1, 0, 1 << 40, 1 << 53])),
        Type::SmallInt => Value::I16(r.whole(6) as i16),
        Type::Integer => Value::I32(r.whole(bits) as i32),
        Type::BigInt => Value::I64(r.whole(bits) as i64),
        Type::Real if wild => {
            Value::F32(r.one_of(&[f32::NAN, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, -0.0]))
        }
        Type::Double if wild => {
            Value::F64(r.one_of(&[f64::NAN, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, -0.0, 1e18, 2.5]))
        }
        Type::Real => Value::F32(r.whole(9) as f32 / 4.0),
        Type::Double => Value::F64(r.whole(12) as f64 / 8.0),
        Type::Decimal { precision, .. } => {
            let limit = decimal::power_of_ten(precision);
            let v = if wild { r.one_of(&[limit - 1, 1 - limit, limit / 3, 0, 1]) } else { r.whole(18) };
            Value::from_i128(v % limit, ty.physical()).unwrap()
        }
        Type::Date => Value::I32(if wild { r.whole(30) as i32 } else { r.whole(15) as i32 }),
        Type::Timestamp => Value::I64(r.whole(if wild { 62 } else { 52 }) as i64),
        Type::Time => Value::I64(r.below(86_400) as i64 * 1_000_000),
        Type::IntervalYearMonth => Value::I32(r.whole(if wild { 32 } else { 7 }) as i32),
        Type::IntervalDayTime => Value::I64(r.whole(if wild { 62 } else { 40 }) as i64),
        Type::Varchar(n) => Value::text(&r.one_of(&WORDS).chars().take(n as usize).collect::<String>()),
        _ => Value::text(r.one_of(&WORDS)),
    }
}

/// A column flat, constant or a dictionary, with or without NULLs.
pub fn column(r: &mut Random, ty: Type, rows: usize, wild: bool) -> Vector {
    match r.below(6) {
        0 => {
            let v = if r.chance(20) { Value::Null } else { value(r, ty, wild) };
            Vector::constant(ty, v, rows)
        }
        1 | 2 => {
            let count = r.below(rows + 4) + 1;
            let distinct: Vec<Value> = (0..count).map(|_| value(r, ty, wild)).collect();
            let codes: Vec<u32> = (0..rows).map(|_| r.below(count) as u32).collect();
            let nulls = r.chance(50).then(|| (0..rows).map(|_| !r.chance(20)).collect::<Vec<bool>>().into());
            Vector::dictionary(codes.into(), Arc::new(Vector::from_values(ty, &distinct)), nulls)
        }
        form => {
            let values: Vec<Value> = (0..rows)
                .map(|_| if form > 3 && r.chance(20) { Value::Null } else { value(r, ty, wild) })
                .collect();
            Vector::from_values(ty, &values)
        }
    }
}

pub struct Generator {
    pub r: Random,
    /// The types of the batch's columns.
    pub columns: Vec<Type>,
    /// Values at the ends of their types, too.
    pub wild: bool,
    /// Functions of the library, too.
    pub library: bool,
}

impl Generator {
    pub fn expression(&mut self, ty: Type, depth: usize) -> Expr {
        if depth == 0 || self.r.chance(15) {
            return self.leaf(ty);
        }
        let d = depth - 1;
        match self.r.below(10) {
            0 => {
                let branches = (0..1 + self.r.below(2))
                    .map(|_| (self.expression(Type::Boolean, d), self.expression(ty, d)))
                    .collect();
                let otherwise = self.r.chance(70).then(|| Box::new(self.expression(ty, d)));
                Expr::new(ExprKind::Case { branches, otherwise }, ty)
            }
            1 => {
                let arguments = vec![self.expression(ty, d), self.expression(ty, d)];
                let function = if self.r.chance(60) { Function::Coalesce } else { Function::NullIf };
                Expr::new(ExprKind::Function { function, arguments }, ty)
            }
            2 => match self.cast_source(ty) {
                Some(from) => {
                    let input = Box::new(self.expression(from, d));
                    Expr::new(ExprKind::Cast { input, lenient: self.r.chance(40) }, ty)
                }
                None => self.leaf(ty),
            },
            _ => self.operation(ty, d),
        }
    }

    fn leaf(&mut self, ty: Type) -> Expr {
        let same: Vec<usize> = (0..self.columns.len()).filter(|i| self.columns[*i] == ty).collect();
        if same.is_empty() || self.r.chance(25) {
            let v = if self.r.chance(10) { Value::Null } else { value(&mut self.r, ty, self.wild) };
            return Expr::literal(v, ty);
        }
        Expr::input(self.r.one_of(&same), ty)
    }

    fn cast_source(&mut self, to: Type) -> Option<Type> {
        let numeric = [
            Type::SmallInt,
            Type::Integer,
            Type::BigInt,
            Type::Real,
            Type::Double,
            dec(9, 2),
            dec(18, 4),
            dec(38, 6),
        ];
        let from = match to {
            t if t.is_text() => {
                self.r.one_of(&[Type::Integer, Type::Text, Type::Date, dec(18, 2), Type::Varchar(20)])
            }
            t if t.is_numeric() => {
                if self.r.chance(10) {
                    Type::Text
                } else {
                    self.r.one_of(&numeric)
                }
            }
            Type::Boolean => self.r.one_of(&[Type::Integer, Type::BigInt]),
            Type::Date => Type::Timestamp,
            Type::Timestamp => Type::Date,
            Type::Time => Type::Timestamp,
            _ => return None,
        };
        (from != to).then_some(from)
    }

    fn arithmetic(&mut self, op: Arithmetic, left: Expr, right: Expr, ty: Type) -> Expr {
        let unchecked = ty.is_numeric()
            && left.ty.is_numeric()
            && !matches!(op, Arithmetic::Divide | Arithmetic::Modulo)
            && self.r.chance(30);
        Expr::new(
            ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right), checked: !unchecked },
            ty,
        )
    }

    fn operation(&mut self, ty: Type, d: usize) -> Expr {
        use Arithmetic as A;
        if self.library
            && self.r.chance(25)
            && let Some(call) = self.call(ty, d)
        {
            return call;
        }
        match ty {
            Type::Boolean => self.condition(d),
            Type::Text | Type::Varchar(_) => self.text(ty, d),
            t if t.is_integer() => match self.r.below(8) {
                0 => Expr::new(ExprKind::Negate(Box::new(self.expression(ty, d))), ty),
                1 => {
                    let arguments = vec![self.expression(ty, d)];
                    Expr::new(ExprKind::Function { function: Function::Absolute, arguments }, ty)
                }
                2 if ty == Type::BigInt => {
                    let from = self.r.one_of(&[Type::Date, Type::Timestamp]);
                    let function =
                        self.r.one_of(&[Function::ExtractYear, Function::ExtractMonth, Function::ExtractDay]);
                    let arguments = vec![self.expression(from, d)];
                    Expr::new(ExprKind::Function { function, arguments }, ty)
                }
                3 if ty != Type::SmallInt => {
                    let arguments = vec![self.expression(Type::Text, d)];
                    Expr::new(ExprKind::Function { function: Function::CharacterLength, arguments }, ty)
                }
                4 if ty != Type::SmallInt => {
                    let (a, b) = (self.expression(Type::Date, d), self.expression(Type::Date, d));
                    self.arithmetic(A::Subtract, a, b, ty)
                }
                _ => {
                    let op = self.r.one_of(&[A::Add, A::Subtract, A::Multiply, A::Divide, A::Modulo]);
                    let (a, b) = (self.expression(ty, d), self.expression(ty, d));
                    self.arithmetic(op, a, b, ty)
                }
            },
            Type::Decimal { scale, .. } => {
                let same: Vec<Type> =
                    TYPES.iter().copied().filter(|t| t.is_decimal() && t.scale() == scale).collect();
                match self.r.below(5) {
                    0 => Expr::new(ExprKind::Negate(Box::new(self.expression(ty, d))), ty),
                    1 => {
                        let any = [dec(9, 2), dec(18, 4), dec(38, 6), dec(38, 2)];
                        let (p, q) = (self.r.one_of(&any), self.r.one_of(&any));
                        let (a, b) = (self.expression(p, d), self.expression(q, d));
                        self.arithmetic(A::Divide, a, b, ty)
                    }
                    2 if scale >= 4 => {
                        let factors: Vec<Type> =
                            TYPES.iter().copied().filter(|t| t.is_decimal() && t.scale() == 2).collect();
                        let rest: Vec<Type> = TYPES
                            .iter()
                            .copied()
                            .filter(|t| t.is_decimal() && t.scale() == scale - 2)
                            .collect();
                        let (p, q) = (self.r.one_of(&factors), self.r.one_of(&rest));
                        let (a, b) = (self.expression(p, d), self.expression(q, d));
                        self.arithmetic(A::Multiply, a, b, ty)
                    }
                    3 => {
                        let (a, b) = (self.expression(ty, d), self.expression(ty, d));
                        self.arithmetic(A::Modulo, a, b, ty)
                    }
                    _ => {
                        let op = self.r.one_of(&[A::Add, A::Subtract]);
                        let (p, q) = (self.r.one_of(&same), self.r.one_of(&same));
                        let (a, b) = (self.expression(p, d), self.expression(q, d));
                        self.arithmetic(op, a, b, ty)
                    }
                }
            }
            Type::Real | Type::Double => match self.r.below(5) {
                0 => Expr::new(ExprKind::Negate(Box::new(self.expression(ty, d))), ty),
                1 => {
                    let arguments = vec![self.expression(ty, d)];
                    Expr::new(ExprKind::Function { function: Function::Absolute, arguments }, ty)
                }
                _ => {
                    let op = self.r.one_of(&[A::Add, A::Subtract, A::Multiply, A::Divide]);
                    let (a, b) = (self.expression(ty, d), self.expression(ty, d));
                    self.arithmetic(op, a, b, ty)
                }
            },
            _ => self.moment(ty, d),
        }
    }

    /// A call of a function of doubles or bits.
    fn call(&mut self, ty: Type, d: usize) -> Option<Expr> {
        const OF_ONE: [&str; 22] = [
            "sqrt", "exp", "ln", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
            "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "floor", "ceil", "degrees", "radians",
        ];
        let (name, arguments) = match ty {
            Type::Double if self.r.chance(70) => (self.r.one_of(&OF_ONE), vec![self.expression(ty, d)]),
            Type::Double => {
                let name = self.r.one_of(&["power", "atan2"]);
                (name, vec![self.expression(ty, d), self.expression(ty, d)])
            }
            Type::SmallInt | Type::Integer | Type::BigInt if self.r.chance(60) => {
                (self.r.one_of(&["&", "|", "#"]), vec![self.expression(ty, d), self.expression(ty, d)])
            }
            Type::SmallInt | Type::Integer | Type::BigInt => {
                let name = self.r.one_of(&["<<", ">>"]);
                (name, vec![self.expression(ty, d), self.expression(Type::BigInt, d)])
            }
            _ => return None,
        };
        Some(Expr::new(ExprKind::Library { name: name.into(), arguments }, ty))
    }

    fn moment(&mut self, ty: Type, d: usize) -> Expr {
        use Arithmetic as A;
        let interval = self.r.one_of(&[Type::IntervalYearMonth, Type::IntervalDayTime]);
        let op = self.r.one_of(&[A::Add, A::Subtract]);
        let (left, right, op) = match ty {
            Type::Date if self.r.chance(40) => {
                (Type::Date, self.r.one_of(&[Type::Integer, Type::BigInt]), op)
            }
            Type::Date => (Type::Date, interval, op),
            Type::Timestamp => (Type::Timestamp, interval, op),
            Type::Time => (Type::Time, Type::IntervalDayTime, op),
            Type::IntervalDayTime if self.r.chance(40) => (Type::Timestamp, Type::Timestamp, A::Subtract),
            _ if self.r.chance(40) => {
                (ty, self.r.one_of(&[Type::Double, Type::Integer]), self.r.one_of(&[A::Multiply, A::Divide]))
            }
            _ => (ty, ty, op),
        };
        let (mut a, mut b) = (self.expression(left, d), self.expression(right, d));
        if matches!(op, A::Add | A::Multiply) && self.r.chance(30) {
            std::mem::swap(&mut a, &mut b);
        }
        self.arithmetic(op, a, b, ty)
    }

    fn text(&mut self, ty: Type, d: usize) -> Expr {
        // Only TEXT holds what these give; VARCHAR(20) comes from columns and casts.
        if ty != Type::Text {
            return self.leaf(ty);
        }
        let (function, arguments) = match self.r.below(4) {
            0 => (Function::Lower, vec![self.expression(ty, d)]),
            1 => (Function::Upper, vec![self.expression(ty, d)]),
            2 => (Function::Concatenate, vec![self.expression(ty, d), self.expression(Type::Varchar(20), d)]),
            _ => {
                let mut arguments = vec![self.expression(ty, d)];
                for _ in 0..1 + self.r.below(2) {
                    let small = Expr::literal(Value::I64(self.r.below(8) as i64), Type::BigInt);
                    arguments.push(if self.r.chance(70) { small } else { self.expression(Type::Integer, d) });
                }
                (Function::Substring, arguments)
            }
        };
        Expr::new(ExprKind::Function { function, arguments }, ty)
    }

    pub fn condition(&mut self, d: usize) -> Expr {
        let ty = self.r.one_of(&TYPES);
        match self.r.below(9) {
            0 | 1 => {
                let mut parts: Vec<Expr> =
                    (0..2 + self.r.below(2)).map(|_| self.expression(Type::Boolean, d)).collect();
                // Two operands that may fail leave open which error, or none, is right.
                let mut seen = false;
                parts.retain(|p| {
                    let keep = !(fails(p) && seen);
                    seen |= fails(p);
                    keep
                });
                if parts.len() < 2 {
                    return parts.remove(0);
                }
                if self.r.chance(50) { Expr::and(parts) } else { Expr::or(parts) }
            }
            2 => Expr::new(ExprKind::Not(Box::new(self.expression(Type::Boolean, d))), Type::Boolean),
            3 => Expr::new(
                ExprKind::IsNull { input: Box::new(self.expression(ty, d)), negated: self.r.chance(50) },
                Type::Boolean,
            ),
            4 => Expr::new(
                ExprKind::IsBoolean {
                    input: Box::new(self.expression(Type::Boolean, d)),
                    value: self.r.chance(50),
                    negated: self.r.chance(50),
                },
                Type::Boolean,
            ),
            5 => {
                let (left, right) = (Box::new(self.expression(ty, d)), Box::new(self.expression(ty, d)));
                Expr::new(ExprKind::NotDistinct { left, right, negated: self.r.chance(50) }, Type::Boolean)
            }
            6 => {
                let case_insensitive = self.r.chance(40);
                let pattern =
                    self.r.one_of(&["%a%", "PROMO%", "%special%requests%", "a_", "%é%", "", "%", "%l"]);
                let pattern = if case_insensitive { pattern.to_lowercase() } else { pattern.to_owned() };
                let kind = ExprKind::Like {
                    input: Box::new(self.expression(Type::Text, d)),
                    pattern: Arc::new(LikePattern::new(&pattern, None).unwrap()),
                    negated: self.r.chance(50),
                    case_insensitive,
                };
                Expr::new(kind, Type::Boolean)
            }
            7 => {
                let count = self.r.one_of(&[1, 2, 3, 6, 9, 40, 300]);
                let wild = self.wild && self.r.chance(30);
                let mut values: Vec<Value> = (0..count).map(|_| value(&mut self.r, ty, wild)).collect();
                values.sort();
                values.dedup();
                let kind = ExprKind::InList {
                    input: Box::new(self.expression(ty, d)),
                    values: values.into(),
                    has_null: self.r.chance(20),
                    negated: self.r.chance(50),
                };
                Expr::new(kind, Type::Boolean)
            }
            _ => {
                let op = self.r.one_of(&[
                    Comparison::Equal,
                    Comparison::NotEqual,
                    Comparison::Less,
                    Comparison::LessOrEqual,
                    Comparison::Greater,
                    Comparison::GreaterOrEqual,
                ]);
                Expr::compare(op, self.expression(ty, d), self.expression(ty, d))
            }
        }
    }
}

/// Same value and same kind of value; floats by their bits but for NaN, so that -0 is told from 0.
pub fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        _ => a.physical() == b.physical() && a == b,
    }
}
