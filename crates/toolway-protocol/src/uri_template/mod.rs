//! URI templates (RFC 6570), as `resources/templates/list` sends them: how are values expanded into a URI, and how
//! are values read from a URI?
//!
//! The RFC describes only the expansion. A server also needs the other direction, to find the handler for
//! `resources/read`. The rules for this direction, called matching, are described here.
//!
//! | form | expands to | matches |
//! |---|---|---|
//! | `{a}`, `{a,b}` | `1`, `1,2` | one or more characters except `/`, `?`, `#` |
//! | `{+a}` | `x/y` | one or more characters of any kind |
//! | `{#a}` | `#x/y` | as `{+a}`, after `#` |
//! | `{.a}`, `{/a}` | `.1`, `/1` | as `{a}`, after `.` or `/` |
//! | `{;a,b}` | `;a=1;b=2` | all named parameters, in any order |
//! | `{?a,b}`, `{&a}` | `?a=1&b=2`, `&a=1` | any of the named parameters, in any order |
//! | `{a*}`, `{/a*}`, … | each item of a list separately | a list |
//! | `{a:3}`, … | the first three characters | up to three characters |
//! | `/:a/x` | as `/{a}/x` | as `/{a}/x` |
//!
//! **Where a variable ends.** A variable ends at the first occurrence of the literal that follows it in the template.
//! So `{name}.{ext}` splits `a.tar.gz` into `a` and `tar.gz`. Variables after a `{+a}` or `{/a*}` are matched from the
//! right, because `{+a}` and `{/a*}` take as much text as possible: `{+dir}/{name}` splits `a/b/c` into `a/b` and `c`.
//! A `{+a}` ends before the next literal `?` or `#` of the template; if the template has none, the value may contain
//! these characters. After a literal `?`, an `&` ends every variable except `{+a}`, and `{+a}` too if `{&…}` follows.
//!
//! **When literals are equal.** Literals are compared after percent-encoding is normalized (RFC 3986, section 6.2.2):
//! `%7euser`, `%7Euser` and `~user` are equal, `%2F` and `/` are different. Otherwise case matters, and `+` is not a
//! space. A text with a `%` that is not followed by two hex digits is not a URI, and never matches.
//!
//! **Which parts are required.** Everything is required except the variables of `{?…}` and `{&…}`. If such a variable
//! is missing in the URI, it is left out of the values. A parameter that the template does not know, or one that occurs
//! twice without `*`, is not a match: a URI with more parameters than the template understands names a different
//! resource.
//!
//! **What a value can contain.** A value is first cut out of the URI and then decoded, so an encoded delimiter never
//! moves a boundary. It must be UTF-8. A value of any form except `{+a}` and `{#a}` is never `.` or `..` and never
//! contains `/`, `\` or NUL, however it was encoded: it stays in its segment. A value of `{+a}` or `{#a}` contains
//! neither NUL nor a `..` segment, even if it was encoded several times. It may begin with `/`, and `Path::join`
//! replaces its base with such a path: strip the root before joining.
//!
//! **Which templates cannot be matched.** `{a}{b}` can be expanded, but there is no way to tell where `a` ends.
//! [`check_matchable`](UriTemplate::check_matchable) reports this; servers call it when they are built.

mod expand;
mod matcher;
mod parse;
mod parts;
mod percent;
mod plan;
mod shape;
mod values;

use std::fmt;
use std::str::FromStr;

use matcher::Matcher;
use parts::{ParsedTemplate, Part};
use plan::Plan;
use shape::Shape;

pub use parse::TemplateError;
pub use shape::Specificity;
pub use values::{Value, Values};

/// A URI with variables.
///
/// Two templates are equal if their texts are equal.
///
/// ```
/// use toolway_protocol::uri_template::{UriTemplate, Values};
///
/// let template = UriTemplate::parse("user://{id}/profile/{section}")?;
/// let values = Values::from([("id", "123"), ("section", "settings")]);
/// assert_eq!(template.expand(&values), "user://123/profile/settings");
/// assert_eq!(template.match_uri("user://123/profile/settings"), Some(values));
/// assert_eq!(template.match_uri("user://123/profile/.."), None);
/// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
/// ```
#[derive(Clone)]
pub struct UriTemplate {
    parsed: ParsedTemplate,
    plan: Result<Plan, TemplateError>,
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// A template without `{` may mark its variables as `:name` at the start of path segments instead.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// let template = UriTemplate::parse("myapp:///studies/:study_id/cover")?;
    /// assert_eq!(template.as_str(), "myapp:///studies/{study_id}/cover");
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text does not follow the grammar of RFC 6570, is longer than 8 KiB, has more than 64 variables, or has a
    /// variable twice. Templates that can be expanded but not matched are accepted here; see
    /// [`check_matchable`](Self::check_matchable).
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parsed = parse::parse(text)?;
        let plan = plan::plan(&parsed.parts);
        Ok(Self { parsed, plan })
    }

    /// Returns the text in the syntax of RFC 6570, to be sent to peers: `:name` has become `{name}`.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// assert_eq!(UriTemplate::parse("a/{b}")?.as_str(), "a/{b}");
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    pub fn as_str(&self) -> &str {
        &self.parsed.text
    }

    /// Returns the names of the variables, in order.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// let template = UriTemplate::parse("a{/b,c*}{?d:3}")?;
    /// assert_eq!(template.variables().collect::<Vec<_>>(), ["b", "c", "d"]);
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let expressions = self.parsed.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Expression(expression) => Some(expression),
        });
        expressions.flat_map(|expression| &expression.variables).map(|variable| variable.name.as_str())
    }

    /// Expands the template with the values. Variables without a value are left out; values without a variable are
    /// ignored.
    ///
    /// Two rules of the RFC may surprise: `{?a}{&b}` begins with `&` if only `b` has a value, so prefer `{?a,b}`; and
    /// `%41` in a value of `{+a}` counts as an already encoded `A`.
    ///
    /// ```
    /// use toolway_protocol::uri_template::{UriTemplate, Values};
    ///
    /// let template = UriTemplate::parse("search{?q,page}{&tags*}")?;
    /// let mut values = Values::from([("q", "salt & pepper")]);
    /// values.insert("tags", ["a", "b"]);
    /// assert_eq!(template.expand(&values), "search?q=salt%20%26%20pepper&tags=a&tags=b");
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    pub fn expand(&self, values: &Values) -> String {
        expand::expand(&self.parsed.parts, values)
    }

    /// Returns the values in a URI, in the order of the template, or `None` if the URI does not match. A template that
    /// cannot be matched always returns `None`. The time is linear in the length of the URI, whatever its content. The
    /// module documentation describes what matches.
    ///
    /// ```
    /// use toolway_protocol::uri_template::{UriTemplate, Values};
    ///
    /// let template = UriTemplate::parse("repo://{owner}/files/{+path}{?rev}")?;
    /// let values = template.match_uri("repo://me/files/src/main%20copy.rs").unwrap();
    /// assert_eq!(values.text("path"), Some("src/main copy.rs"));
    /// assert_eq!(values.get("rev"), None);
    /// assert_eq!(template.match_uri("repo://me/files/src/%2e%2E/key"), None);
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    pub fn match_uri(&self, uri: &str) -> Option<Values> {
        self.match_uri_counted(uri).0
    }

    /// Returns the result of [`match_uri`](Self::match_uri) and the number of bytes and names examined.
    ///
    /// With n bytes and v variables the number is at most (32 + 2v)(n + 1): the normal form is up to 3n long, each of
    /// its bytes is counted at most ten times, and each of the up to n / 2 + 1 parameters is compared with the names
    /// and with the values found so far.
    #[doc(hidden)]
    pub fn match_uri_counted(&self, uri: &str) -> (Option<Values>, usize) {
        let mut matching = Matcher::default();
        let Ok(plan) = &self.plan else { return (None, 0) };
        let values = matching.match_uri(plan, uri).map(|()| {
            let names: Vec<_> = self.variables().collect();
            matching.found.into_iter().map(|(variable, value)| (names[variable], value)).collect()
        });
        (values, matching.steps)
    }

    /// Returns an error if [`match_uri`](Self::match_uri) can never succeed. A server calls this when it is built.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// assert_eq!(UriTemplate::parse("a/{b}-{c}")?.check_matchable(), Ok(()));
    /// let error = UriTemplate::parse("a/{b}{c}")?.check_matchable().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the start of \"c\" is ambiguous, put a literal between it and the variable before it (at byte 5)",
    /// );
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no way to tell where one variable ends and the next begins, two variables of one section (path, query
    /// or fragment) span `/`, or query variables are at a position where no URI has a query.
    pub fn check_matchable(&self) -> Result<(), TemplateError> {
        self.plan.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Returns whether two templates are the same except for the names of their variables. A server would never choose
    /// the second of two such templates. The names in `{;…}` are compared, because every URI contains them.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// let template = UriTemplate::parse("users/{id}")?;
    /// assert!(template.has_same_shape(&UriTemplate::parse("users{/name}")?));
    /// assert!(!template.has_same_shape(&UriTemplate::parse("users/{+id}")?));
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    pub fn has_same_shape(&self, other: &Self) -> bool {
        self.shape() == other.shape()
    }

    /// Returns a text that is the same for all templates [of the same shape](Self::has_same_shape). It is a key for maps
    /// of many templates.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// assert_eq!(UriTemplate::parse("users/{id}")?.shape(), UriTemplate::parse("users{/name}")?.shape());
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    pub fn shape(&self) -> String {
        Shape::new(&self.parsed.parts).text
    }

    /// Returns how specific a template is. If several templates match, the most specific one is chosen; among equals,
    /// the one that was registered first.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// let segment = UriTemplate::parse("docs/{page}")?;
    /// let anything = UriTemplate::parse("docs/{+path}")?;
    /// assert!(segment.specificity() > anything.specificity());
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    pub fn specificity(&self) -> Specificity {
        Shape::new(&self.parsed.parts).specificity
    }
}

impl FromStr for UriTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        Self::parse(text)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UriTemplate").field(&self.as_str()).finish()
    }
}

impl PartialEq for UriTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for UriTemplate {}
