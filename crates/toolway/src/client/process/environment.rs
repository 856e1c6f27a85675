//! Which environment variables does a server inherit?

use std::ffi::{OsStr, OsString};

/// The variables that a server inherits from this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InheritedEnv {
    /// The variables in [`BASICS`], which programs need to run and which normally hold no secrets.
    Basics,
    All,
    Nothing,
}

/// Returns the variables of a server: the inherited part of `ours`, with `changes` applied in order. A change sets a
/// variable, or removes it if the value is `None`.
pub(super) fn variables(
    inherit: InheritedEnv,
    ours: impl Iterator<Item = (OsString, OsString)>,
    changes: &[(OsString, Option<OsString>)],
) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<_> = ours
        .filter(|(name, _)| match inherit {
            InheritedEnv::Basics => is_basic(name),
            InheritedEnv::All => true,
            InheritedEnv::Nothing => false,
        })
        .collect();
    for (name, value) in changes {
        variables.retain(|(known, _)| !is_same(known, name));
        if let Some(value) = value {
            variables.push((name.clone(), value.clone()));
        }
    }
    variables
}

/// Returns whether two names mean the same variable. Windows ignores case.
fn is_same(left: &OsStr, right: &OsStr) -> bool {
    if cfg!(windows) { left.eq_ignore_ascii_case(right) } else { left == right }
}

fn is_basic(name: &OsStr) -> bool {
    BASICS.iter().any(|basic| name.eq_ignore_ascii_case(basic))
        || name.to_str().is_some_and(|name| name.starts_with("LC_"))
}

/// Returns whether a variable is public: every program has it, and it describes the machine. The variables of proxies
/// are not public, because they may contain a password.
pub(super) fn is_public(name: &OsStr) -> bool {
    let is_proxy = name.to_str().is_some_and(|name| name.to_ascii_uppercase().ends_with("_PROXY"));
    let is_of_shell = ["PWD", "OLDPWD", "_", "SHLVL"].iter().any(|known| name.eq_ignore_ascii_case(known));
    (is_basic(name) && !is_proxy) || is_of_shell
}

/// The variables that servers inherit by default, besides those that begin with `LC_`. Names are compared without
/// regard to case, because proxy variables are written in either case, and Windows has `Path`.
const BASICS: [&str; 42] = [
    // The user and the folders.
    "HOME",
    "LOGNAME",
    "USER",
    "SHELL",
    "PATH",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    // Language and terminal.
    "LANG",
    "LANGUAGE",
    "TERM",
    "NO_COLOR",
    "TZ",
    // Network access: a launcher often has to download the server first.
    "ALL_PROXY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    // Variables of Windows.
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn given(inherit: InheritedEnv, changes: &[(&str, Option<&str>)]) -> Vec<String> {
        let ours = [("PATH", "/bin"), ("AWS_SECRET_ACCESS_KEY", "s"), ("https_proxy", "p"), ("LC_ALL", "C")];
        let ours = ours.map(|(name, value)| (name.into(), value.into()));
        let changes: Vec<_> =
            changes.iter().map(|(name, value)| (name.into(), value.map(Into::into))).collect();
        let variables = variables(inherit, ours.into_iter(), &changes);
        let mut shown: Vec<_> = variables
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        shown.sort();
        shown
    }

    #[test]
    fn secrets_are_not_inherited_unless_somebody_says_so() {
        assert_eq!(given(InheritedEnv::Basics, &[]), ["LC_ALL=C", "PATH=/bin", "https_proxy=p"]);
        assert_eq!(given(InheritedEnv::All, &[]).len(), 4);
        assert!(given(InheritedEnv::Nothing, &[]).is_empty());
    }

    #[test]
    fn what_is_set_wins() {
        let changes = [("PATH", Some("/x")), ("TOKEN", Some("t")), ("LC_ALL", None), ("TOKEN", Some("u"))];
        assert_eq!(given(InheritedEnv::Basics, &changes), ["PATH=/x", "TOKEN=u", "https_proxy=p"]);
        assert_eq!(given(InheritedEnv::Nothing, &changes), ["PATH=/x", "TOKEN=u"]);
    }
}
