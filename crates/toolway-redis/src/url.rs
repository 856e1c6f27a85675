//! Which servers does a URL name, and with which credentials?

use std::fmt;

use crate::error::SetupError;

/// The servers of a store.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) kind: TargetKind,
    pub(crate) addresses: Vec<Address>,
    pub(crate) has_tls: bool,
    pub(crate) credentials: Credentials,
    pub(crate) database: i64,
}

/// The ways in which servers work together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetKind {
    Single,
    #[cfg(feature = "sentinel")]
    Sentinel {
        name: String,
    },
    #[cfg(feature = "cluster")]
    Cluster,
}

/// The host and port of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// A user and a password. `Debug` shows neither.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

impl Target {
    pub(crate) fn parse(url: &str) -> Result<Self, SetupError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| {
            wrong("it has no scheme; write redis://host, rediss://host, redis+sentinel://a,b,c/name or redis+cluster://a,b,c")
        })?;
        let (has_tls, flavour) = match scheme.strip_prefix("rediss") {
            Some(flavour) => (true, flavour),
            None => (false, scheme.strip_prefix("redis").ok_or_else(|| unknown_scheme(scheme))?),
        };
        if has_tls && !cfg!(feature = "tls") {
            return Err(wrong("it asks for TLS; enable the feature `tls` of toolway-redis"));
        }
        if rest.contains(['?', '#']) {
            return Err(wrong(
                "it has a query or a fragment; encode `?` and `#` in a password as %3F and %23",
            ));
        }
        // The last `@`, because a password may contain one.
        let (login, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let credentials = Credentials::parse(login)?;
        let mut path = path.split('/');
        let (kind, default_port) = match flavour {
            "" => (TargetKind::Single, REDIS_PORT),
            #[cfg(feature = "sentinel")]
            "+sentinel" => {
                let name = decode(path.next().unwrap_or_default())?;
                if name.is_empty() {
                    return Err(wrong("it has no name of the primary; write redis+sentinel://a,b,c/name"));
                }
                (TargetKind::Sentinel { name }, SENTINEL_PORT)
            }
            #[cfg(feature = "cluster")]
            "+cluster" => (TargetKind::Cluster, REDIS_PORT),
            #[cfg(not(feature = "sentinel"))]
            "+sentinel" => return Err(wrong("enable the feature `sentinel` of toolway-redis")),
            #[cfg(not(feature = "cluster"))]
            "+cluster" => return Err(wrong("enable the feature `cluster` of toolway-redis")),
            _ => return Err(unknown_scheme(scheme)),
        };
        let database = match path.next().unwrap_or_default() {
            "" => 0,
            number => number
                .parse::<u16>()
                .map_err(|_| wrong("the database at the end of its path must be a number"))?
                .into(),
        };
        let addresses =
            hosts.split(',').map(|host| Address::parse(host, default_port)).collect::<Result<Vec<_>, _>>()?;
        match kind {
            TargetKind::Single if addresses.len() > 1 => {
                return Err(wrong("it names several servers; write redis+sentinel:// or redis+cluster://"));
            }
            #[cfg(feature = "cluster")]
            TargetKind::Cluster if database != 0 => {
                return Err(wrong("a Redis Cluster has only the database 0"));
            }
            _ => {}
        }
        Ok(Self { kind, addresses, has_tls, credentials, database })
    }
}

impl Address {
    fn parse(text: &str, default_port: u16) -> Result<Self, SetupError> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        if host.is_empty() {
            return Err(wrong("a host is empty"));
        }
        let port = match port {
            None => default_port,
            Some(port) => port.parse().map_err(|_| {
                wrong("a port is not a number; encode `/` and `@` in a password as %2F and %40, and write IPv6 as [::1]")
            })?,
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

impl Credentials {
    fn parse(login: &str) -> Result<Self, SetupError> {
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let part = |text: &str| decode(text).map(|text| Some(text).filter(|text| !text.is_empty()));
        let credentials = Self { user: part(user)?, password: part(password)? };
        if credentials.user.is_some() && credentials.password.is_none() {
            return Err(wrong(
                "it has a user without a password; write user:password@host, or :password@host",
            ));
        }
        Ok(credentials)
    }
}

/// Replaces each `%` with two digits by the byte that they mean.
fn decode(text: &str) -> Result<String, SetupError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(wrong("a `%` is not followed by two hexadecimal digits; write %25 for a `%`"));
        };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8 after its `%` codes are decoded"))
}

fn wrong(message: &str) -> SetupError {
    SetupError::new("url", message)
}

fn unknown_scheme(scheme: &str) -> SetupError {
    // Text before `://` has no credentials, unless the URL has none of the known forms.
    let shown: String = scheme.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '+').take(20).collect();
    SetupError::new(
        "url",
        format!("the scheme {shown:?} is not one of redis, rediss, redis+sentinel and redis+cluster"),
    )
}

const REDIS_PORT: u16 = 6379;
#[cfg(feature = "sentinel")]
const SENTINEL_PORT: u16 = 26379;

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(url: &str) -> String {
        match Target::parse(url) {
            Ok(target) => {
                let addresses: Vec<_> = target.addresses.iter().map(ToString::to_string).collect();
                let Credentials { user, password } = target.credentials;
                format!("{:?} {} {user:?} {password:?} {}", target.kind, addresses.join(","), target.database)
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn urls_name_servers_credentials_and_a_database() {
        for (url, expected) in [
            ("redis://localhost", "Single localhost:6379 None None 0"),
            ("redis://:p%40ss@h:1/3", r#"Single h:1 None Some("p@ss") 3"#),
            ("redis://me:a@b@[::1]:7", r#"Single [::1]:7 Some("me") Some("a@b") 0"#),
            #[cfg(feature = "sentinel")]
            (
                "redis+sentinel://u:p@a,b:5,c/main/2",
                r#"Sentinel { name: "main" } a:26379,b:5,c:26379 Some("u") Some("p") 2"#,
            ),
            #[cfg(feature = "cluster")]
            ("redis+cluster://a,b:7001", "Cluster a:6379,b:7001 None None 0"),
        ] {
            assert_eq!(summary(url), expected, "{url}");
        }
    }

    #[test]
    fn a_wrong_url_is_refused_without_showing_its_password() {
        for url in [
            "localhost:6379",
            "http://u:hunter2@h",
            "redis://u:hunter2@a,b",
            "redis://u:hunter2@h:x",
            "redis://hunter2@h",
            "redis://u:%hunter2@h",
            "redis://u:hunter2@h/x",
            "redis://u:hunter2?@h",
            "redis+sentinel://u:hunter2@h",
            "redis+cluster://u:hunter2@h/1",
            "redis://",
        ] {
            let error = Target::parse(url).unwrap_err();
            assert_eq!(error.setting(), "url", "{url}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
    }
}
