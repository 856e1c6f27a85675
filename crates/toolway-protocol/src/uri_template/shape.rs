//! If several templates match, which one is chosen?

use std::cmp::Reverse;

use super::parts::{Modifier, Operator, Part, Variable};
use super::percent::normalize;

/// The specificity of a template; a greater one is more specific.
///
/// A template is more specific if it has more literal bytes, which every matching URI must contain. Between templates
/// with the same number of literal bytes, the one with fewer variables that can contain `/` is more specific.
///
/// ```
/// use toolway_protocol::uri_template::UriTemplate;
///
/// let wide = UriTemplate::parse("docs/{+path}")?;
/// let narrow = UriTemplate::parse("docs/{page}")?;
/// let fixed = UriTemplate::parse("docs/{page}/raw")?;
/// let mut templates = [&wide, &narrow, &fixed];
/// templates.sort_by_key(|template| std::cmp::Reverse(template.specificity()));
/// assert_eq!(templates, [&fixed, &narrow, &wide]);
/// # Ok::<(), toolway_protocol::uri_template::TemplateError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Specificity {
    literal_bytes: usize,
    spanning: Reverse<usize>,
}

/// A template without the names of its variables.
pub(super) struct Shape {
    /// Normalized literals, and the signs that operators add; a variable is a pair of braces.
    pub(super) text: String,
    pub(super) specificity: Specificity,
}

impl Shape {
    pub(super) fn new(parts: &[Part]) -> Self {
        let mut text = String::new();
        let mut in_braces = 0;
        let mut spanning = 0;
        for part in parts {
            let expression = match part {
                Part::Literal(literal) => {
                    text.push_str(&normalize(literal).expect("a literal holds whole triplets only"));
                    continue;
                }
                Part::Expression(expression) => expression,
            };
            let operator = expression.operator;
            for (index, Variable { name, modifier }) in expression.variables.iter().enumerate() {
                let sign = if index == 0 {
                    operator.leading_sign().into()
                } else {
                    operator.separator().to_string()
                };
                // All variables of a query may be missing in a URI, so their sign is optional too.
                let (fixed, optional) = match operator {
                    Operator::Query | Operator::Continuation => (String::new(), sign),
                    Operator::Parameter => (sign + name, String::new()),
                    _ => (sign, String::new()),
                };
                let spans = operator.spans_segments(*modifier);
                let reach = if spans { "+" } else { "" };
                // The separator of the items, or `=` for a single text.
                let joint = if *modifier == Modifier::Explode { operator.separator() } else { '=' };
                let variable = format!("{{{optional}{reach}{joint}{modifier}}}");
                text.push_str(&fixed);
                text.push_str(&variable);
                in_braces += variable.len();
                spanning += usize::from(spans);
            }
        }
        let literal_bytes = text.len() - in_braces;
        Self { text, specificity: Specificity { literal_bytes, spanning: Reverse(spanning) } }
    }
}
