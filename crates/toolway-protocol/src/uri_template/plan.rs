//! How is a template prepared for matching, or why can it not be matched?
//!
//! A template is split where a URI is split, at its first `?` and its first `#`. The value of a variable before such a
//! split cannot contain the `?` or `#`. Within a section, literals and captures alternate. One capture, the pivot,
//! takes the text that the other captures leave. Captures before it end at the first possible position, captures after
//! it begin at the last possible position. This method finds a match whenever there is one, without backtracking: all
//! captures except the pivot stop at the same signs, so text that fits a longer capture also fits a shorter one and a
//! longer neighbor.

use super::parse::TemplateError;
use super::parts::{Expression, Modifier, Operator, Part, Variable};
use super::percent::{AllowedCharacters, normalize};

#[derive(Clone, Default)]
pub(super) struct Plan {
    pub(super) path: Section,
    /// The section after a literal `?`.
    pub(super) query: Option<Section>,
    /// The number of `&` in the literals of the query. The next `&` in a URI begins `named`.
    pub(super) ampersands: usize,
    /// The variables of `{?…}` and `{&…}`.
    pub(super) named: Vec<NamedSlot>,
    pub(super) fragment: Option<Section>,
}

/// Alternating literals and captures.
#[derive(Clone, Default)]
pub(super) struct Section {
    pub(super) tokens: Vec<Token>,
    /// The index of the capture that spans path segments, otherwise of the last capture.
    pub(super) pivot: Option<usize>,
}

#[derive(Clone)]
pub(super) enum Token {
    /// Normalized literal text.
    Literal(String),
    Capture(Capture),
}

#[derive(Clone)]
pub(super) struct Capture {
    /// The characters that the value contains only in encoded form.
    pub(super) stops: &'static [char],
    pub(super) kind: CaptureKind,
}

#[derive(Clone)]
pub(super) enum CaptureKind {
    Text(Slot),
    /// A list, and the separator of its items.
    List(Slot, char),
    /// `name=value` pairs between semicolons; all of them are required.
    Parameters(Vec<NamedSlot>),
}

#[derive(Clone)]
pub(super) struct NamedSlot {
    /// The normalized name.
    pub(super) name: String,
    /// The variable. An exploded variable takes one item each time the name occurs.
    pub(super) slot: Slot,
}

/// The variable that takes a value.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// The index of the variable in the template.
    pub(super) variable: usize,
    pub(super) modifier: Modifier,
    /// The characters that the value keeps unencoded; a value with reserved characters can span path segments.
    pub(super) allowed_characters: AllowedCharacters,
}

/// Prepares a template for matching.
pub(super) fn plan(parts: &[Part]) -> Result<Plan, TemplateError> {
    let mut planner =
        Planner { plan: Plan::default(), component: UriComponent::Path, offset: 0, variables: 0 };
    for part in parts {
        match part {
            Part::Literal(literal) => {
                planner.literal(&normalize(literal).expect("a literal holds whole triplets only"))?;
            }
            Part::Expression(expression) => planner.expression(expression)?,
        }
    }
    let mut plan = planner.plan;
    for section in [Some(&mut plan.path), plan.query.as_mut(), plan.fragment.as_mut()].into_iter().flatten() {
        let last_capture = section.tokens.iter().rposition(|token| matches!(token, Token::Capture(_)));
        section.pivot = section.pivot.or(last_capture);
    }
    Ok(plan)
}

struct Planner {
    plan: Plan,
    component: UriComponent,
    /// The position of the latest expression.
    offset: usize,
    /// The number of variables so far.
    variables: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UriComponent {
    Path,
    Query,
    Fragment,
}

impl Planner {
    fn literal(&mut self, literal: &str) -> Result<(), TemplateError> {
        let mut rest = literal;
        loop {
            let cut = match self.component {
                UriComponent::Path => rest.find(['?', '#']),
                UriComponent::Query => rest.find('#'),
                UriComponent::Fragment => None,
            };
            let (before, after) = rest.split_at(cut.unwrap_or(rest.len()));
            if !before.is_empty() {
                if self.component == UriComponent::Query {
                    self.plan.ampersands += before.matches('&').count();
                }
                self.section()?.push_literal(before);
            }
            if cut.is_none() {
                return Ok(());
            }
            let (sign, behind) = after.split_at(1);
            self.component = if sign == "?" { UriComponent::Query } else { UriComponent::Fragment };
            // The section is created even if nothing follows, because the sign itself is required.
            self.section()?;
            rest = behind;
        }
    }

    fn expression(&mut self, expression: &Expression) -> Result<(), TemplateError> {
        self.offset = expression.offset;
        match expression.operator {
            Operator::Query | Operator::Continuation => self.query(expression),
            Operator::Parameter => self.parameters(expression),
            _ => self.captures(expression),
        }
    }

    fn query(&mut self, expression: &Expression) -> Result<(), TemplateError> {
        match (expression.operator, self.component) {
            (Operator::Query, UriComponent::Path) => self.component = UriComponent::Query,
            (Operator::Query, _) => {
                return self.refuse("a URI has one query, before its fragment; continue it with `{&…}`");
            }
            (_, UriComponent::Query) => {}
            (_, UriComponent::Path | UriComponent::Fragment) => {
                return self.refuse("there is no query that `{&…}` could continue, write `{?…}`");
            }
        }
        let mut named = self.named(expression);
        self.plan.named.append(&mut named);
        Ok(())
    }

    /// Merges adjacent expressions, so that `{;a*}{;b}` is read like `{;a*,b}`: by names, not by the next semicolon.
    fn parameters(&mut self, expression: &Expression) -> Result<(), TemplateError> {
        let mut named = self.named(expression);
        let list = expression.variables.iter().find(|variable| variable.modifier == Modifier::Explode);
        if let Some(Variable { name, .. }) = list
            && self.section()?.pivot.is_some()
        {
            return self.refuse(unknown_length_problem(name));
        }
        if let Some(Token::Capture(Capture { kind: CaptureKind::Parameters(before), .. })) =
            self.section()?.tokens.last_mut()
        {
            before.append(&mut named);
            return Ok(());
        }
        self.literal(expression.operator.leading_sign())?;
        self.capture(&expression.variables[0].name, CaptureKind::Parameters(named))
    }

    fn captures(&mut self, expression: &Expression) -> Result<(), TemplateError> {
        let operator = expression.operator;
        let separator = operator.separator();
        self.literal(operator.leading_sign())?;
        for (index, variable) in expression.variables.iter().enumerate() {
            if index > 0 {
                self.literal(separator.encode_utf8(&mut [0; 4]))?;
            }
            let slot = self.slot(variable, operator.allowed_characters());
            let takes = match variable.modifier {
                Modifier::Explode => CaptureKind::List(slot, separator),
                Modifier::None | Modifier::Prefix(_) => CaptureKind::Text(slot),
            };
            self.capture(&variable.name, takes)?;
        }
        Ok(())
    }

    fn named(&mut self, expression: &Expression) -> Vec<NamedSlot> {
        let variables = expression.variables.iter();
        let named = variables.map(|variable| NamedSlot {
            name: normalize(&variable.name).expect("a name holds whole triplets only").into_owned(),
            slot: self.slot(variable, AllowedCharacters::Unreserved),
        });
        named.collect()
    }

    fn slot(&mut self, variable: &Variable, keep: AllowedCharacters) -> Slot {
        self.variables += 1;
        Slot { variable: self.variables - 1, modifier: variable.modifier, allowed_characters: keep }
    }

    fn capture(&mut self, name: &str, takes: CaptureKind) -> Result<(), TemplateError> {
        let stops: &[char] = match (&takes, self.component) {
            (CaptureKind::Text(slot) | CaptureKind::List(slot, _), _)
                if slot.allowed_characters == AllowedCharacters::Reserved =>
            {
                &[]
            }
            (CaptureKind::List(_, '/'), UriComponent::Query) => &['?', '#', '&'],
            (CaptureKind::List(_, '/'), UriComponent::Path | UriComponent::Fragment) => &['?', '#'],
            // If `&` did not end the value, the value of a known parameter could contain a parameter that the template
            // does not know.
            (_, UriComponent::Query) => &['/', '?', '#', '&'],
            (_, UriComponent::Path | UriComponent::Fragment) => &['/', '?', '#'],
        };
        let spans = !stops.contains(&'/');
        let section = self.section()?;
        if let Some(problem) = section.conflict(name, &takes) {
            return self.refuse(problem);
        }
        if spans && section.pivot.replace(section.tokens.len()).is_some() {
            return self.refuse(format!(
                "{name:?} and a variable before it can both span `/`, keep one such variable"
            ));
        }
        section.tokens.push(Token::Capture(Capture { stops, kind: takes }));
        Ok(())
    }

    /// Returns the current section, if it can still grow.
    fn section(&mut self) -> Result<&mut Section, TemplateError> {
        match self.component {
            UriComponent::Path => Ok(&mut self.plan.path),
            UriComponent::Query if !self.plan.named.is_empty() => {
                self.refuse("only `{&…}` or a fragment can follow `{?…}`, put the rest before it")
            }
            UriComponent::Query => Ok(self.plan.query.get_or_insert_default()),
            UriComponent::Fragment => Ok(self.plan.fragment.get_or_insert_default()),
        }
    }

    fn refuse<T>(&self, problem: impl Into<Box<str>>) -> Result<T, TemplateError> {
        Err(TemplateError::new(self.offset, problem))
    }
}

impl Section {
    fn push_literal(&mut self, literal: &str) {
        match self.tokens.last_mut() {
            Some(Token::Literal(last)) => last.push_str(literal),
            _ => self.tokens.push(Token::Literal(literal.into())),
        }
    }

    /// Returns the reason why the boundary between the last capture and the next one would be ambiguous.
    fn conflict(&self, name: &str, takes: &CaptureKind) -> Option<String> {
        match (self.tokens.as_slice(), takes) {
            ([.., Token::Capture(_)], _) => Some(format!(
                "the start of {name:?} is ambiguous, put a literal between it and the variable before it"
            )),
            // Seen from the right, all items except the last could belong to the pivot.
            ([.., Token::Literal(literal)], CaptureKind::List(_, sign))
                if self.pivot.is_some() && literal.ends_with(*sign) =>
            {
                Some(unknown_length_problem(name))
            }
            // Seen from the left, the literal could be a part of a value or even of a name.
            (
                [
                    ..,
                    Token::Capture(Capture { kind: CaptureKind::Parameters(_), stops }),
                    Token::Literal(literal),
                ],
                _,
            ) if self.pivot.is_none() && !literal.starts_with(*stops) => {
                Some(format!("the start of {name:?} is ambiguous, put a `/` after the parameters before it"))
            }
            // Seen from the left, all items except the first could belong to the next variable.
            (
                [
                    ..,
                    Token::Capture(Capture { kind: CaptureKind::List(_, sign), .. }),
                    Token::Literal(literal),
                ],
                _,
            ) if self.pivot.is_none() && literal.starts_with(*sign) => Some(format!(
                "the start of {name:?} is ambiguous, because `{sign}` also separates the list before it"
            )),
            _ => None,
        }
    }
}

fn unknown_length_problem(name: &str) -> String {
    format!(
        "the number of items in {name:?} is ambiguous after a variable that spans `/`, put the list before that \
         variable"
    )
}
