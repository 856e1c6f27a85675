//! Which names does a pattern match?

use glob::MatchOptions;

/// A part of a path, or a pattern with `*`, `?` and `**`.
#[derive(Debug)]
pub(super) enum Pattern {
    /// A part of a path, in lower case.
    Part(String),
    /// A pattern for a whole path, or for a whole name.
    Whole { pattern: glob::Pattern, is_of_path: bool },
}

/// The maximum length of a pattern. The cost of matching grows with the product of the lengths of pattern and path.
const MAX_LENGTH: usize = 256;

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let text = text.to_lowercase();
        if text.is_empty() || text.chars().count() > MAX_LENGTH {
            return Err(format!("the pattern must have 1 to {MAX_LENGTH} characters"));
        }
        if !text.contains(['*', '?']) {
            return Ok(Self::Part(text));
        }
        let parts: Vec<String> = text.split('/').map(escape_part).collect();
        let pattern = glob::Pattern::new(&parts.join("/")).map_err(|error| error.to_string())?;
        Ok(Self::Whole { pattern, is_of_path: parts.len() > 1 })
    }

    /// Returns whether the pattern matches a path. A pattern without a `/` applies to the name of a file in any
    /// directory.
    pub(super) fn matches(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        match self {
            Self::Part(part) => path.contains(part),
            Self::Whole { pattern, is_of_path } => {
                let name = if *is_of_path { &*path } else { path.rsplit('/').next().unwrap_or(&path) };
                pattern.matches_with(name, OPTIONS)
            }
        }
    }
}

const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Prepares the part between two `/`: brackets are literal, and `**` means directories only if it is the whole part.
fn escape_part(part: &str) -> String {
    let mut part = part.replace('[', "[[]");
    while part != "**" && part.contains("**") {
        part = part.replace("**", "*");
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_names_and_paths() {
        let rows = [
            ("report", "a/Report-2.txt", true),
            ("report", "reports/x", true),
            ("report", "x", false),
            ("*.md", "README.md", true),
            ("*.md", "docs/deep/a.MD", true),
            ("*.md", "a.mdx", false),
            ("?.md", "docs/a.md", true),
            ("?.md", "docs/ab.md", false),
            ("docs/*.md", "docs/a.md", true),
            ("docs/*.md", "docs/deep/a.md", false),
            ("docs/*.md", "x/docs/a.md", false),
            ("**/*.md", "a.md", true),
            ("**/*.md", "x/y/a.md", true),
            ("docs/**/a.md", "docs/a.md", true),
            ("docs/**/a.md", "docs/x/y/a.md", true),
            ("docs/**/a.md", "docs/xa.md", false),
            ("docs/**", "docs/x/y", true),
            ("a**b/", "a/x/b", false),
            ("a**b", "axb", true),
            ("**/**/a", "a", true),
            ("*", "x/y", true),
            ("a*", "b/a", true),
            ("?", "é", true),
            ("[a]*", "[a]b", true),
            ("[a]*", "ab", false),
            ("*.Md", "docs/.hidden.md", true),
        ];
        for (pattern, path, expected) in rows {
            assert_eq!(Pattern::new(pattern).unwrap().matches(path), expected, "{pattern} {path}");
        }
        assert!(Pattern::new("").is_err());
        assert!(Pattern::new(&"a".repeat(MAX_LENGTH + 1)).is_err());
    }

    #[test]
    fn no_pattern_takes_long() {
        let pattern = Pattern::new(&"*a".repeat(MAX_LENGTH / 2)).unwrap();
        assert!(!pattern.matches(&"aaab".repeat(1000)));
        let pattern = Pattern::new(&format!("{}b", "**/*a/".repeat(40))).unwrap();
        assert!(!pattern.matches(&"aa/".repeat(1000)));
    }
}
