//! Which names does a pattern mean?

/// A part of a path, or a pattern with `*`, `?` and `**`.
#[derive(Debug)]
pub(super) enum Pattern {
    /// A part of a path, in lower case.
    Part(String),
    /// All of a path, or of a name.
    Whole { steps: Vec<Step>, is_of_path: bool },
}

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    Letter(char),
    /// `?`: a letter of a name.
    One,
    /// `*`: letters of a name, or none.
    Some,
    /// `**`: anything, or nothing.
    Anything,
    /// `**/`: directories, or none. The step after it is where those are.
    Directories,
    InDirectories,
}

/// The longest pattern. What it costs to match grows with its length times that of the path.
const MAX_LENGTH: usize = 256;

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let text = text.to_lowercase();
        let letters: Vec<_> = text.chars().collect();
        if letters.is_empty() || letters.len() > MAX_LENGTH {
            return Err(format!("the pattern must have 1 to {MAX_LENGTH} letters"));
        }
        if !text.contains(['*', '?']) {
            return Ok(Self::Part(text));
        }
        let mut steps = Vec::new();
        let mut rest = &*letters;
        while let [letter, after @ ..] = rest {
            let begins =
                steps.is_empty() || matches!(steps.last(), Some(Step::Letter('/') | Step::InDirectories));
            rest = match rest {
                ['*', '*', '/', after @ ..] if begins => {
                    steps.extend([Step::Directories, Step::InDirectories]);
                    after
                }
                ['*', '*', after @ ..] => {
                    steps.push(Step::Anything);
                    after
                }
                ['*', after @ ..] => {
                    steps.push(Step::Some);
                    after
                }
                ['?', after @ ..] => {
                    steps.push(Step::One);
                    after
                }
                _ => {
                    steps.push(Step::Letter(*letter));
                    after
                }
            };
        }
        Ok(Self::Whole { steps, is_of_path: letters.contains(&'/') })
    }

    /// Whether it means a path. A pattern without a `/` is about the name of a file, wherever that is.
    pub(super) fn matches(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        match self {
            Self::Part(part) => path.contains(part),
            Self::Whole { steps, is_of_path: true } => matches(steps, &path),
            Self::Whole { steps, is_of_path: false } => {
                matches(steps, path.rsplit('/').next().unwrap_or(&path))
            }
        }
    }
}

/// Follows all ways through a pattern at once, so that no pattern takes long.
fn matches(steps: &[Step], text: &str) -> bool {
    let mut here = vec![false; steps.len() + 1];
    here[0] = true;
    skip(steps, &mut here);
    for letter in text.chars() {
        let mut next = vec![false; here.len()];
        for (place, step) in steps.iter().enumerate().filter(|(place, _)| here[*place]) {
            match step {
                Step::Letter(wanted) if *wanted == letter => next[place + 1] = true,
                Step::One if letter != '/' => next[place + 1] = true,
                Step::Some if letter != '/' => next[place] = true,
                Step::Anything => next[place] = true,
                Step::InDirectories => {
                    next[place] = true;
                    next[place + 1] |= letter == '/';
                }
                _ => {}
            }
        }
        skip(steps, &mut next);
        here = next;
    }
    here[steps.len()]
}

/// Goes past what may stand for nothing.
fn skip(steps: &[Step], here: &mut [bool]) {
    for (place, step) in steps.iter().enumerate() {
        if here[place] {
            match step {
                Step::Some | Step::Anything => here[place + 1] = true,
                Step::Directories => {
                    here[place + 1] = true;
                    here[place + 2] = true;
                }
                _ => {}
            }
        }
    }
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
    }
}
