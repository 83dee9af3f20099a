//! Reads a path: precedence climbing over its words, one word ahead.
//!
//! What gives items and what is a predicate have one grammar, since a bracket may hold either: `Part` is what was found,
//! and each place says which it takes. `last` is for subscripts, `@` for filters; elsewhere both are errors.

use types::jsonb::Tree;
use types::{Error, Result, SqlState};

use super::lex::{Token, tokens, wrong};
use super::{
    Arithmetic, Comparison, DEPTH_MAX, JsonPath, METHODS, Method, Node, Predicate, Step, number, too_deep,
};
use crate::regular::{Flags, Pattern};

/// What stands in brackets, or at an operator's side.
enum Part {
    Items(Node),
    Truth(Predicate),
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Filters and subscripts around.
    filters: usize,
    subscripts: usize,
}

pub(super) fn read(text: &str) -> Result<JsonPath> {
    let tokens = tokens(text)?;
    if tokens.len() == 1 {
        let message = "invalid input syntax for type jsonpath: \"\"";
        return Err(Error::new(SqlState::InvalidTextRepresentation, message));
    }
    let mut parser = Parser { text, tokens, at: 0, depth: 0, filters: 0, subscripts: 0 };
    let strict = parser.eat_word("strict");
    if !strict {
        parser.eat_word("lax");
    }
    let root = match parser.or()? {
        Part::Items(node) => node,
        Part::Truth(predicate) => Node::Predicate(Box::new(predicate)),
    };
    match parser.peek() {
        Token::End => Ok(JsonPath { strict, root }),
        _ => Err(parser.unexpected()),
    }
}

/// How tightly comparisons and arithmetic bind.
fn comparison(token: &Token) -> Option<Comparison> {
    let Token::Sign(sign) = token else { return None };
    Some(match *sign {
        "==" => Comparison::Equal,
        "!=" | "<>" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(own) if own.eq_ignore_ascii_case(word))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let there = self.is_word(word);
        if there {
            self.next();
        }
        there
    }

    fn eat(&mut self, sign: &str) -> bool {
        let there = matches!(self.peek(), Token::Sign(own) if *own == sign);
        if there {
            self.next();
        }
        there
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> Error {
        let near = match self.peek() {
            Token::End => return wrong("syntax error at end", self.text),
            Token::Word(text) | Token::Text(text) | Token::Number(text) => text.clone(),
            Token::Variable(name) => format!("${name}"),
            Token::Sign(sign) => (*sign).to_owned(),
        };
        wrong(format!("syntax error at or near \"{near}\""), self.text)
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    // Predicates.

    fn or(&mut self) -> Result<Part> {
        let around = self.depth;
        let mut left = self.and()?;
        while matches!(self.peek(), Token::Sign("||")) {
            let first = self.truth(left)?;
            self.next();
            let second = self.and()?;
            left = Part::Truth(Predicate::Or(Box::new(first), Box::new(self.truth(second)?)));
            self.higher()?;
        }
        self.depth = around;
        Ok(left)
    }

    fn and(&mut self) -> Result<Part> {
        let around = self.depth;
        let mut left = self.compared()?;
        while matches!(self.peek(), Token::Sign("&&")) {
            let first = self.truth(left)?;
            self.next();
            let second = self.compared()?;
            left = Part::Truth(Predicate::And(Box::new(first), Box::new(self.truth(second)?)));
            self.higher()?;
        }
        self.depth = around;
        Ok(left)
    }

    /// What was read so far gets a level around it.
    fn higher(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(too_deep()) } else { Ok(()) }
    }

    fn truth(&self, part: Part) -> Result<Predicate> {
        match part {
            Part::Truth(predicate) => Ok(predicate),
            Part::Items(_) => Err(self.unexpected()),
        }
    }

    fn items(&self, part: Part) -> Result<Node> {
        match part {
            Part::Items(node) => Ok(node),
            Part::Truth(_) => Err(self.unexpected()),
        }
    }

    /// A comparison, `starts with`, `like_regex`, or only one side.
    fn compared(&mut self) -> Result<Part> {
        if self.eat("!") {
            let predicate = self.nested(Self::delimited)?;
            return Ok(Part::Truth(Predicate::Not(Box::new(predicate))));
        }
        let left = self.sum()?;
        if let Some(comparison) = comparison(self.peek()) {
            let left = self.items(left)?;
            self.next();
            let right = self.sum()?;
            let right = self.items(right)?;
            return Ok(Part::Truth(Predicate::Compare { comparison, left, right }));
        }
        if self.is_word("starts")
            && matches!(self.peek_at(1), Token::Word(w) if w.eq_ignore_ascii_case("with"))
        {
            let whole = self.items(left)?;
            self.next();
            self.next();
            let start = match self.next() {
                Token::Text(text) => Node::Literal(Tree::Text(text)),
                Token::Variable(name) => Node::Variable(name),
                _ => {
                    self.at = self.at.saturating_sub(1);
                    return Err(self.unexpected());
                }
            };
            return Ok(Part::Truth(Predicate::StartsWith { whole, start }));
        }
        if self.is_word("like_regex") {
            let text = self.items(left)?;
            self.next();
            return Ok(Part::Truth(self.like_regex(text)?));
        }
        Ok(left)
    }

    /// Behind `!`: a predicate in brackets, or `exists`.
    fn delimited(&mut self) -> Result<Predicate> {
        if self.is_word("exists") {
            return self.exists();
        }
        self.expect("(")?;
        let inner = self.or()?;
        let inner = self.truth(inner)?;
        self.expect(")")?;
        Ok(inner)
    }

    fn exists(&mut self) -> Result<Predicate> {
        self.next();
        self.expect("(")?;
        let inner = self.nested(Self::sum)?;
        let inner = self.items(inner)?;
        self.expect(")")?;
        Ok(Predicate::Exists(inner))
    }

    fn like_regex(&mut self, text: Node) -> Result<Predicate> {
        let Token::Text(pattern) = self.next() else {
            self.at = self.at.saturating_sub(1);
            return Err(self.unexpected());
        };
        let mut letters = String::new();
        if self.eat_word("flag") {
            let Token::Text(given) = self.next() else {
                self.at = self.at.saturating_sub(1);
                return Err(self.unexpected());
            };
            letters = given;
        }
        let mut flags = Flags { across_lines: false, ..Flags::default() };
        for letter in letters.chars() {
            match letter {
                'i' => flags.insensitive = true,
                's' => flags.across_lines = true,
                'm' => flags.at_lines = true,
                'x' => flags.expanded = true,
                'q' => flags.literal = true,
                other => {
                    let error = wrong("invalid input syntax for type jsonpath", self.text);
                    let detail = format!("Unrecognized flag character \"{other}\" in LIKE_REGEX predicate.");
                    return Err(error.with_detail(detail));
                }
            }
        }
        if flags.expanded && !flags.literal {
            let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(Error::unsupported(message));
        }
        flags.expanded = false;
        if flags.literal {
            (flags.across_lines, flags.at_lines) = (true, false);
        }
        // A malformed pattern is an error of the path.
        Pattern::new(&pattern, flags)?;
        Ok(Predicate::LikeRegex { text, pattern, letters, flags })
    }

    // Items.

    fn sum(&mut self) -> Result<Part> {
        let around = self.depth;
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Token::Sign("+") => Arithmetic::Add,
                Token::Sign("-") => Arithmetic::Subtract,
                _ => {
                    self.depth = around;
                    return Ok(left);
                }
            };
            left = self.arithmetic(operator, left, Self::product)?;
        }
    }

    fn product(&mut self) -> Result<Part> {
        let around = self.depth;
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek() {
                Token::Sign("*") => Arithmetic::Multiply,
                Token::Sign("/") => Arithmetic::Divide,
                Token::Sign("%") => Arithmetic::Remainder,
                _ => {
                    self.depth = around;
                    return Ok(left);
                }
            };
            left = self.arithmetic(operator, left, Self::signed)?;
        }
    }

    fn arithmetic(
        &mut self,
        operator: Arithmetic,
        left: Part,
        right: fn(&mut Self) -> Result<Part>,
    ) -> Result<Part> {
        let left = Box::new(self.items(left)?);
        self.next();
        let right = right(self)?;
        let right = Box::new(self.items(right)?);
        self.higher()?;
        Ok(Part::Items(Node::Arithmetic { operator, left, right }))
    }

    fn signed(&mut self) -> Result<Part> {
        let minus = match self.peek() {
            Token::Sign("+") => false,
            Token::Sign("-") => true,
            _ => return self.accessed(),
        };
        self.next();
        let operand = self.nested(Self::signed)?;
        Ok(Part::Items(match self.items(operand)? {
            // A number with its sign is one.
            Node::Literal(Tree::Number(digits)) if minus => Node::Literal(number::negated(&digits)?),
            Node::Literal(number @ Tree::Number(_)) => Node::Literal(number),
            operand => Node::Sign { minus, operand: Box::new(operand) },
        }))
    }

    /// A start, and the steps behind it.
    fn accessed(&mut self) -> Result<Part> {
        let mut bracket = false;
        let start = match self.peek().clone() {
            Token::Sign("(") => {
                self.next();
                let inner = self.nested(Self::or)?;
                self.expect(")")?;
                bracket = true;
                match inner {
                    Part::Truth(predicate) if self.eat_word("is") => {
                        if !self.eat_word("unknown") {
                            return Err(self.unexpected());
                        }
                        return Ok(Part::Truth(Predicate::IsUnknown(Box::new(predicate))));
                    }
                    inner => inner,
                }
            }
            Token::Word(word) if word.eq_ignore_ascii_case("exists") => {
                return Ok(Part::Truth(self.exists()?));
            }
            _ => Part::Items(self.start()?),
        };
        let around = self.depth;
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            steps.push(step);
            self.higher()?;
        }
        self.depth = around;
        if steps.is_empty() {
            return Ok(start);
        }
        let start = match start {
            Part::Items(node) => node,
            Part::Truth(predicate) if bracket => Node::Predicate(Box::new(predicate)),
            Part::Truth(_) => return Err(self.unexpected()),
        };
        Ok(Part::Items(match start {
            // Brackets around a path change nothing.
            Node::Path { start, steps: mut all } => {
                all.append(&mut steps);
                Node::Path { start, steps: all }
            }
            start => Node::Path { start: Box::new(start), steps },
        }))
    }

    fn start(&mut self) -> Result<Node> {
        let start = match self.peek().clone() {
            Token::Sign("$") => Node::Root,
            Token::Sign("@") if self.filters > 0 => Node::Current,
            Token::Sign("@") => return Err(wrong("@ is not allowed in root expressions", self.text)),
            Token::Variable(name) => Node::Variable(name),
            Token::Text(text) => Node::Literal(Tree::Text(text)),
            Token::Number(digits) => Node::Literal(number::literal(&digits)?),
            Token::Word(word) => match word.as_str() {
                "null" => Node::Literal(Tree::Null),
                "true" => Node::Literal(Tree::Bool(true)),
                "false" => Node::Literal(Tree::Bool(false)),
                _ if word.eq_ignore_ascii_case("last") && self.subscripts > 0 => Node::Last,
                _ if word.eq_ignore_ascii_case("last") => {
                    return Err(wrong("LAST is allowed only in array subscripts", self.text));
                }
                _ => return Err(self.unexpected()),
            },
            _ => return Err(self.unexpected()),
        };
        self.next();
        Ok(start)
    }

    fn step(&mut self) -> Result<Option<Step>> {
        if self.eat("[") {
            return self.subscript().map(Some);
        }
        if self.eat("?") {
            self.expect("(")?;
            self.filters += 1;
            let inner = self.nested(Self::or)?;
            self.filters -= 1;
            let inner = self.truth(inner)?;
            self.expect(")")?;
            return Ok(Some(Step::Filter(inner)));
        }
        if !self.eat(".") {
            return Ok(None);
        }
        Ok(Some(match self.next() {
            Token::Sign("*") => Step::AnyKey,
            Token::Sign("**") => self.levels()?,
            Token::Text(key) => Step::Key(key),
            Token::Word(word) if matches!(self.peek(), Token::Sign("(")) => Step::Method(self.method(&word)?),
            Token::Word(key) => Step::Key(key),
            _ => {
                self.at = self.at.saturating_sub(1);
                return Err(self.unexpected());
            }
        }))
    }

    fn subscript(&mut self) -> Result<Step> {
        if matches!(self.peek(), Token::Sign("*")) && matches!(self.peek_at(1), Token::Sign("]")) {
            self.next();
            self.next();
            return Ok(Step::AnyElement);
        }
        self.subscripts += 1;
        let mut places = Vec::new();
        loop {
            let first = self.nested(Self::sum)?;
            let first = self.items(first)?;
            let last = match self.eat_word("to") {
                true => {
                    let last = self.nested(Self::sum)?;
                    Some(self.items(last)?)
                }
                false => None,
            };
            places.push((first, last));
            if !self.eat(",") {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(Step::Elements(places))
    }

    /// `{first to last}` behind `**`, of which each may be missing.
    fn levels(&mut self) -> Result<Step> {
        if !self.eat("{") {
            return Ok(Step::Deep { first: Some(0), last: None });
        }
        let first = self.level()?;
        let last = if self.eat_word("to") { self.level()? } else { first };
        self.expect("}")?;
        Ok(Step::Deep { first, last })
    }

    fn level(&mut self) -> Result<Option<u32>> {
        if self.eat_word("last") {
            return Ok(None);
        }
        let level = match self.peek() {
            Token::Number(digits) => digits.parse::<u32>().ok().filter(|level| *level <= i32::MAX as u32),
            _ => None,
        };
        match level {
            Some(level) => {
                self.next();
                Ok(Some(level))
            }
            None => Err(self.unexpected()),
        }
    }

    fn method(&mut self, word: &str) -> Result<Method> {
        let Some((_, method)) = METHODS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) else {
            let names: Vec<String> = METHODS.iter().map(|(name, _)| format!("{name}()")).collect();
            return Err(wrong(format!("there is no method {word}()"), self.text)
                .with_hint(format!("the methods are {}", names.join(", "))));
        };
        self.expect("(")?;
        if *method == Method::Datetime && matches!(self.peek(), Token::Text(_)) {
            return Err(Error::unsupported("a template of .datetime() in a jsonpath")
                .with_hint("without a template it reads ISO dates, times and timestamps"));
        }
        self.expect(")")?;
        Ok(*method)
    }
}
