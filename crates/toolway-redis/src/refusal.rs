//! What does an error that Redis replies with mean for a step?

use redis::{ErrorKind, RedisError};
use toolway_store::{StoreError, StoreFailure};

use crate::url::Address;

/// An error that a server replied with. None of them leaves a step half done, except those of [`Remedy::Doubt`].
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) remedy: Remedy,
    message: String,
}

/// The ways to go on after a refusal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Send the text of the script.
    SendScript,
    /// Another server has the keys from now on.
    Moved(Address),
    /// Another server has the keys of this step.
    Ask(Address),
    /// The server is a replica: find the primary.
    FindPrimary,
    /// The servers need a moment.
    Wait,
    /// The outcome is not known.
    Doubt,
    /// Tell the caller.
    Fail(StoreFailure),
}

impl Refusal {
    /// Returns the refusal, or the error if it did not come from the server.
    pub(crate) fn new(error: RedisError) -> Result<Self, RedisError> {
        if !matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension) {
            return Err(error);
        }
        let detail = error.detail().unwrap_or_default();
        let code = inner_code(error.code().unwrap_or_default(), detail);
        let address = || {
            let (address, _) = error.redirect_node()?;
            let (host, port) = address.rsplit_once(':')?;
            Some(Address { host: host.to_owned(), port: port.parse().ok()? })
        };
        let remedy = match code {
            "NOSCRIPT" => Remedy::SendScript,
            "MOVED" => address().map_or(Remedy::Wait, Remedy::Moved),
            "ASK" => address().map_or(Remedy::Wait, Remedy::Ask),
            "READONLY" => Remedy::FindPrimary,
            "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" => Remedy::Wait,
            "LOADING" | "BUSY" | "OOM" | "MISCONF" | "NOREPLICAS" | "NOAUTH" => {
                Remedy::Fail(StoreFailure::NotDone)
            }
            "UNBLOCKED" => Remedy::Doubt,
            _ if detail.contains("non local key") => Remedy::Doubt,
            _ => Remedy::Fail(StoreFailure::Broken),
        };
        let message = match code {
            // The text of the server names the user.
            "NOPERM" | "NOAUTH" | "WRONGPASS" => {
                format!(
                    "Redis refuses the user of this store ({code}): compare its access rules with the documentation"
                )
            }
            _ => format!("Redis refuses with {code}: {detail}"),
        };
        Ok(Self { remedy, message })
    }

    pub(crate) fn error(&self, failure: StoreFailure) -> StoreError {
        StoreError::new(failure, self.message.clone())
    }

    pub(crate) fn message(self) -> String {
        self.message
    }
}

/// Returns the code of an error. Before Redis 7 an error inside a script has the code `ERR`, and its own code in the text.
fn inner_code<'e>(code: &'e str, detail: &'e str) -> &'e str {
    if code != "ERR" || !detail.contains("running script") {
        return code;
    }
    detail
        .split(|character: char| !character.is_ascii_uppercase())
        .find(|word| INSIDE_SCRIPTS.contains(word))
        .unwrap_or(code)
}

const INSIDE_SCRIPTS: [&str; 6] = ["READONLY", "OOM", "MISCONF", "NOREPLICAS", "NOPERM", "WRONGTYPE"];

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy(code: &str, detail: &str) -> Remedy {
        let error = redis::make_extension_error(code.to_owned(), Some(detail.to_owned()));
        Refusal::new(error).expect("it came from the server").remedy
    }

    #[test]
    fn an_error_inside_a_script_of_redis_6_has_its_own_code() {
        let text = "Error running script (call to f_1): @user_script:12: @user_script: 12: ";
        let readonly = format!("{text}-READONLY You can't write against a read only replica.");
        assert_eq!(remedy("ERR", &readonly), Remedy::FindPrimary);
        let oom = format!("{text}-OOM command not allowed when used memory > 'maxmemory'.");
        assert_eq!(remedy("ERR", &oom), Remedy::Fail(StoreFailure::NotDone));
        assert_eq!(
            remedy("ERR", &format!("{text}attempt to index a nil value")),
            Remedy::Fail(StoreFailure::Broken)
        );
    }

    #[test]
    fn the_name_of_the_user_is_not_in_the_message() {
        let error = redis::make_extension_error(
            "NOPERM".to_owned(),
            Some("User hunter2 has no permissions to run the 'get' command".to_owned()),
        );
        let refusal = Refusal::new(error).expect("it came from the server");
        assert_eq!(refusal.remedy, Remedy::Fail(StoreFailure::Broken));
        assert!(!refusal.message().contains("hunter2"));
    }
}
