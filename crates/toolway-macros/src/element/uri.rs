//! Is this text a URI or a URI template (RFC 6570), and which variables does it have?
//!
//! The server parses templates with `toolway_protocol::uri_template`. That crate is not used here, because every
//! program would have to build it and its JSON parser a second time, for the macros. A test compares the two parsers.

/// A URI or a URI template.
#[derive(Debug)]
pub(crate) struct Uri {
    /// The text in the syntax of RFC 6570: `:name` has become `{name}`.
    pub(crate) text: String,
    pub(crate) variables: Vec<Variable>,
}

/// One variable of a template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) kind: ExpressionKind,
    /// `true` for `{name*}`.
    pub(crate) is_list: bool,
}

/// The kind of expression that a variable is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpressionKind {
    /// `{name}`
    Simple,
    /// `{?name}` or `{&name}`; these variables are optional.
    Query,
    /// An expression with any other operator.
    Other,
}

impl Uri {
    pub(crate) fn is_template(&self) -> bool {
        !self.variables.is_empty()
    }

    /// Parses the text; the error is for the author.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut uri = Self { text: String::new(), variables: Vec::new() };
        if text.contains(['{', '}']) {
            uri.braces(text)?;
        } else {
            uri.colons(text)?;
        }
        if !uri.is_template()
            && let Some(wrong) = text.chars().find(|letter| !letter.is_ascii())
        {
            return Err(format!("this is not a URI: encode {wrong:?} with `%`"));
        }
        match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) && !rest.is_empty() => Ok(uri),
            _ => Err("this is not a URI: begin with a scheme, as in `notes://index`".to_owned()),
        }
    }

    /// Parses alternating literals and `{…}`.
    fn braces(&mut self, text: &str) -> Result<(), String> {
        let mut rest = text;
        while let Some((literal, behind)) = rest.split_once('{') {
            self.literal(literal)?;
            let Some((expression, behind)) = behind.split_once('}') else {
                return Err(format!("`{{{behind}` is never closed, add `}}` after the variable"));
            };
            self.expression(expression)?;
            rest = behind;
        }
        self.literal(rest)
    }

    /// Parses alternating literals and `:name` at the start of path segments.
    fn colons(&mut self, text: &str) -> Result<(), String> {
        let (start, end) = path_range(text);
        self.literal(&text[..start])?;
        for (index, segment) in text[start..end].split('/').enumerate() {
            let name = match segment.strip_prefix(':') {
                Some(rest) if index > 0 => {
                    let is_other = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
                    &rest[..rest.find(is_other).unwrap_or(rest.len())]
                }
                _ => "",
            };
            self.literal(if index > 0 { "/" } else { "" })?;
            if name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
                self.expression(name)?;
                self.literal(&segment[1 + name.len()..])?;
            } else {
                self.literal(segment)?;
            }
        }
        self.literal(&text[end..])
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        for (at, letter) in literal.char_indices() {
            match letter {
                '}' => return Err("`}` closes nothing, add `{` before the variable".to_owned()),
                '%' if !is_triplet(&literal[at..]) => {
                    return Err(
                        "`%` must be followed by two hex digits, write `%25` for the sign itself".to_owned()
                    );
                }
                ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '|' => {
                    let code = u32::from(letter);
                    return Err(format!("{letter:?} is not allowed in a URI, write `%{code:02X}`"));
                }
                letter if letter.is_control() => {
                    return Err("a control character is not allowed in a URI, remove it".to_owned());
                }
                _ => {}
            }
        }
        self.text.push_str(literal);
        Ok(())
    }

    /// Parses the text between braces.
    fn expression(&mut self, expression: &str) -> Result<(), String> {
        let first = expression.chars().next();
        let (place, variables) = match first {
            Some('?' | '&') => (ExpressionKind::Query, &expression[1..]),
            Some('+' | '#' | '.' | '/' | ';') => (ExpressionKind::Other, &expression[1..]),
            Some(sign @ ('=' | ',' | '!' | '@' | '|')) => {
                return Err(format!(
                    "`{{{expression}}}`: `{sign}` is reserved by RFC 6570, use one of `+ # . / ; ? &` or none"
                ));
            }
            _ => (ExpressionKind::Simple, expression),
        };
        for variable in variables.split(',') {
            let (name, is_list) = without_modifier(variable)?;
            if !is_name(name) {
                return Err(format!(
                    "`{{{expression}}}`: {name:?} is not a variable name, use letters, digits and `_`"
                ));
            }
            if self.variables.iter().any(|known| known.name == name) {
                return Err(format!("the variable `{name}` comes twice, give each one its own name"));
            }
            self.variables.push(Variable { name: name.to_owned(), kind: place, is_list });
        }
        self.text.push('{');
        self.text.push_str(expression);
        self.text.push('}');
        Ok(())
    }
}

/// Splits `name`, `name*` or `name:3` into the name and whether it is a list.
fn without_modifier(variable: &str) -> Result<(&str, bool), String> {
    match (variable.strip_suffix('*'), variable.split_once(':')) {
        (Some(_), Some(_)) => Err(format!("`{variable}`: `*` and `:n` exclude each other, keep one of them")),
        (Some(name), None) => Ok((name, true)),
        (None, None) => Ok((variable, false)),
        (None, Some((name, length))) => {
            let is_number = matches!(length.len(), 1..=4)
                && !length.starts_with('0')
                && length.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number {
                return Err(format!("`:{length}` is not a prefix length, use a number from 1 to 9999"));
            }
            Ok((name, false))
        }
    }
}

/// Returns whether the name is valid. RFC 6570 also allows dots and `%XX`. Parameters never have such names, but a
/// template that the server accepts must not be refused here.
fn is_name(name: &str) -> bool {
    name.split('.').all(|group| {
        let mut rest = group;
        while !rest.is_empty() {
            let length = match rest.as_bytes()[0] {
                b'%' if is_triplet(rest) => 3,
                byte if byte.is_ascii_alphanumeric() || byte == b'_' => 1,
                _ => return false,
            };
            rest = &rest[length..];
        }
        !group.is_empty()
    })
}

fn is_triplet(text: &str) -> bool {
    text.as_bytes().get(1..3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Returns the start and the end of the path of a URI (RFC 3986, section 3): after the scheme and the authority,
/// which may contain other colons, and before the query.
fn path_range(text: &str) -> (usize, usize) {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let start = match text[..end].split_once(':') {
        Some((scheme, _)) if is_scheme(scheme) => scheme.len() + 1,
        _ => 0,
    };
    match text[start..end].strip_prefix("//") {
        Some(rest) => (start + 2 + rest.find('/').unwrap_or(rest.len()), end),
        None => (start, end),
    }
}

#[cfg(test)]
mod tests {
    use toolway_protocol::uri_template::UriTemplate;

    use super::*;

    #[test]
    fn the_server_reads_a_template_in_the_same_way() {
        let templates = [
            "a://{b}",
            "a://{b,c}/{+d}",
            "a://{b}{?c,d*}{&e}",
            "a:///:b/c/:d?x=:y",
            "a://:b/c",
            "a:b/:c",
            "a://x/:b.json",
            "a://x/:1",
            "a://{b.c}/{d%20e}",
            "a://{b:3}{;c}{#d}",
            "a://ü/{b}",
            "a://b",
            "a://b%20c",
            "a://b%2",
            "a://b c",
            "a://{b",
            "a://b}",
            "a://{}",
            "a://{=b}",
            "a://{b c}",
            "a://{b}/{b}",
            "a://{b*:3}",
            "a://{b:0}",
            "a://{b:12345}",
            "a://{b..c}",
            "a://{b},{c}|",
        ];
        for text in templates {
            match (Uri::parse(text), UriTemplate::parse(text)) {
                (Ok(ours), Ok(theirs)) => {
                    assert_eq!(ours.text, theirs.as_str(), "{text}");
                    let names: Vec<_> =
                        ours.variables.iter().map(|variable| variable.name.as_str()).collect();
                    assert_eq!(names, theirs.variables().collect::<Vec<_>>(), "{text}");
                }
                (Err(_), Err(_)) => {}
                (ours, theirs) => panic!("{text}: {ours:?}, but {theirs:?}"),
            }
        }
    }

    #[test]
    fn a_uri_begins_with_a_scheme_and_is_ascii() {
        for text in ["a:b", "a+b.c-1://x", "notes://{id}", "file:///%C3%BC"] {
            assert!(Uri::parse(text).is_ok(), "{text}");
        }
        for text in ["", "a", ":a", "a:", "1:a", "/a:b", "{a}:b", "a://ü"] {
            assert!(Uri::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn where_a_variable_stands_is_known() {
        let uri = Uri::parse("a://{b}{/c*}{?d}").unwrap();
        let places: Vec<_> = uri.variables.iter().map(|variable| (variable.kind, variable.is_list)).collect();
        assert_eq!(
            places,
            [(ExpressionKind::Simple, false), (ExpressionKind::Other, true), (ExpressionKind::Query, false)]
        );
    }
}
