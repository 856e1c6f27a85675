//! What are the parts of a template, or where is its error?

use std::borrow::Cow;
use std::fmt;

use super::parts::{Expression, Modifier, Operator, ParsedTemplate, Part, Variable};
use super::percent::{UriByte, decode_triplet, normalize, uri_bytes};

/// The maximum number of bytes in a template. Templates are written by hand; a longer one is a mistake.
const MAX_BYTES: usize = 8 * 1024;

/// The maximum number of variables in a template.
const MAX_VARIABLES: usize = 64;

/// The reason why a text is not a template, or why a template cannot be matched.
///
/// ```
/// use toolway_protocol::uri_template::UriTemplate;
///
/// let error = UriTemplate::parse("file:///{path").unwrap_err();
/// assert_eq!(error.offset(), 8);
/// assert_eq!(error.to_string(), "`{` is never closed, add `}` after the variable (at byte 8)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    offset: usize,
    problem: Box<str>,
}

impl TemplateError {
    pub(super) fn new(offset: usize, problem: impl Into<Box<str>>) -> Self {
        Self { offset, problem: problem.into() }
    }

    /// Returns the position in the template, in bytes from its start.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// assert_eq!(UriTemplate::parse("a b").unwrap_err().offset(), 1);
    /// ```
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.problem, self.offset)
    }
}

impl std::error::Error for TemplateError {}

/// Parses a template.
pub(super) fn parse(text: &str) -> Result<ParsedTemplate, TemplateError> {
    let mut parser = Parser {
        source: text,
        parsed: ParsedTemplate { text: String::new(), parts: Vec::new() },
        names: Vec::new(),
    };
    if text.len() <= MAX_BYTES {
        if text.contains('{') { parser.braces()? } else { parser.colons()? }
    }
    // The limit also applies to the RFC syntax, which has one more byte for each `:name`.
    if text.len().max(parser.parsed.text.len()) > MAX_BYTES {
        let problem = format!("a template has at most {MAX_BYTES} bytes, make this one shorter");
        return Err(TemplateError::new(MAX_BYTES, problem));
    }
    Ok(parser.parsed)
}

struct Parser<'a> {
    source: &'a str,
    parsed: ParsedTemplate,
    /// The normalized names of the variables so far.
    names: Vec<String>,
}

impl Parser<'_> {
    /// Parses alternating literals and `{…}`.
    fn braces(&mut self) -> Result<(), TemplateError> {
        let mut at = 0;
        while let Some(length) = self.source[at..].find('{') {
            let open = at + length;
            self.literal(at, open)?;
            let Some(length) = self.source[open..].find('}') else {
                return Err(TemplateError::new(open, "`{` is never closed, add `}` after the variable"));
            };
            self.expression(open, open + length)?;
            at = open + length + 1;
        }
        self.literal(at, self.source.len())
    }

    /// Parses alternating literals and `:name` at the start of path segments.
    fn colons(&mut self) -> Result<(), TemplateError> {
        let mut at = 0;
        let (mut segment, end) = path_range(self.source);
        while let Some(length) = self.source[segment..end].find('/') {
            segment += length + 1;
            let Some(length) = colon_name_length(&self.source[segment..end]) else { continue };
            self.literal(at, segment)?;
            at = segment + 1 + length;
            let name = &self.source[segment + 1..at];
            let variables = vec![self.variable(name, segment + 1)?];
            let expression = Expression { offset: segment, operator: Operator::Simple, variables };
            self.push(&format!("{{{name}}}"), expression);
        }
        self.literal(at, self.source.len())
    }

    fn literal(&mut self, start: usize, end: usize) -> Result<(), TemplateError> {
        let literal = &self.source[start..end];
        for (at, letter) in literal.char_indices() {
            let problem = match letter {
                '}' => "`}` closes nothing, add `{` before the variable".into(),
                '%' if decode_triplet(literal.as_bytes(), at).is_none() => {
                    "`%` must be followed by two hex digits, write `%25` for the sign itself".into()
                }
                // RFC 6570, section 2.1, except for `'`: its absence there is an erratum (6937).
                ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '|' => {
                    format!("{letter:?} is not allowed in a URI, write `%{:02X}`", u32::from(letter))
                }
                letter if letter.is_control() => {
                    "a control character is not allowed in a URI, remove it".into()
                }
                _ => continue,
            };
            return Err(TemplateError::new(start + at, problem));
        }
        if !literal.is_empty() {
            self.parsed.text.push_str(literal);
            self.parsed.parts.push(Part::Literal(literal.into()));
        }
        Ok(())
    }

    /// Parses the expression between the braces at `open` and `close`.
    fn expression(&mut self, open: usize, close: usize) -> Result<(), TemplateError> {
        let mut at = open + 1;
        let mut operator = Operator::Simple;
        if let Some(sign) = self.source[at..close].chars().next() {
            if "=,!@|".contains(sign) {
                let problem = format!("`{sign}` is reserved by RFC 6570, use one of `+ # . / ; ? &` or none");
                return Err(TemplateError::new(at, problem));
            }
            if let Some(known) = Operator::from_sign(sign) {
                operator = known;
                at += 1;
            }
        }
        let mut variables = Vec::new();
        for spec in self.source[at..close].split(',') {
            variables.push(self.variable(spec, at)?);
            at += spec.len() + 1;
        }
        self.push(&self.source[open..=close], Expression { offset: open, operator, variables });
        Ok(())
    }

    /// Parses `name`, `name*` or `name:n` at `offset`.
    fn variable(&mut self, spec: &str, offset: usize) -> Result<Variable, TemplateError> {
        let (name, modifier) = match (spec.strip_suffix('*'), spec.split_once(':')) {
            (Some(name), None) => (name, Modifier::Explode),
            (None, Some((name, length))) => {
                (name, Modifier::Prefix(parse_prefix_length(length, offset + name.len())?))
            }
            (None, None) => (spec, Modifier::None),
            (Some(_), Some(_)) => {
                return Err(TemplateError::new(offset, "`*` and `:n` exclude each other, keep one of them"));
            }
        };
        let normal = normalize(name).filter(|_| is_name(name)).map(Cow::into_owned);
        let problem = match normal {
            None => format!(
                "{name:?} is not a variable name, use letters, digits and `_`, in groups joined by single dots"
            ),
            Some(normal) if self.names.contains(&normal) => {
                format!("the variable {name:?} comes twice, give each one its own name")
            }
            Some(_) if self.names.len() == MAX_VARIABLES => {
                format!("a template has at most {MAX_VARIABLES} variables, remove {name:?}")
            }
            Some(normal) => {
                self.names.push(normal);
                return Ok(Variable { name: name.into(), modifier });
            }
        };
        Err(TemplateError::new(offset, problem))
    }

    fn push(&mut self, text: &str, expression: Expression) {
        self.parsed.text.push_str(text);
        self.parsed.parts.push(Part::Expression(expression));
    }
}

/// Parses a prefix length (RFC 6570, section 2.4.1): 1 to 9999, without leading zeros.
fn parse_prefix_length(length: &str, offset: usize) -> Result<usize, TemplateError> {
    let is_plain = matches!(length.len(), 1..=4)
        && !length.starts_with('0')
        && length.bytes().all(|byte| byte.is_ascii_digit());
    length.parse().ok().filter(|_| is_plain).ok_or_else(|| {
        TemplateError::new(offset, format!("`:{length}` is not a prefix length, use a number from 1 to 9999"))
    })
}

/// Returns whether the name is valid (RFC 6570, section 2.3): letters, digits, `_` and `%XX`, with single dots in
/// between.
fn is_name(name: &str) -> bool {
    let is_allowed = |unit| match unit {
        UriByte::Plain(byte) => byte == b'_' || byte.is_ascii_alphanumeric(),
        UriByte::Encoded(_) => true,
    };
    name.split('.').all(|group| !group.is_empty() && uri_bytes(group).all(is_allowed))
}

/// Returns the start and the end of the path of a URI (RFC 3986, section 3): after the scheme and the authority,
/// which may contain other colons, and before the query.
fn path_range(text: &str) -> (usize, usize) {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let start = match text[..end].split_once(':') {
        Some((scheme, _)) if is_scheme(scheme) => scheme.len() + 1,
        _ => 0,
    };
    match text[start..end].strip_prefix("//") {
        Some(rest) => (start + 2 + rest.find('/').unwrap_or(rest.len()), end),
        None => (start, end),
    }
}

/// Returns the length of the identifier after a colon at the start of a segment.
fn colon_name_length(segment: &str) -> Option<usize> {
    let rest = segment.strip_prefix(':')?;
    if !rest.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
        return None;
    }
    Some(rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len()))
}
