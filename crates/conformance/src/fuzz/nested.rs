//! Lists, structs and maps inside expressions of the other families: made, taken apart, put together, compared.
//!
//! The reference interpreter does not know them. Queries that hold some are judged by each other: what the first
//! configuration says is what the others are compared with (`round`).

use super::expressions::Generator;
use super::tree::{Expr, Family, Piece};

/// What elements may be: families whose values have one text and one order.
const ELEMENTS: [Family; 6] =
    [Family::Whole, Family::Text, Family::Boolean, Family::Decimal, Family::Date, Family::Timestamp];

/// A list on its way: text with holes for elements.
struct List {
    template: String,
    holes: Vec<Piece>,
}

impl List {
    /// `template` with its one `@` filled by the list.
    fn inside(mut self, template: &str) -> List {
        self.template = template.replace('@', &self.template);
        self
    }

    fn beside(mut self, other: List, template: &str) -> List {
        self.template = template.replacen('@', &self.template, 1).replacen('@', &other.template, 1);
        self.holes.extend(other.holes);
        self
    }

    fn expr(self, family: Family) -> Expr {
        Expr::new(family, &self.template, self.holes)
    }
}

impl Generator<'_> {
    fn element(&mut self) -> Family {
        let family = self.any_family();
        if ELEMENTS.contains(&family) { family } else { *self.random.pick(&ELEMENTS) }
    }

    /// An expression of the family whose operands are nested; `None` where the family is none of elements.
    pub(super) fn nested_expr(&mut self, family: Family, depth: usize) -> Option<Expr> {
        if !ELEMENTS.contains(&family) {
            return None;
        }
        let own = match family {
            Family::Whole => 5,
            Family::Boolean => 6,
            Family::Text => 2,
            _ => 0,
        };
        if self.rewrites && self.random.chance(15) {
            let other = self.element();
            let template = match family {
                Family::Boolean => "(to_jsonb({}) = to_jsonb({}))",
                Family::Text => "(jsonb_build_object('k', {}, 'l', {}) ->> 'k')",
                Family::Whole => "jsonb_array_length(jsonb_build_array({}, {}))",
                _ => "struct_extract({'x': {}, 'j': CAST('{\"k\": 1}' AS JSONB), 'y': {}}, 'x')",
            };
            let first = if family == Family::Boolean { other } else { family };
            let holes = vec![self.expr(first, depth).into(), self.expr(other, 0).into()];
            return Some(Expr::new(family, template, holes));
        }
        Some(match self.random.below(8 + own) {
            0 | 1 => self.taken(family, depth),
            2 => {
                let name =
                    *self.random.pick(&["list_min", "list_max", "list_first", "list_last", "list_any_value"]);
                self.list(family, depth).inside(&format!("{name}(@)")).expr(family)
            }
            3 => {
                let other = self.element();
                let holes = vec![self.expr(family, depth).into(), self.expr(other, 0).into()];
                let template = *self.random.pick(&[
                    "struct_extract({'x': {}, 'y': {}}, 'x')",
                    "struct_extract(struct_pack(p := {}, q := {}), 1)",
                    "struct_extract(row({}, {}), 1)",
                    "struct_extract(struct_extract({'s': {'x': {}, 'y': {}}}, 's'), 'x')",
                ]);
                Expr::new(family, template, holes)
            }
            4 => {
                let key = *self.random.pick(&["'a'", "'b'", "'c'", "NULL"]);
                let holes = vec![self.expr(family, depth).into(), self.expr(family, 0).into()];
                Expr::new(family, &format!("map_extract_value(map(['a', 'b'], [{{}}, {{}}]), {key})"), holes)
            }
            5 => self.list(family, depth).inside("list_reduce(@, (p, q) -> COALESCE(p, q))").expr(family),
            6 => {
                // A list of structs, and a field of one of them.
                let holes = vec![self.expr(family, depth).into(), self.expr(family, 0).into()];
                let at = self.random.between(-2, 3);
                Expr::new(
                    family,
                    &format!("struct_extract([{{'x': {{}}}}, {{'x': {{}}}}][{at}], 'x')"),
                    holes,
                )
            }
            7 => self.list(family, depth).inside("flatten([@, NULL, @])[3]").doubled().expr(family),
            _ if family == Family::Whole => self.count_of_list(depth),
            _ if family == Family::Boolean => self.condition_on_lists(depth),
            _ => {
                let element = if self.random.chance(50) { Family::Text } else { Family::Whole };
                let template = match element {
                    Family::Text => "array_to_string(@, '-', '?')",
                    _ => "CAST(@ AS TEXT)",
                };
                self.list(element, depth).inside(template).expr(family)
            }
        })
    }

    /// An element by its place, which need not be there.
    fn taken(&mut self, family: Family, depth: usize) -> Expr {
        let at = self.random.between(-4, 4);
        self.list(family, depth).inside(&format!("(@)[{at}]")).expr(family)
    }

    fn count_of_list(&mut self, depth: usize) -> Expr {
        let element = self.element();
        let list = self.list(element, depth);
        let w = Family::Whole;
        match self.random.below(5) {
            0 => list.inside("len(@)").expr(w),
            1 => list.inside("list_count(@)").expr(w),
            2 => list.inside("list_unique(@)").expr(w),
            3 => {
                let sought = self.expr(element, 0);
                let mut list = list.inside("list_position(@, {})");
                list.holes.push(sought.into());
                list.expr(w)
            }
            _ => self.list(w, depth).inside("CAST(list_sum(@) AS BIGINT)").expr(w),
        }
    }

    fn condition_on_lists(&mut self, depth: usize) -> Expr {
        let (b, element) = (Family::Boolean, self.element());
        let list = self.list(element, depth);
        if self.random.chance(35) {
            let sought = self.expr(element, 0);
            let mut list = list.inside("list_contains(@, {})");
            list.holes.push(sought.into());
            return list.expr(b);
        }
        let other = self.list(element, 0);
        let template = *self.random.pick(&[
            "list_has_any(@, @)",
            "list_has_all(@, @)",
            "(@ = @)",
            "(@ < @)",
            "(@ >= @)",
            "(@ IS DISTINCT FROM @)",
            "({'l': @} = {'l': @})",
        ]);
        list.beside(other, template).expr(b)
    }

    /// A list of one to three elements, or what a function makes of one.
    fn list(&mut self, element: Family, depth: usize) -> List {
        let below = depth.saturating_sub(1);
        if depth > 0 && self.random.chance(45) {
            let inner = self.list(element, below);
            return match self.random.below(9) {
                0 => inner.inside("list_reverse(@)"),
                1 => inner.inside("list_sort(@)"),
                2 => inner.inside("list_sort(list_distinct(@))"),
                3 => inner.inside("list_filter(@, y -> y IS NOT NULL)"),
                4 => inner.inside("list_slice(@, 2, 3)"),
                5 if element == Family::Whole => inner.inside("list_transform(@, y -> y % 5)"),
                5 | 6 => inner.inside("list_transform(@, y -> COALESCE(y, NULL))"),
                7 => {
                    let other = self.list(element, 0);
                    inner.beside(other, "list_concat(@, @)")
                }
                _ => {
                    let (condition, other) = (self.expr(Family::Boolean, below), self.list(element, 0));
                    let mut choice = List { template: String::new(), holes: vec![condition.into()] };
                    choice.template =
                        format!("CASE WHEN {{}} THEN {} ELSE {} END", inner.template, other.template);
                    choice.holes.extend(inner.holes);
                    choice.holes.extend(other.holes);
                    choice
                }
            };
        }
        let count = 1 + self.random.below(3);
        let holes: Vec<Piece> = (0..count).map(|_| self.expr(element, below).into()).collect();
        List { template: format!("[{}]", vec!["{}"; count].join(", ")), holes }
    }

    /// An aggregate that gathers rows; elements are sorted, since rows have no order.
    pub(super) fn nested_aggregate(&mut self, family: Family) -> Option<Expr> {
        if !ELEMENTS.contains(&family) {
            return None;
        }
        let distinct = if self.random.chance(30) { "DISTINCT " } else { "" };
        let at = self.random.between(-2, 3);
        let value = self.expr(family, 1);
        Some(Expr::new(family, &format!("list_sort(list({distinct}{{}}))[{at}]"), vec![value.into()]))
    }
}

impl List {
    /// For a template in which the list stands twice.
    fn doubled(mut self) -> List {
        let again = self.holes.clone();
        self.holes.extend(again);
        self
    }
}
