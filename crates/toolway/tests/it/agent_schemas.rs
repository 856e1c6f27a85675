//! How is each construct of JSON Schema converted for each provider?
//!
//! `tests/golden/agent/` has one file per construct: the schema, the result for each provider, and what is lost. To add
//! one, write a file with `about` and `input`; `UPDATE_GOLDEN=1 cargo nextest run -p toolway agent_schemas` adds the
//! rest, and rewrites all files when the conversion changes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolway::agent::{Provider, schema};

#[test]
fn every_construct_becomes_what_the_golden_files_say() {
    let mut different = Vec::new();
    let files = files();
    assert!(files.len() >= 35, "{} constructs", files.len());
    for path in files {
        let golden: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let mut actual = json!({"about": golden["about"], "input": golden["input"]});
        for (name, provider) in PROVIDERS {
            actual[name] = told(provider, &golden["input"]);
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, serde_json::to_string_pretty(&actual).unwrap() + "\n").unwrap();
        } else if actual != golden {
            different.push(format!("{}:\n{actual:#}", path.display()));
        }
    }
    assert!(different.is_empty(), "these differ from their golden files:\n{}", different.join("\n"));
}

/// Returns the schema for a provider.
fn told(provider: Provider, input: &Value) -> Value {
    let converted = schema::convert(provider, input);
    let rules =
        if provider == Provider::OpenAiStrict && !converted.is_strict { Provider::OpenAi } else { provider };
    if let Some(written) = &converted.schema {
        assert_eq!(
            toolway_schema::dialects::check(rules, written),
            [],
            "{provider:?}: {input} became {written}"
        );
    }
    let losses: Vec<_> = converted.losses.iter().map(|loss| format!("{:?}: {loss}", loss.effect)).collect();
    let mut told = json!({"schema": converted.schema, "losses": losses});
    if provider == Provider::OpenAiStrict {
        told["strict"] = converted.is_strict.into();
    }
    told
}

const PROVIDERS: [(&str, Provider); 4] = [
    ("openai", Provider::OpenAi),
    ("openai_strict", Provider::OpenAiStrict),
    ("anthropic", Provider::Anthropic),
    ("gemini", Provider::Gemini),
];

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/agent");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
