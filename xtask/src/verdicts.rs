//! Do other libraries agree with our verdicts about access tokens?
//!
//! The program `verdicts` of `interop` makes tokens, valid and spoiled ones, and asks our server about each. Two libraries
//! judge the same tokens by the same rules: `jose` for Node and `joserfc` for Python. A token that we accept and one of them
//! refuses is a failure. We may refuse more, but only by a rule that is written down.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::arguments::Arguments;
use crate::node::Node;
use crate::python::Python;
use crate::run::{self, Result};
use crate::test;
use crate::workspace::Workspace;

/// Reads the number of tokens.
pub(crate) fn parse(mut arguments: Arguments) -> Result<u32> {
    let tokens = arguments.value("--tokens")?.map_or(Ok(TOKENS), |text| {
        let number = text.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("`--tokens {text}`: it takes a number from 1"))
    })?;
    arguments.finish()?;
    Ok(tokens)
}

/// Makes tokens, lets all judge them, and compares.
pub(crate) fn run(workspace: &Workspace, tokens: u32) -> Result {
    let directory = workspace.target.join("verdicts");
    fs::create_dir_all(&directory)
        .map_err(|error| format!("could not create {}: {error}", directory.display()))?;
    let (program, judges) = thread::scope(|scope| {
        let installing = scope.spawn(|| Judges::install(workspace, &directory));
        let program = build(workspace);
        let judges = installing.join().map_err(|_| "an installation panicked; see above")?;
        Ok::<_, String>((program?, judges?))
    })?;
    let start = Instant::now();
    let (keys, file) = (directory.join("keys.json"), directory.join("tokens.jsonl"));
    run_into(&keys, judges.jose().arg("keys"))?;
    let seed = env::var("SEED").unwrap_or_else(|_| SEED.to_owned());
    run_into(&file, Command::new(program).args([&seed, &tokens.to_string()]).arg(&keys))?;
    let made = start.elapsed().as_secs_f64();
    let outputs = [directory.join("jose.out"), directory.join("joserfc.out")];
    thread::scope(|scope| {
        let other = scope.spawn(|| run_into(&outputs[1], judges.joserfc().arg(&file)));
        let outcome = run_into(&outputs[0], judges.jose().arg("verdicts").arg(&file));
        outcome.and(other.join().map_err(|_| "a thread panicked; see above")?)
    })?;
    let [jose, joserfc] = [read(&outputs[0])?, read(&outputs[1])?];
    let comparison = Comparison::of(&read(&file)?, &jose, &joserfc)?;
    print!("{}", comparison.table());
    println!(
        "verdicts: {tokens} tokens with the seed {seed}; made and judged by us in {made:.1} s, by all in {:.1} s; they \
         are in {}",
        start.elapsed().as_secs_f64(),
        file.display()
    );
    comparison.verdict()?;
    println!("verdicts: {tokens} passed, none that only we accept");
    Ok(())
}

fn build(workspace: &Workspace) -> Result<PathBuf> {
    test::build_programs(workspace, &["--bin=verdicts"])?;
    Ok(workspace.debug_program("verdicts"))
}

/// The other libraries.
struct Judges {
    node: Node,
    python: Python,
    scripts: PathBuf,
}

impl Judges {
    fn install(workspace: &Workspace, directory: &Path) -> Result<Self> {
        let scripts = workspace.root.join("interop");
        let (node, python) = thread::scope(|scope| {
            let python = scope.spawn(|| Python::install(&directory.join("python"), &[JOSERFC]));
            let node = Node::install(directory.join("node"), &[JOSE]);
            let python = python.join().map_err(|_| "an installation panicked; see above")?;
            Ok::<_, String>((node?, python?))
        })?;
        // A module finds packages only in its own folder or above, so it is copied next to them.
        let (source, copy) = (scripts.join(NODE_SCRIPT), node.prefix.join(NODE_SCRIPT));
        fs::copy(&source, &copy)
            .map_err(|error| format!("could not copy {} to {}: {error}", source.display(), copy.display()))?;
        Ok(Self { node, python, scripts })
    }

    fn jose(&self) -> Command {
        self.node.command(&self.node.prefix.join(NODE_SCRIPT))
    }

    fn joserfc(&self) -> Command {
        let mut command = self.python.command("python");
        command.arg("-B").arg(self.scripts.join("judge.py"));
        command
    }
}

/// Runs a command whose output goes to a file.
fn run_into(path: &Path, command: &mut Command) -> Result {
    let file = File::create(path).map_err(|error| format!("could not write {}: {error}", path.display()))?;
    match run::run_within(TIMEOUT, command.stdout(file))? {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            Err(format!("`{}` failed with {}", run::command_text(command), run::describe_exit(status)))
        }
        None => Err(format!("`{}` was not done after {} s", run::command_text(command), TIMEOUT.as_secs())),
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("could not read {}: {error}", path.display()))
}

/// The verdicts of all about the same tokens.
#[derive(Debug, Default)]
struct Comparison {
    tokens: usize,
    accepted_by_all: usize,
    /// How many tokens we refuse with each text.
    refused: BTreeMap<String, Counts>,
    /// Tokens that we accept and a judge refuses, by what the judges say.
    only_ours: BTreeMap<String, Vec<String>>,
}

/// How many of the tokens that we refuse are accepted by the judges.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    neither: usize,
    jose_only: usize,
    joserfc_only: usize,
    both: usize,
}

impl Comparison {
    /// Compares our verdicts with the lines of the judges.
    fn of(ours: &str, jose: &str, joserfc: &str) -> Result<Self> {
        // The first line has the rules.
        let ours: Vec<&str> = ours.lines().skip(1).collect();
        let (jose, joserfc): (Vec<&str>, Vec<&str>) = (jose.lines().collect(), joserfc.lines().collect());
        if ours.len() != jose.len() || ours.len() != joserfc.len() {
            let counts = [ours.len(), jose.len(), joserfc.len()];
            return Err(format!("there are {counts:?} verdicts: a judge has left tokens out"));
        }
        let mut comparison = Self { tokens: ours.len(), ..Self::default() };
        for ((ours, jose), joserfc) in ours.into_iter().zip(jose).zip(joserfc) {
            let ours: Value =
                serde_json::from_str(ours).map_err(|error| format!("a token is not JSON: {error}"))?;
            comparison.add(&ours, jose, joserfc);
        }
        Ok(comparison)
    }

    fn add(&mut self, ours: &Value, jose: &str, joserfc: &str) {
        let accepted = [jose, joserfc].map(|verdict| verdict == ACCEPTED);
        if let Some(text) = ours["ours"].as_str() {
            let counts = self.refused.entry(text.to_owned()).or_default();
            *match accepted {
                [false, false] => &mut counts.neither,
                [true, false] => &mut counts.jose_only,
                [false, true] => &mut counts.joserfc_only,
                [true, true] => &mut counts.both,
            } += 1;
        } else if accepted == [true, true] {
            self.accepted_by_all += 1;
        } else {
            let shown = |name: &str| ours[name].as_str().unwrap_or_default().to_owned();
            let text = format!("jose: {jose}; joserfc: {joserfc}");
            self.only_ours.entry(text).or_default().push(format!(
                "{}\n     {}",
                shown("change"),
                shown("token")
            ));
        }
    }

    fn table(&self) -> String {
        let mut table = String::new();
        let _ = writeln!(
            table,
            "{} tokens; all accept {}. The others are refused by us, and accepted by",
            self.tokens, self.accepted_by_all
        );
        let _ = writeln!(table, " both  jose  joserfc  neither  our text [the rule]");
        let mut only_we = 0;
        for (text, Counts { neither, jose_only, joserfc_only, both }) in &self.refused {
            only_we += both;
            let rule = rule_of(text).unwrap_or("NO RULE");
            let _ = writeln!(table, "{both:5} {jose_only:5} {joserfc_only:8} {neither:8}  {text} [{rule}]");
        }
        let _ = writeln!(table, "{only_we} are refused by us only");
        table
    }

    /// An error if we accept too much, refuse without a rule, or if the tokens test nothing.
    fn verdict(&self) -> Result {
        let mut broken = Vec::new();
        for (text, tokens) in &self.only_ours {
            let shortest = tokens.iter().min_by_key(|token| token.len()).map(String::as_str);
            broken.push(format!(
                "{} tokens that we accept are refused: {text}\n  for example {}",
                tokens.len(),
                shortest.unwrap_or_default()
            ));
        }
        for text in self.refused.keys().filter(|text| rule_of(text).is_none()) {
            broken.push(format!(
                "we refuse tokens because `{text}`, which is no rule of xtask/src/verdicts.rs"
            ));
        }
        if self.accepted_by_all * 10 < self.tokens {
            broken.push("less than a tenth of the tokens are accepted: they test little".to_owned());
        }
        if broken.is_empty() {
            return Ok(());
        }
        let count: usize = self.only_ours.values().map(Vec::len).sum();
        Err(format!("{}\nverdicts: {count} tokens are accepted by us only", broken.join("\n")))
    }
}

fn rule_of(text: &str) -> Option<&'static str> {
    RULES.iter().find(|(known, _)| *known == text).map(|(_, rule)| *rule)
}

/// The rules by which we refuse tokens, by the texts that callers get.
const RULES: [(&str, &str); 18] = [
    ("a member of the token has the wrong type", "members of the types that the standards say"),
    ("the token is too long", "at most 16 KiB"),
    ("the token is not three parts in Base64", "three parts, strict base64url"),
    (
        "a part of the token is not a JSON object with unique keys",
        "JSON of RFC 8259 in UTF-8, duplicate keys refused",
    ),
    ("the algorithm of the token is not accepted", "alg on the list of the issuer"),
    ("the token has extensions that are not supported", "crit, b64 refused"),
    ("the token is not an access token", "typ at+jwt, JWT or none"),
    ("the issuer of the token is not trusted", "iss equal bytes"),
    ("the token is for another server", "aud holds the resource"),
    ("the token does not say when it expires", "exp needed and a number"),
    ("the token has expired", "exp, with leeway"),
    ("the token is not valid yet", "nbf and iat, with leeway"),
    ("a time in the token is not a number", "nbf and iat numbers if there"),
    ("the token names neither a user nor a client", "sub or client_id"),
    ("the signature of the token is not valid", "signed by a key of the set that fits"),
    ("the Authorization header is malformed", "one token without spaces and commas"),
    ("the token cannot be in a header", "HTTP"),
    ("the token is bound to a key: send it with the scheme DPoP and a proof", "a bound token needs a proof"),
];

const ACCEPTED: &str = "accepted";
/// Fixed, so that the check makes the same tokens for the same sources. Only keys and times differ.
const SEED: &str = "20260728";
/// The number of tokens if the command line does not say it.
pub(crate) const TOKENS: u32 = 10_000;
/// The number of tokens in CI.
pub(crate) const TOKENS_IN_CI: u32 = 2_000;
const TIMEOUT: Duration = Duration::from_secs(10 * 60);
const NODE_SCRIPT: &str = "judge.mjs";
const JOSE: &str = "jose@6.2.17";
const JOSERFC: &str = "joserfc==1.8.0";

#[cfg(test)]
mod tests {
    use super::{Arguments, Comparison, Counts, parse};

    const OURS: &str = "{\"issuer\":\"x\"}\n{\"token\":\"a\",\"change\":\"none\",\"ours\":null}\n";
    const REFUSED: &str =
        "{\"token\":\"b\",\"change\":\"typ\",\"ours\":\"the token is not an access token\"}\n";

    fn compare(ours: &str, jose: &str, joserfc: &str) -> Comparison {
        Comparison::of(
            &format!("{OURS}{ours}"),
            &format!("accepted\n{jose}"),
            &format!("accepted\n{joserfc}"),
        )
        .unwrap()
    }

    #[test]
    fn we_may_refuse_more_but_only_by_a_rule() {
        let comparison = compare(REFUSED, "accepted", "no");
        assert_eq!(
            comparison.refused["the token is not an access token"],
            Counts { jose_only: 1, ..Counts::default() }
        );
        comparison.verdict().unwrap();
        let table = compare(REFUSED, "accepted", "accepted").table();
        assert!(
            table.contains("2 tokens; all accept 1.") && table.contains("1 are refused by us only"),
            "{table}"
        );
        let unknown = REFUSED.replace("an access token", "nice");
        assert!(compare(&unknown, "no", "no").verdict().unwrap_err().contains("is not nice"));
    }

    #[test]
    fn a_token_that_only_we_accept_is_shown_with_the_reasons() {
        let accepted = OURS.lines().nth(1).unwrap().replace("none", "a bad key");
        let error = compare(&accepted, "the key is bad", "accepted").verdict().unwrap_err();
        assert!(
            error.contains("1 tokens that we accept are refused: jose: the key is bad; joserfc: accepted"),
            "{error}"
        );
        assert!(error.contains("a bad key\n     a"), "{error}");
    }

    #[test]
    fn tokens_that_are_all_refused_and_judges_that_say_nothing_are_noticed() {
        let comparison = Comparison::of(&format!("rules\n{REFUSED}"), "no\n", "no\n").unwrap();
        assert!(comparison.verdict().unwrap_err().contains("test little"));
        assert!(Comparison::of(OURS, "", "accepted\n").unwrap_err().contains("left tokens out"));
    }

    #[test]
    fn the_number_of_tokens_is_read() {
        assert_eq!(parse(Arguments::from_words(&["--tokens", "7"])), Ok(7));
        assert_eq!(parse(Arguments::from_words(&[])), Ok(10_000));
        assert!(parse(Arguments::from_words(&["--tokens", "0"])).is_err());
    }
}
