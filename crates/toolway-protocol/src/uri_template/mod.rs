//! URI templates (RFC 6570), as `resources/templates/list` shows them: which URI do these values make, and
//! which values does this URI give?
//!
//! The RFC describes one direction. The other one, which a server needs to find who answers `resources/read`,
//! is described here.
//!
//! | form | expands to | matches |
//! |---|---|---|
//! | `{a}`, `{a,b}` | `1`, `1,2` | one or more characters but `/`, `?`, `#` |
//! | `{+a}` | `x/y` | one or more characters of any kind |
//! | `{#a}` | `#x/y` | the same, after `#` |
//! | `{.a}`, `{/a}` | `.1`, `/1` | as `{a}`, after the sign |
//! | `{;a,b}` | `;a=1;b=2` | all of them, in any order |
//! | `{?a,b}`, `{&a}` | `?a=1&b=2`, `&a=1` | any of them, in any order |
//! | `{a*}`, `{/a*}`, … | each item of a list for itself | a list |
//! | `{a:3}`, … | the first three characters | up to three characters |
//! | `/:a/x` | as `/{a}/x` | as `/{a}/x` |
//!
//! **Where a variable ends.** At the first occurrence of the literal that follows. So `{name}.{ext}` takes
//! `a.tar.gz` apart as `a` and `tar.gz`. Variables behind a `{+a}` or `{/a*}` are found from the right, since
//! that one takes all it can get: `{+dir}/{name}` takes `a/b/c` apart as `a/b` and `c`. A `{+a}` ends before
//! the `?` or `#` that the template itself has further on; if it has none, the value may hold them. After a
//! literal `?`, an `&` ends every variable but `{+a}`, and that one too if `{&…}` follows.
//!
//! **What is equal.** Literals are compared after percent-encoding is normalised (RFC 3986, section 6.2.2):
//! `%7euser`, `%7Euser` and `~user` are one, `%2F` and `/` are two. Case matters otherwise, and `+` is no space.
//! A `%` without two hex digits makes a text no URI; it matches nothing.
//!
//! **What must be there.** Everything but the variables of `{?…}` and `{&…}`; those are left out of the values
//! when they do not come. A parameter that the template does not know, or one that comes twice without `*`,
//! is no match: a URI that says more than the template understands names another resource.
//!
//! **What a value can hold.** It is cut out first and decoded then, so no encoded delimiter moves a boundary.
//! It must be UTF-8. A value of `{a}` and all its kin is never `.` or `..` and never holds `/`, `\` or NUL,
//! however it was written: it stays in its segment. A value of `{+a}` or `{#a}` holds no NUL and no `..`
//! segment, even if encoded several times over. It may well begin with `/`, and `Path::join` replaces its
//! base by such a path: take the root off before joining.
//!
//! **What cannot be matched.** `{a}{b}` can be expanded, but it cannot be told where `a` ends.
//! [`check_matchable`](UriTemplate::check_matchable) says so, for servers to ask when they are built.

mod expand;
mod matching;
mod parse;
mod parts;
mod percent;
mod plan;
mod shape;
mod values;

use std::fmt;
use std::str::FromStr;

use matching::Matching;
use parts::{Parsed, Part};
use plan::Plan;
use shape::Shape;

pub use parse::TemplateError;
pub use shape::Specificity;
pub use values::{Value, Values};

/// A URI with variables.
///
/// Two of them are equal when their texts are.
///
/// ```
/// use toolway_protocol::uri_template::{UriTemplate, Values};
///
/// let template = UriTemplate::parse("user://{id}/profile/{section}")?;
/// let values = Values::from([("id", "123"), ("section", "settings")]);
/// assert_eq!(template.expand(&values), "user://123/profile/settings");
/// assert_eq!(template.matches("user://123/profile/settings"), Some(values));
/// assert_eq!(template.matches("user://123/profile/.."), None);
/// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
/// ```
#[derive(Clone)]
pub struct UriTemplate {
    parsed: Parsed,
    plan: Result<Plan, TemplateError>,
}

impl UriTemplate {
    /// Reads a template.
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
    /// When the text is not of RFC 6570's grammar, is longer than 8 KiB, has more than 64 variables or one
    /// variable twice. Templates that can be expanded but not matched are no error here; see
    /// [`check_matchable`](Self::check_matchable).
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parsed = parse::parse(text)?;
        let plan = plan::plan(&parsed.parts);
        Ok(Self { parsed, plan })
    }

    /// The text in the syntax of RFC 6570, to be sent to others: `:name` has become `{name}`.
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

    /// The names of the variables, in order.
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

    /// Writes the URI that the values make. Variables without a value are left out, values without a variable
    /// are not used.
    ///
    /// Two habits of the RFC surprise: `{?a}{&b}` begins with `&` when only `b` has a value, so prefer `{?a,b}`;
    /// and `%41` in a value of `{+a}` is taken for an `A` that is encoded already.
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

    /// The values that a URI gives, in the order of the template; `None` when it does not match, which is
    /// always so for a template that cannot be matched. The time it takes grows with the length of the URI,
    /// whatever it holds. The head of this module says what matches.
    ///
    /// ```
    /// use toolway_protocol::uri_template::{UriTemplate, Values};
    ///
    /// let template = UriTemplate::parse("repo://{owner}/files/{+path}{?rev}")?;
    /// let values = template.matches("repo://me/files/src/main%20copy.rs").unwrap();
    /// assert_eq!(values.text("path"), Some("src/main copy.rs"));
    /// assert_eq!(values.get("rev"), None);
    /// assert_eq!(template.matches("repo://me/files/src/%2e%2E/key"), None);
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    pub fn matches(&self, uri: &str) -> Option<Values> {
        self.matches_counted(uri).0
    }

    /// What [`matches`](Self::matches) says and how many bytes and names it looked at.
    ///
    /// With n bytes and v variables these are at most (32 + 2v)(n + 1): the normal form is up to 3n long, each
    /// of its bytes is counted ten times at most, and each of the up to n / 2 + 1 parameters is compared with
    /// the names and with what was found so far.
    #[doc(hidden)]
    pub fn matches_counted(&self, uri: &str) -> (Option<Values>, usize) {
        let mut matching = Matching::default();
        let Ok(plan) = &self.plan else { return (None, 0) };
        let values = matching.uri(plan, uri).map(|()| {
            let names: Vec<_> = self.variables().collect();
            matching.found.into_iter().map(|(variable, value)| (names[variable], value)).collect()
        });
        (values, matching.steps)
    }

    /// Says why [`matches`](Self::matches) can never succeed, if so. A server asks this when it is built.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// assert_eq!(UriTemplate::parse("a/{b}-{c}")?.check_matchable(), Ok(()));
    /// let error = UriTemplate::parse("a/{b}{c}")?.check_matchable().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "where \"c\" begins cannot be told, put a literal between it and the variable before (at byte 5)",
    /// );
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When it cannot be told where one variable ends and the next begins, when two variables of one section
    /// (path, query or fragment) span `/`, or when query variables stand where no URI has a query.
    pub fn check_matchable(&self) -> Result<(), TemplateError> {
        self.plan.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Whether two templates are the same but for the names of their variables, so that the second one would
    /// never be reached: a mistake of their author. Names of `{;…}` count, because each URI shows them.
    ///
    /// ```
    /// use toolway_protocol::uri_template::UriTemplate;
    ///
    /// let template = UriTemplate::parse("users/{id}")?;
    /// assert!(template.same_shape(&UriTemplate::parse("users{/name}")?));
    /// assert!(!template.same_shape(&UriTemplate::parse("users/{+id}")?));
    /// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
    /// ```
    pub fn same_shape(&self, other: &Self) -> bool {
        Shape::new(&self.parsed.parts).text == Shape::new(&other.parsed.parts).text
    }

    /// How much a template asks of a URI. When several match, the greatest is meant, and among equals the one
    /// that was registered first.
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
