//! Which of many generated tokens does our server accept?
//!
//! `verdicts SEED COUNT KEYS` prints a line with what the server was told, and then a line for each token: the token, how it
//! was changed, and why our server refuses it. `KEYS` is a file with private keys, which `judge.mjs` has made. The verdicts
//! of other libraries about the same tokens are compared by `cargo xtask verdicts`. Each line is JSON.
//!
//! | file | question |
//! |---|---|
//! | `token.rs` | How is a token written, and how can it be written differently? |
//! | `changes.rs` | Which mistakes and forgeries does a token have? |
//! | `signature.rs` | How is a text signed, and how can its signature be spoiled? |
//! | `ours.rs` | What does our server say? |
//! | `random.rs` | Where does randomness come from, so that one number repeats a whole run? |

#![expect(clippy::print_stdout, reason = "standard output is where xtask reads the verdicts")]

mod changes;
mod ours;
mod random;
mod signature;
mod token;

use std::fs;
use std::process::ExitCode;
use std::time::SystemTime;

use changes::Draft;
use ours::OurServer;
use random::Random;
use serde_json::json;
use signature::Keys;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("verdicts: {message}");
            ExitCode::from(2)
        }
    }
}

async fn run(words: &[String]) -> Result<(), String> {
    let [seed, count, keys] = words else { return Err("usage: verdicts SEED COUNT KEYS".to_owned()) };
    let number = |text: &String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"));
    let (seed, count) = (number(seed)?, number(count)?);
    let keys = fs::read_to_string(keys).map_err(|error| format!("could not read {keys}: {error}"))?;
    let keys = Keys::read(&keys)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_err(|error| error.to_string())?;
    let server = OurServer::new(&keys.public_set())?;
    println!("{}", ours::settings(now.as_secs(), &keys.public_set()));
    for case in 0..count {
        let mut random = Random::new(seed, case);
        let draft = Draft::random(&mut random, &keys, now.as_secs());
        let token = draft.token(&mut random, &keys)?;
        let ours = server.reason_to_refuse(&token).await?;
        println!("{}", json!({"token": token, "change": draft.changes(), "ours": ours}));
    }
    Ok(())
}
