//! May we depend on a crate under this licence expression?
//!
//! An SPDX expression in the form that crates use: names joined by `OR`, `AND` and `WITH`, parentheses, and the slash
//! of older manifests, which crates.io reads as `OR`.

/// Returns whether the expression can be satisfied with allowed licences only; an error if it is not a valid
/// expression.
pub(crate) fn is_allowed(expression: &str) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words };
    let allowed = parser.or_expression()?;
    match parser.words {
        [] => Ok(allowed),
        [word, ..] => Err(format!("did not expect `{word}` there")),
    }
}

struct Parser<'a> {
    words: &'a [&'a str],
}

impl<'a> Parser<'a> {
    /// `both OR both …`; `OR` binds weakest.
    fn or_expression(&mut self) -> Result<bool, String> {
        let mut allowed = self.and_expression()?;
        while self.take("OR") {
            // Not `||`: the right side must be parsed in any case.
            allowed |= self.and_expression()?;
        }
        Ok(allowed)
    }

    /// `one AND one …`
    fn and_expression(&mut self) -> Result<bool, String> {
        let mut allowed = self.term()?;
        while self.take("AND") {
            allowed &= self.term()?;
        }
        Ok(allowed)
    }

    /// A name, or an expression in parentheses.
    fn term(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let allowed = self.or_expression()?;
            return if self.take(")") { Ok(allowed) } else { Err("a `)` is missing".to_owned()) };
        }
        let name = self.name()?;
        if self.take("WITH") {
            // An exception only permits more than its licence does.
            self.name()?;
        }
        Ok(ALLOWED.contains(&name.trim_end_matches('+')))
    }

    fn name(&mut self) -> Result<&'a str, String> {
        match self.words {
            [] => Err("it ends where a licence should be".to_owned()),
            [word @ ("OR" | "AND" | "WITH" | "(" | ")"), ..] => {
                Err(format!("`{word}` where a licence should be"))
            }
            [word, rest @ ..] => {
                self.words = rest;
                Ok(word)
            }
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.words = &self.words[1..];
        }
        found
    }
}

/// Licences that only require naming the authors.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // For a list of certificates, which is data rather than a program.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn or_needs_one_side_and_and_needs_both() {
        let rows = [
            ("MIT", true),
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0-only", false),
            ("GPL-3.0-only OR MIT", true),
            ("GPL-3.0-only/MIT", true),
            ("MIT AND GPL-3.0-only", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR GPL-3.0-only) AND (GPL-2.0-only OR ISC)", true),
            // `AND` binds tighter than `OR`.
            ("MIT OR ISC AND GPL-3.0-only", true),
            ("GPL-3.0-only AND MIT OR GPL-2.0-only", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", true),
            ("GPL-2.0-only WITH Classpath-exception-2.0", false),
            ("Apache-2.0+", true),
        ];
        for (expression, expected) in rows {
            assert_eq!(is_allowed(expression), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for expression in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH"] {
            assert!(is_allowed(expression).is_err(), "{expression}");
        }
    }
}
