//! Which environment variables can make a program run other code than its own?
//!
//! The list is for a warning, not for a decision: a user sees every variable of a server, and these are named again. A
//! program may have variables of its own that do the same.

/// Returns whether a variable of this name can load other code into a program, or change which code it runs. The case of
/// letters is ignored: Windows does so, and some programs read both spellings.
pub(super) fn can_load_code(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.contains(&&*name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The beginnings of names.
const PREFIXES: [&str; 42] = [
    // Loaders of shared libraries: of Linux and other Unix systems, of macOS, of Nix.
    "LD_",
    "DYLD_",
    "_RLD",
    "NIX_LD",
    // JavaScript: programs, and the tools that download and start them.
    "BUN_",
    "COREPACK_",
    "DENO_",
    "ELECTRON_",
    "NODE_",
    "NPM_",
    "PNPM_",
    "TS_NODE_",
    "YARN_",
    // Python.
    "CONDA_",
    "PIP_",
    "PIPX_",
    "POETRY_",
    "PYTHON",
    "UV_",
    // Perl, Ruby, Lua, PHP, R, Julia, Erlang and Elixir.
    "BUNDLE",
    "ERL_",
    "GEM_",
    "JULIA_",
    "LUA_",
    "MIX_",
    "PERL",
    "PHP",
    "RUBY",
    "R_",
    // .NET.
    "COMPLUS_",
    "CORECLR_",
    "COR_",
    "DOTNET_",
    // Go and Rust, whose tools build and run programs.
    "CARGO",
    "RUSTC",
    "RUSTUP_",
    // Functions that a shell imports.
    "BASH_FUNC_",
    // Files with settings that name programs.
    "DOCKER_",
    "GIT_CONFIG",
    "XDG_",
    // Plug-ins of libraries.
    "GST_PLUGIN",
    "OPENSSL_",
];

/// Whole names.
const NAMES: [&str; 73] = [
    // Where programs, libraries and settings are found.
    "APPDATA",
    "COMSPEC",
    "HOME",
    "LIBPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROGRAMDATA",
    "SHELL",
    "SHLIB_PATH",
    "SYSTEMROOT",
    "USERPROFILE",
    "WINDIR",
    // Shells.
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "FPATH",
    "IFS",
    "INPUTRC",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "ZDOTDIR",
    // Java.
    "CLASSPATH",
    "GRADLE_OPTS",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "MAVEN_OPTS",
    "SBT_OPTS",
    "_JAVA_OPTIONS",
    // Go, Rust, Tcl, Haskell, Guile.
    "GODEBUG",
    "GOFLAGS",
    "GOPATH",
    "GOPROXY",
    "GOROOT",
    "GOTOOLCHAIN",
    "GUILE_LOAD_PATH",
    "RUSTFLAGS",
    "STACK_ROOT",
    "TCLLIBPATH",
    // Programs that other programs start.
    "BROWSER",
    "CVS_RSH",
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SVN_SSH",
    "VISUAL",
    // Settings that name programs, and plug-ins of libraries.
    "AWS_CONFIG_FILE",
    "GCONV_PATH",
    "GIO_EXTRA_MODULES",
    "GIO_MODULE_DIR",
    "GTK_MODULES",
    "HGRCPATH",
    "KUBECONFIG",
    "QT_PLUGIN_PATH",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_loaders_and_interpreters_are_known() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "NODE_PATH",
            "npm_config_registry",
            "NPM_CONFIG_SCRIPT_SHELL",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PIP_INDEX_URL",
            "UV_INDEX_URL",
            "PERL5LIB",
            "PERL5OPT",
            "PERLLIB",
            "RUBYOPT",
            "RUBYLIB",
            "GEM_PATH",
            "BASH_ENV",
            "ENV",
            "BASH_FUNC_ls%%",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "CLASSPATH",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "SSH_ASKPASS",
            "PATH",
            "Path",
            "HOME",
            "XDG_CONFIG_HOME",
            "DOTNET_STARTUP_HOOKS",
            "CORECLR_PROFILER",
            "LUA_INIT",
            "PHPRC",
            "OPENSSL_CONF",
            "GCONV_PATH",
            "EDITOR",
            "ZDOTDIR",
        ] {
            assert!(can_load_code(name), "{name}");
        }
        for name in [
            "TOKEN",
            "GITHUB_TOKEN",
            "API_KEY",
            "LANG",
            "DEBUG",
            "LOG_LEVEL",
            "PORT",
            "GIT_AUTHOR_NAME",
            "LDAP_URL",
        ] {
            assert!(!can_load_code(name), "{name}");
        }
        assert!(NAMES.iter().chain(&PREFIXES).all(|name| name.to_ascii_uppercase() == *name));
    }
}
