//! Printing expressions.
//!
//! As in all of `print`, what comes out is read back as the same tree. Brackets are nodes, so that none is added
//! here; a blank keeps apart what would be one token, such as two signs or a number and a point.

use super::{Print, clause, each, in_parens, list, put, quoted, word_if};
use crate::tree::{
    Argument, ArgumentSign, Arguments, Call, Case, CastStyle, Comprehension, Expr, ExprKind, InSet,
    IntervalField, IntervalFields, IsKind, Lambda, LikeKind, LikeTest, Literal, NullTreatment, Operator,
    OperatorKind, OrderItem, Over, Parameter, Quantifier, SliceStep, SpecialCall, Star, TrimSide,
};

impl Print for Expr {
    fn print(&self, out: &mut String) {
        self.kind.print(out);
    }
}

impl Print for ExprKind {
    fn print(&self, out: &mut String) {
        match self {
            ExprKind::Literal(literal) => literal.print(out),
            ExprKind::Parameter(parameter) => parameter.print(out),
            ExprKind::Column(path) => path.print(out),
            ExprKind::Position(number) => put!(out, "#", number.to_string().as_str()),
            ExprKind::Star(star) => star.print(out),
            ExprKind::Columns(call) => {
                if let Some(of) = &call.of {
                    put!(out, of, ".");
                }
                word_star(out, call.unpacked);
                put!(out, "COLUMNS(", call.which, ")");
            }
            ExprKind::Nested(inner) => put!(out, "(", inner, ")"),
            ExprKind::Prefix(operator, operand) => prefix(out, operator, operand),
            ExprKind::Is(test) => {
                put!(out, test.expr, " IS");
                word_if(out, test.negated, "NOT");
                put!(out, " ", test.test);
            }
            ExprKind::Chain(first, rest) => {
                first.print(out);
                for (operator, operand) in rest {
                    put!(out, " ", operator, " ", operand);
                }
            }
            ExprKind::Cast(call) => match call.style {
                CastStyle::Colons => put!(out, call.expr, "::", call.to),
                CastStyle::Cast => put!(out, "CAST(", call.expr, " AS ", call.to, ")"),
                CastStyle::TryCast => put!(out, "TRY_CAST(", call.expr, " AS ", call.to, ")"),
            },
            ExprKind::Collate(expr, collation) => put!(out, expr, " COLLATE ", collation),
            ExprKind::AtTimeZone(expr, Some(zone)) => put!(out, expr, " AT TIME ZONE ", zone),
            ExprKind::AtTimeZone(expr, None) => put!(out, expr, " AT LOCAL"),
            ExprKind::In(test) => {
                test.expr.print(out);
                word_if(out, test.negated, "NOT");
                put!(out, " IN ", test.set);
            }
            ExprKind::Between(test) => {
                test.expr.print(out);
                word_if(out, test.negated, "NOT");
                out.push_str(" BETWEEN");
                word_if(out, test.symmetric, "SYMMETRIC");
                put!(out, " ", test.low, " AND ", test.high);
            }
            ExprKind::Like(test) => test.print(out),
            ExprKind::Quantified(test) => {
                put!(out, test.expr, " ", test.operator, " ", test.quantifier, " ");
                match &test.set {
                    InSet::Expr(expr) => put!(out, "(", expr, ")"),
                    set => set.print(out),
                }
            }
            ExprKind::Exists(query) => put!(out, "EXISTS (", query, ")"),
            ExprKind::Subquery(query) => put!(out, "(", query, ")"),
            ExprKind::ArrayOf(query) => put!(out, "ARRAY(", query, ")"),
            ExprKind::List { array, elements } => {
                out.push_str(if *array { "ARRAY[" } else { "[" });
                list(out, elements);
                out.push(']');
            }
            ExprKind::Comprehension(made) => made.print(out),
            ExprKind::Struct(fields) => {
                out.push('{');
                each(out, fields, ", ", |out, (name, value)| put!(out, name, ": ", value));
                out.push('}');
            }
            ExprKind::Map(entries) => {
                out.push_str("MAP {");
                each(out, entries, ", ", |out, (key, value)| put!(out, key, ": ", value));
                out.push('}');
            }
            ExprKind::Row { row, elements } => {
                out.push_str(if *row { "ROW(" } else { "(" });
                list(out, elements);
                // `(a)` would be an expression in parentheses.
                out.push_str(if !*row && elements.len() == 1 { ",)" } else { ")" });
            }
            ExprKind::Case(case) => case.print(out),
            ExprKind::Call(call) => call.print(out),
            ExprKind::Special(call) => call.print(out),
            ExprKind::Index(expr, index) => put!(out, expr, "[", index, "]"),
            ExprKind::Slice(slice) => slice.print(out),
            ExprKind::Field(expr, Some(name)) => {
                // `1.a` would be a number with junk behind it.
                let number = matches!(expr.kind, ExprKind::Literal(Literal::Number(_)));
                put!(out, expr, if number { " ." } else { "." }, name);
            }
            ExprKind::Field(expr, None) => put!(out, expr, " .*"),
            ExprKind::Method(expr, call) => put!(out, expr, " .", call),
            ExprKind::Lambda(lambda) => lambda.print(out),
            ExprKind::Overlaps(left, right) => put!(out, left, " OVERLAPS ", right),
            ExprKind::Default => out.push_str("DEFAULT"),
        }
    }
}

impl Print for LikeTest {
    fn print(&self, out: &mut String) {
        self.expr.print(out);
        word_if(out, self.negated, "NOT");
        put!(out, " ", self.kind, " ");
        if let Some(quantifier) = &self.quantifier {
            quantifier.print(out);
            out.push(' ');
        }
        self.pattern.print(out);
        clause(out, "ESCAPE", self.escape.as_ref());
    }
}

impl Print for Comprehension {
    fn print(&self, out: &mut String) {
        put!(out, "[", self.element, " FOR ", self.name);
        if let Some(position) = &self.position {
            put!(out, ", ", position);
        }
        put!(out, " IN ", self.list);
        clause(out, "IF", self.condition.as_ref());
        out.push(']');
    }
}

impl Print for Case {
    fn print(&self, out: &mut String) {
        out.push_str("CASE");
        if let Some(operand) = &self.operand {
            put!(out, " ", operand);
        }
        for (condition, value) in &self.branches {
            put!(out, " WHEN ", condition, " THEN ", value);
        }
        clause(out, "ELSE", self.otherwise.as_ref());
        out.push_str(" END");
    }
}

impl Print for SliceStep {
    fn print(&self, out: &mut String) {
        put!(out, self.expr, "[");
        if let Some(from) = &self.from {
            from.print(out);
        }
        out.push_str(" :");
        match &self.to {
            Some(to) => put!(out, " ", to),
            None if self.step.is_some() => out.push_str(" -"),
            None => {}
        }
        if let Some(step) = &self.step {
            put!(out, " : ", step);
        }
        out.push(']');
    }
}

impl Print for Lambda {
    fn print(&self, out: &mut String) {
        match (self.worded, self.parameters.as_slice()) {
            (true, parameters) => {
                out.push_str("lambda ");
                list(out, parameters);
                out.push_str(" : ");
            }
            (false, [parameter]) => put!(out, parameter, " -> "),
            (false, parameters) => {
                out.push('(');
                list(out, parameters);
                out.push_str(") -> ");
            }
        }
        self.body.print(out);
    }
}

fn word_star(out: &mut String, unpacked: bool) {
    if unpacked {
        out.push('*');
    }
}

fn prefix(out: &mut String, operator: &Operator, operand: &Expr) {
    operator.print(out);
    // Two signs side by side would begin a comment, other operators would become one.
    let sign = matches!(operator.kind, OperatorKind::Minus | OperatorKind::Plus);
    let before = out.len();
    operand.print(out);
    let begins = out[before..]
        .starts_with(|c: char| !c.is_alphanumeric() && !matches!(c, '(' | '\'' | '"' | '_' | '['));
    if !sign || begins {
        out.insert(before, ' ');
    }
}

impl Print for Literal {
    fn print(&self, out: &mut String) {
        match self {
            Literal::Null => out.push_str("NULL"),
            Literal::Bool(true) => out.push_str("TRUE"),
            Literal::Bool(false) => out.push_str("FALSE"),
            Literal::Number(digits) => out.push_str(digits),
            Literal::Text(text) => quoted(out, text),
            Literal::Bits(digits) => put!(out, "B'", digits, "'"),
            Literal::Bytes(digits) => put!(out, "X'", digits, "'"),
            Literal::Typed(ty, text) => put!(out, ty, " ", text),
            Literal::Interval(literal) => {
                out.push_str("INTERVAL");
                super::precision(out, literal.precision);
                put!(out, " ", literal.value);
                if let Some(fields) = &literal.fields {
                    put!(out, " ", fields);
                }
            }
        }
    }
}

impl Print for Parameter {
    fn print(&self, out: &mut String) {
        match self {
            Parameter::Number(number) => put!(out, "$", number.to_string().as_str()),
            Parameter::Question(_) => out.push('?'),
            Parameter::Dollar(name) => put!(out, "$", name),
            Parameter::Colon(name) => put!(out, ":", name),
        }
    }
}

impl Print for Operator {
    fn print(&self, out: &mut String) {
        out.push_str(match &self.kind {
            OperatorKind::Or => "OR",
            OperatorKind::And => "AND",
            OperatorKind::Not => "NOT",
            OperatorKind::Equal => "=",
            OperatorKind::NotEqual => "<>",
            OperatorKind::Less => "<",
            OperatorKind::LessEqual => "<=",
            OperatorKind::Greater => ">",
            OperatorKind::GreaterEqual => ">=",
            OperatorKind::Plus => "+",
            OperatorKind::Minus => "-",
            OperatorKind::Times => "*",
            OperatorKind::Divide => "/",
            OperatorKind::DivideWhole => "//",
            OperatorKind::Modulo => "%",
            OperatorKind::Power => "^",
            OperatorKind::PowerStars => "**",
            OperatorKind::Symbol(symbol) => symbol,
            OperatorKind::Qualified(path, symbol) => {
                out.push_str("OPERATOR(");
                for name in &path.names {
                    put!(out, name, ".");
                }
                put!(out, symbol, ")");
                return;
            }
        });
    }
}

impl Print for Star {
    fn print(&self, out: &mut String) {
        if let Some(of) = &self.of {
            put!(out, of, ".");
        }
        out.push('*');
        if let Some(names) = &self.names {
            word_if(out, names.negated, "NOT");
            put!(out, " ", names.kind, " ", names.pattern);
            if let Some(escape) = &names.escape {
                put!(out, " ESCAPE ", escape);
            }
        }
        if !self.exclude.is_empty() {
            out.push_str(if self.except { " EXCEPT" } else { " EXCLUDE" });
            in_parens(out, &self.exclude);
        }
        if !self.replace.is_empty() {
            out.push_str(" REPLACE (");
            each(out, &self.replace, ", ", |out, (value, name)| put!(out, value, " AS ", name));
            out.push(')');
        }
        if !self.rename.is_empty() {
            out.push_str(" RENAME (");
            each(out, &self.rename, ", ", |out, (from, to)| put!(out, from, " AS ", to));
            out.push(')');
        }
    }
}

impl Print for IsKind {
    fn print(&self, out: &mut String) {
        match self {
            IsKind::Null => out.push_str("NULL"),
            IsKind::True => out.push_str("TRUE"),
            IsKind::False => out.push_str("FALSE"),
            IsKind::Unknown => out.push_str("UNKNOWN"),
            IsKind::DistinctFrom(other) => put!(out, "DISTINCT FROM ", other),
            IsKind::Normalized(None) => out.push_str("NORMALIZED"),
            IsKind::Normalized(Some(form)) => put!(out, form, " NORMALIZED"),
            IsKind::Json(None) => out.push_str("JSON"),
            IsKind::Json(Some(part)) => put!(out, "JSON ", part),
        }
    }
}

impl Print for LikeKind {
    fn print(&self, out: &mut String) {
        out.push_str(match self {
            LikeKind::Like => "LIKE",
            LikeKind::ILike => "ILIKE",
            LikeKind::SimilarTo => "SIMILAR TO",
            LikeKind::Glob => "GLOB",
            LikeKind::RLike => "RLIKE",
        });
    }
}

impl Print for Quantifier {
    fn print(&self, out: &mut String) {
        out.push_str(match self {
            Quantifier::Any => "ANY",
            Quantifier::All => "ALL",
        });
    }
}

impl Print for InSet {
    fn print(&self, out: &mut String) {
        match self {
            InSet::List(elements) => {
                out.push('(');
                list(out, elements);
                out.push(')');
            }
            InSet::Query(query) => put!(out, "(", query, ")"),
            InSet::Expr(expr) => expr.print(out),
        }
    }
}

impl Print for Argument {
    fn print(&self, out: &mut String) {
        if self.variadic {
            out.push_str("VARIADIC ");
        }
        if let Some((name, sign)) = &self.name {
            let sign = match sign {
                ArgumentSign::Arrow => " => ",
                ArgumentSign::ColonEquals => " := ",
                ArgumentSign::Equals => " = ",
            };
            put!(out, name, sign);
        }
        // A query that is an argument stands without parentheses of its own.
        self.value.print(out);
    }
}

impl Print for Arguments {
    fn print(&self, out: &mut String) {
        out.push('(');
        match self.distinct {
            Some(true) => out.push_str("DISTINCT "),
            Some(false) => out.push_str("ALL "),
            None => {}
        }
        list(out, &self.list);
        order_by(out, &self.order_by);
        clause(out, "LIMIT", self.limit.as_ref());
        out.push(')');
    }
}

/// ` ORDER BY a, b`, where there are some.
pub(crate) fn order_by(out: &mut String, items: &[OrderItem]) {
    if !items.is_empty() {
        out.push_str(" ORDER BY ");
        list(out, items);
    }
}

impl Print for Call {
    fn print(&self, out: &mut String) {
        self.name.print(out);
        if let Some(arguments) = &self.arguments {
            arguments.print(out);
        }
        if !self.within_group.is_empty() {
            out.push_str(" WITHIN GROUP (ORDER BY ");
            list(out, &self.within_group);
            out.push(')');
        }
        if let Some(filter) = &self.filter {
            put!(out, " FILTER (WHERE ", filter, ")");
        }
        match self.nulls {
            Some(NullTreatment::Ignore) => out.push_str(" IGNORE NULLS"),
            Some(NullTreatment::Respect) => out.push_str(" RESPECT NULLS"),
            None => {}
        }
        match &self.over {
            None => {}
            Some(Over::Name(name)) => put!(out, " OVER ", name),
            Some(Over::Spec(spec)) => put!(out, " OVER ", spec),
        }
    }
}

impl Print for SpecialCall {
    fn print(&self, out: &mut String) {
        match self {
            SpecialCall::Extract(field, expr) => put!(out, "EXTRACT(", field, " FROM ", expr, ")"),
            SpecialCall::Position(part, text) => put!(out, "POSITION(", part, " IN ", text, ")"),
            SpecialCall::Substring { text, from, length } => {
                put!(out, "SUBSTRING(", text);
                clause(out, "FROM", from.as_ref());
                clause(out, "FOR", length.as_ref());
                out.push(')');
            }
            SpecialCall::SubstringSimilar(text, pattern, escape) => {
                put!(out, "SUBSTRING(", text, " SIMILAR ", pattern, " ESCAPE ", escape, ")");
            }
            SpecialCall::Trim { side, characters, texts } => {
                out.push_str("TRIM(");
                if let Some(side) = side {
                    out.push_str(match side {
                        TrimSide::Both => "BOTH ",
                        TrimSide::Leading => "LEADING ",
                        TrimSide::Trailing => "TRAILING ",
                    });
                }
                if let Some(characters) = characters {
                    put!(out, characters, " ");
                }
                out.push_str("FROM ");
                list(out, texts);
                out.push(')');
            }
            SpecialCall::Overlay(text, with, from, length) => {
                put!(out, "OVERLAY(", text, " PLACING ", with, " FROM ", from);
                clause(out, "FOR", length.as_ref());
                out.push(')');
            }
            SpecialCall::RoundTo { up, expr, field } => {
                put!(out, if *up { "CEIL(" } else { "FLOOR(" }, expr, " TO ", field, ")");
            }
            SpecialCall::Normalize(expr, form) => put!(out, "NORMALIZE(", expr, ", ", form, ")"),
            SpecialCall::Try(expr) => put!(out, "TRY(", expr, ")"),
        }
    }
}

impl Print for IntervalField {
    fn print(&self, out: &mut String) {
        out.push_str(match self {
            IntervalField::Millennium => "MILLENNIUM",
            IntervalField::Century => "CENTURY",
            IntervalField::Decade => "DECADE",
            IntervalField::Year => "YEAR",
            IntervalField::Quarter => "QUARTER",
            IntervalField::Month => "MONTH",
            IntervalField::Week => "WEEK",
            IntervalField::Day => "DAY",
            IntervalField::Hour => "HOUR",
            IntervalField::Minute => "MINUTE",
            IntervalField::Second => "SECOND",
            IntervalField::Millisecond => "MILLISECOND",
            IntervalField::Microsecond => "MICROSECOND",
        });
    }
}

impl Print for IntervalFields {
    fn print(&self, out: &mut String) {
        self.from.print(out);
        if let Some(to) = &self.to {
            put!(out, " TO ", to);
        }
        super::precision(out, self.precision);
    }
}
