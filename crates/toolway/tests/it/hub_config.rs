//! Files that name servers: are the formats of all hosts understood, is every mistake reported with its place, does a
//! missing value affect only its server, and are secrets hidden?

use std::fmt::Write;
use std::path::{Path, PathBuf};

use toolway::hub::config::{Host, SearchPaths, ServerPreview, Variables};
use toolway::hub::{Config, ConfigError, ServerConfig, ServerKind};

/// A folder with files in it, deleted when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("toolway-hub-{name}-{}", std::process::id())));
        for (path, text) in files {
            let path = folder.0.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn places(&self) -> SearchPaths {
        SearchPaths::new(self.join("shop"))
            .with_home(self.join("ada"))
            .with_config_dir(self.join("ada/.config"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn variables() -> Variables {
    Variables::from_fn(|name| match name {
        "TOKEN" => Some("s3cret".to_owned()),
        "INPUT_GITHUB_TOKEN" => Some("s3cret-input".to_owned()),
        _ => None,
    })
    .home("/home/ada")
}

/// Describes a configuration, one line per server: the command that a user would type.
fn described(config: &Config) -> String {
    let mut text = String::new();
    for server in &config.servers {
        write!(text, "{}:", server.name).unwrap();
        match server.resolve(&variables()).unwrap() {
            ServerKind::Command { program, args, env, cwd, .. } => {
                for (name, value) in env {
                    write!(text, " {name}={value}").unwrap();
                }
                write!(text, " {program}").unwrap();
                for arg in args {
                    write!(text, " <{arg}>").unwrap();
                }
                if let Some(cwd) = cwd {
                    write!(text, " in {}", cwd.display()).unwrap();
                }
            }
            ServerKind::Url { url, headers, sse, .. } => {
                write!(text, " {url}{}", if sse { " by SSE" } else { "" }).unwrap();
                for (name, value) in headers {
                    write!(text, " <{name}: {value}>").unwrap();
                }
            }
            other => panic!("{other:?}"),
        }
        if server.disabled {
            text.push_str(" (disabled)");
        }
        if let Some(timeout) = server.timeout {
            write!(text, " ({timeout:?})").unwrap();
        }
        for (name, value) in &server.other {
            write!(text, " ({name} {})", value.as_str()).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn what_each_host_writes_is_understood() {
    for (host, text, expected) in [
        (
            "Claude Desktop",
            r#"{
              "mcpServers": {
                "filesystem": {
                  "command": "npx",
                  "args": ["-y", "@modelcontextprotocol/server-filesystem", "C:\\Users\\Ada\\My Files"]
                },
                "brave-search": { "command": "/opt/bin/brave", "args": [], "env": { "BRAVE_API_KEY": "abc" } }
              },
              "globalShortcut": "Ctrl+Space"
            }"#,
            "filesystem: npx <-y> <@modelcontextprotocol/server-filesystem> <C:\\Users\\Ada\\My Files>\n\
             brave-search: BRAVE_API_KEY=abc /opt/bin/brave\n",
        ),
        (
            "Claude Code",
            r#"{
              "mcpServers": {
                "shared": { "type": "stdio", "command": "${BIN:-/usr/bin/shared}", "args": ["--token", "${TOKEN}"], "env": {} },
                "remote": {
                  "type": "http",
                  "url": "${API_BASE_URL:-https://api.example.com}/mcp",
                  "headers": { "Authorization": "Bearer ${TOKEN}" },
                  "timeout": 600000
                },
                "old": { "type": "sse", "url": "https://old.example.com/sse" }
              }
            }"#,
            "shared: /usr/bin/shared <--token> <s3cret>\n\
             remote: https://api.example.com/mcp <Authorization: Bearer s3cret> (600s)\n\
             old: https://old.example.com/sse by SSE\n",
        ),
        (
            "Cursor",
            r#"{
              "mcpServers": {
                "local": {
                  "type": "stdio",
                  "command": "python",
                  "args": ["${userHome}/tools/mcp_server.py"],
                  "env": { "API_KEY": "${env:TOKEN}" }
                },
                "remote": { "url": "https://api.example.com/mcp", "headers": { "X-Key": "${env:TOKEN}" } }
              }
            }"#,
            "local: API_KEY=s3cret python </home/ada/tools/mcp_server.py>\n\
             remote: https://api.example.com/mcp <X-Key: s3cret>\n",
        ),
        (
            "VS Code",
            r#"{
              // The user is asked once.
              "inputs": [
                { "type": "promptString", "id": "github-token", "description": "GitHub token", "password": true },
                { "type": "pickString", "id": "zone", "options": ["eu", { "label": "US", "value": "us" }], "default": "eu" },
              ],
              "servers": {
                "github": {
                  "type": "http",
                  "url": "https://api.githubcopilot.com/mcp/?zone=${input:zone}",
                  "headers": { "Authorization": "Bearer ${input:github-token}" },
                },
                "playwright": {
                  "type": "stdio", /* started by us */
                  "command": "npx",
                  "args": ["-y", "@microsoft/mcp-server-playwright"],
                  "cwd": "/srv/shop",
                  "env": { "PORT": 8080, "DEBUG": true },
                  "dev": { "watch": "src/**" },
                },
              },
            }"#,
            "github: https://api.githubcopilot.com/mcp/?zone=eu <Authorization: Bearer s3cret-input>\n\
             playwright: PORT=8080 DEBUG=true npx <-y> <@microsoft/mcp-server-playwright> in /srv/shop \
             (dev { \"watch\": \"src/**\" })\n",
        ),
        (
            "the settings of VS Code",
            r#"{ "editor.tabSize": 2, "mcp": {
              "inputs": [{ "id": "github-token", "type": "promptString" }],
              "servers": { "a": { "command": "a", "args": ["${input:github-token}"] } }
            } }"#,
            "a: a <s3cret-input>\n",
        ),
        (
            "Windsurf",
            r#"{
              "mcpServers": {
                "figma": { "serverUrl": "https://figma.example.com/mcp", "headers": { "K": "${env:TOKEN}" }, "disabledTools": ["x"] },
                "git": { "command": "uvx", "args": ["mcp-server-git"], "disabled": true }
              }
            }"#,
            "figma: https://figma.example.com/mcp <K: s3cret>\n\
             git: uvx <mcp-server-git> (disabled)\n",
        ),
        (
            "Gemini CLI",
            r#"{
              "theme": "GitHub",
              "mcp": { "allowed": ["fast"] },
              "mcpServers": {
                "fast": { "httpUrl": "http://localhost:3000/mcp", "url": "http://localhost:3000/sse", "timeout": 5000, "trust": true },
                "plain": { "url": "http://localhost:8080/sse", "headers": null }
              }
            }"#,
            "fast: http://localhost:3000/mcp (5s) (url \"http://localhost:3000/sse\") (trust true)\n\
             plain: http://localhost:8080/sse\n",
        ),
        (
            "Cline",
            r#"{ "mcpServers": { "a": { "type": "streamableHttp", "url": "https://a.example.com", "timeout": 60, "disabled": false, "autoApprove": [] } } }"#,
            "a: https://a.example.com (60s) (autoApprove [])\n",
        ),
        (
            "LangChain",
            r#"{
              "math": { "command": "python", "args": ["/srv/math_server.py"], "transport": "stdio" },
              "weather": { "url": "http://localhost:8000/mcp", "transport": "streamable_http" }
            }"#,
            "math: python </srv/math_server.py>\nweather: http://localhost:8000/mcp\n",
        ),
        (
            "one server and nothing else",
            r#"{ "command": "/opt/weather.sh", "args": ["-v"] }"#,
            "weather.sh: /opt/weather.sh <-v>\n",
        ),
        ("nobody yet", r#"{ "mcpServers": {} }"#, ""),
        ("nobody any more", r#"{ "servers": null }"#, ""),
    ] {
        let config = Config::parse(text).unwrap_or_else(|error| panic!("{host}: {error}"));
        assert_eq!(described(&config), expected, "{host}");
        let with_mark = Config::parse(&format!("\u{feff}{text}")).unwrap();
        assert_eq!(described(&with_mark), expected, "{host}, with a byte-order mark");
        let on_windows = Config::parse(&text.replace('\n', "\r\n")).unwrap();
        assert_eq!(described(&on_windows), expected, "{host}, with the ends of lines of Windows");
    }
}

#[test]
fn servers_of_a_list_get_names() {
    let config = Config::parse(
        r#"[
          { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2.1", "/data"] },
          { "command": "C:\\tools\\weather.exe" },
          { "command": "docker", "args": ["run", "-i", "ghcr.io/acme/thing"] },
          { "command": "docker" },
          { "name": "docker-2", "command": "docker" },
          { "url": "https://user:s3cret@api.example.com:8443/mcp" },
          { "command": "${TOOL}" },
          { "command": "..." }
        ]"#,
    )
    .unwrap();
    let names: Vec<_> = config.servers.iter().map(|server| &*server.name).collect();
    assert_eq!(
        names,
        [
            "server-filesystem",
            "weather",
            "docker",
            "docker-3",
            "docker-2",
            "api.example.com",
            "TOOL",
            "server"
        ]
    );
}

#[test]
fn every_mistake_is_told_with_its_place() {
    for (text, expected) in [
        ("", "there is nothing in it: write `{ \"mcpServers\": {} }`"),
        ("// only this", "there is nothing in it: write `{ \"mcpServers\": {} }`"),
        ("{\"mcpServers\": {\n  \"é\": }", "2:8: this is not JSON: expected value"),
        ("{\"mcpServers\": {}} x", "1:20: this is not JSON: trailing characters"),
        ("{ /* é", "1:3: this comment does not end: close it with `*/`"),
        ("5", "1:1: the file must be an object or a list of servers; found 5"),
        ("{\"mcpservers\": {}}", "1:1: the file has no servers: is `mcpservers` meant to be `mcpServers`?"),
        (
            "{}",
            "1:1: the file has no servers: write `{ \"mcpServers\": { \"a name\": { \"command\": \"a program\", \
             \"args\": [] } } }`",
        ),
        ("{\"servers\": {}, \"servers\": {}}", "1:28: servers occurs twice: remove one"),
        ("{\"mcpServers\": 7}", "1:16: mcpServers must be an object; found 7"),
        ("{\"servers\": {\"a\": \"npx\"}}", "1:19: servers.a must be an object; found a string"),
        ("[[]]", "1:2: [0] must be an object; found a list"),
        (
            "{\"servers\": {\"a\": {\"comand\": \"npx\"}}}",
            "1:19: servers.a has neither `command` nor `url`: say how the server is started, or where it is \
             (is `comand` meant to be `command`?)",
        ),
        (
            "{\"servers\": {\"a\": {\"command\": \"a\", \"url\": \"https://a\"}}}",
            "1:19: servers.a has both `command` and `url`: leave one out, or add `\"type\": \"stdio\"` or `\"type\": \"http\"`",
        ),
        (
            "{\"servers\": {\"a\": {\"type\": \"stdio\"}}}",
            "1:19: servers.a has no `command`, which a server of its type needs",
        ),
        (
            "{\"servers\": {\"a\": {\"type\": \"http\", \"uri\": \"x\"}}}",
            "1:19: servers.a has no `url`, which a server of its type needs (is `uri` meant to be `url`?)",
        ),
        (
            "{\"servers\": {\"a\": {\"type\": \"ws\", \"url\": \"https://a\"}}}",
            "1:28: servers.a.type must be `stdio`, `http` or `sse`; found `ws`",
        ),
        (
            "{\"servers\": {\"a\": {\"command\": [\"npx\", \"-y\"]}}}",
            "1:31: servers.a.command must be a string; found a list: put the program here, and the rest into `args`",
        ),
        (
            "{\"servers\": {\"a\": {\"command\": \"\"}}}",
            "1:31: servers.a.command is empty: say which program is to be started",
        ),
        (
            "{\"servers\": {\"a\": {\"command\": \"x\", \"args\": \"-y\"}}}",
            "1:44: servers.a.args must be a list; found a string",
        ),
        (
            "{\"servers\": {\"a\": {\"command\": \"x\", \"env\": {\"A=\": \"1\"}}}}",
            "1:50: servers.a.env[\"A=\"] is not the name of a variable: it is empty, or contains `=` or NUL",
        ),
        (
            "{\"servers\": {\"a\": {\"command\": \"x\", \"env\": {\"A\": {}}}}}",
            "1:49: servers.a.env.A must be a string; found an object",
        ),
        (
            "{\"servers\": {\"a\": {\"command\": \"x\", \"disabled\": \"yes\"}}}",
            "1:48: servers.a.disabled must be true or false; found a string",
        ),
        (
            "{\"servers\": {\"a\": {\"url\": \"https://a\", \"headers\": {\"A B\": \"1\"}}}}",
            "1:59: servers.a.headers[\"A B\"] is not the name of a header: use only letters, digits and `-`",
        ),
        (
            "{\"servers\": {\"a\": {\"url\": \"https://a\", \"headers\": {\"A\": \"1\", \"a\": \"2\"}}}}",
            "1:67: servers.a.headers.a occurs twice, because upper and lower case are the same in the name of a \
             header: remove one",
        ),
        (
            "{\"servers\": {\"a\": {\"url\": \"file:///etc\"}}}",
            "1:27: servers.a.url must begin with `https://` or `http://`",
        ),
        (
            "{\"servers\": {\"a\": {\"url\": \"https:///x\"}}}",
            "1:27: servers.a.url has no host: write `https://host/path`",
        ),
        (
            "{\"servers\": {\"a\": {\"command\": \"x\", \"timeout\": -1}}}",
            "1:47: servers.a.timeout must be a positive time that is not too long; found -1",
        ),
        (
            "{\"servers\": {\"a\": {\"command\": \"x\", \"command\": \"y\"}}}",
            "1:47: servers.a.command occurs twice: remove one",
        ),
        (
            "{\"servers\": {\n\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"x\"}}}",
            "3:6: servers.a has the same name as the server in line 2: rename one",
        ),
        ("{\"servers\": {\"\": {\"command\": \"x\"}}}", "1:18: servers[\"\"] has no name: give it one"),
        (
            "{\"servers\": {\"a\\nb\": {\"command\": \"x\"}}}",
            "1:22: servers[\"a\\nb\"] has a control character in its name: remove it",
        ),
        (
            "{\"servers\": {}, \"inputs\": [{\"id\": 5}]}",
            "there are 2 mistakes\n  1:28: inputs[0] has no `id` by which a variable can refer to it\n  1:35: \
             inputs[0].id must be a string; found 5",
        ),
        (
            "{\"mcpServers\": {\n\"a\": {\"command\": \"x\", \"args\": [1, \"2\", null]},\n\"b\": {},\n\"c\": {\"command\": \"fine\"}}}",
            "there are 3 mistakes\n  \
               2:32: mcpServers.a.args[0] must be a string; found 1\n  \
               2:40: mcpServers.a.args[2] must be a string; found null\n  \
               3:6: mcpServers.b has neither `command` nor `url`: say how the server is started, or where it is",
        ),
    ] {
        let error = Config::parse(text).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let error = Config::parse(r#"{"servers": {"my server": {"command": 5}}}"#).unwrap_err();
    let mistake = &error.mistakes()[0];
    assert_eq!(mistake.server.as_deref(), Some("my server"));
    assert_eq!(mistake.field, "servers[\"my server\"].command");
    assert_eq!(mistake.position.map(|place| (place.line, place.column)), Some((1, 39)));
}

#[test]
fn files_that_are_no_text_or_are_not_there_say_so() {
    let folder = Folder::new("bytes", &[("mcp.json", "{\"servers\": {\"a\": {}}}")]);
    let file = folder.join("mcp.json");
    let read = |file: &Path| Config::from_file(file).unwrap_err().to_string();
    assert!(read(&file).starts_with(&format!("{}:1:19: servers.a has neither", file.display())));
    std::fs::write(&file, b"\xff\xfe{\0}\0").unwrap();
    assert!(read(&file).ends_with("mcp.json: the file is UTF-16: save it as UTF-8"));
    std::fs::write(&file, b"{\n\"a\": \"\xe9\"}").unwrap();
    assert!(read(&file).ends_with("mcp.json: the file is not UTF-8 in line 2: save it as UTF-8"));
    let missing = read(&folder.join("nothing.json"));
    assert!(missing.contains("nothing.json: cannot be read: "), "{missing}");
    let error = toolway::Error::from(Config::from_file(&file).unwrap_err());
    assert_eq!(error.kind(), toolway::ErrorKind::Misuse);
}

#[test]
fn what_is_missing_is_missing_for_one_server() {
    let config = Config::parse(
        r#"{ "servers": {
          "one": { "command": "${PROGRAM}", "args": ["${A} ${B}"], "env": { "K": "${env:C}" }, "cwd": "${workspaceFolder}" },
          "two": { "url": "https://${HOST}/", "headers": { "K": "${input:unknown}" } },
          "three": { "command": "fine" }
        } }"#,
    )
    .unwrap();
    let outcomes: Vec<_> = config.servers.iter().map(|server| server.resolve(&variables())).collect();
    let told = |outcome: &Result<ServerKind, ConfigError>| -> Vec<String> {
        let error = outcome.as_ref().unwrap_err();
        error
            .mistakes()
            .iter()
            .map(|mistake| mistake.to_string().split(", which").next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        told(&outcomes[0]),
        [
            "2:31: servers.one.command needs the variable `PROGRAM`",
            "2:54: servers.one.args[0] needs the variable `A`",
            "2:54: servers.one.args[0] needs the variable `B`",
            "2:82: servers.one.env.K needs the variable `C`",
            "2:103: servers.one.cwd needs `${workspaceFolder}`",
        ]
    );
    assert_eq!(
        told(&outcomes[1]),
        [
            "3:27: servers.two.url needs the variable `HOST`",
            "3:65: servers.two.headers.K needs the input `unknown`"
        ]
    );
    assert_eq!(outcomes[1].as_ref().unwrap_err().mistakes()[0].server.as_deref(), Some("two"));
    assert!(outcomes[2].is_ok());
}

#[test]
fn values_that_cannot_stand_where_they_are_put_are_refused_and_not_shown() {
    let config = Config::parse(
        r#"{ "servers": {
          "a": { "command": "x", "args": ["${NUL}"], "env": { "K": "${NUL}" }, "cwd": "${EMPTY}" },
          "b": { "command": "${EMPTY}" },
          "c": { "url": "${NUL}" },
          "d": { "url": "https://h/${LINES}", "headers": { "K": "${LINES}" } },
          "e": { "url": "${SCRIPT}" }
        } }"#,
    )
    .unwrap();
    let variables = Variables::from_fn(|name| match name {
        "NUL" => Some("s3cret\0".to_owned()),
        "LINES" => Some("s3cret\r\nX: y".to_owned()),
        "SCRIPT" => Some("javascript:s3cret".to_owned()),
        _ => Some(String::new()),
    });
    let mut mistakes = 0;
    for server in &config.servers {
        let error = server.resolve(&variables).unwrap_err();
        mistakes += error.mistakes().len();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    }
    assert_eq!(mistakes, 8);
}

#[test]
fn nothing_secret_is_shown() {
    let text = r#"{
      "inputs": [{ "type": "promptString", "id": "a", "default": "s3cret" }],
      "servers": {
        "one": { "command": "x", "args": ["s3cret"], "env": { "K": "s3cret" }, "token": "s3cret" },
        "two": { "url": "https://user:s3cret@host/s3cret?s3cret#s3cret", "headers": { "K": "s3cret" } }
      }
    }"#;
    let config = Config::parse(text).unwrap();
    let mut shown = format!("{config:?} {config:#?}");
    for server in &config.servers {
        let kind = server.resolve(&variables()).unwrap();
        write!(shown, "{kind:?} {kind:#?}").unwrap();
    }
    assert!(!shown.contains("s3cret"), "{shown}");
    for part in ["one", "\"x\"", "K", "https://host/…"] {
        assert!(shown.contains(part), "{part} is no secret: {shown}");
    }
    // Whatever is wrong, and wherever.
    for (from, to) in [
        ("\"command\": \"x\"", "\"command\": [\"s3cret\"]"),
        ("[\"s3cret\"]", "\"s3cret\""),
        ("{ \"K\": \"s3cret\" }", "[\"s3cret\"]"),
        ("https://", "ftp://"),
        (
            "\"one\": {",
            "\"one\": { \"disabled\": \"s3cret\", \"timeout\": \"s3cret\", \"envFile\": [\"s3cret\"],",
        ),
        ("?s3cret", "? s3cret"),
        ("\"s3cret\" }, \"token\"", "\"s3cret, \"token\""),
        ("\"s3cret\" }, \"token\"", "\"s3cret\\ud800\" }, \"token\""),
        ("\"s3cret\" }, \"token\"", "s3cret }, \"token\""),
    ] {
        assert!(text.contains(from));
        let error = Config::parse(&text.replace(from, to)).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    }
}

#[test]
fn files_of_variables_are_read() {
    let folder = Folder::new(
        "env-file",
        &[
            (
                "shop/.vscode/mcp.json",
                r#"{ "servers": {
                  "a": { "command": "a", "cwd": "sub", "envFile": "${workspaceFolder}/.env", "env": { "B": "mine" } },
                  "b": { "command": "b", "envFile": "missing.env" },
                  "c": { "command": "c", "envFile": "wrong.env" }
                } }"#,
            ),
            ("shop/.env", "A=1\nB=2\nC='${TOKEN}'\n"),
            ("shop/wrong.env", "A=1\ns3cret\n"),
        ],
    );
    let config = Config::from_file(folder.join("shop/.vscode/mcp.json")).unwrap();
    let ServerKind::Command { env, cwd, .. } = config.servers[0].resolve(&variables()).unwrap() else {
        panic!("a command")
    };
    let env: Vec<_> = env.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(env, [("A", "1"), ("C", "${TOKEN}"), ("B", "mine")], "what `env` says counts");
    assert_eq!(cwd, Some(folder.join("shop/sub")), "a relative folder begins at that of the project");
    let error = config.servers[1].resolve(&variables()).unwrap_err().to_string();
    assert!(
        error.contains("servers.b.envFile names the file") && error.contains("cannot be read"),
        "{error}"
    );
    let error = config.servers[2].resolve(&variables()).unwrap_err().to_string();
    assert!(error.ends_with("wrong.env, whose line 2 has no `=`: write `NAME=value`"), "{error}");
}

#[test]
fn a_preview_shows_the_text_of_the_file_and_no_value_of_the_environment() {
    let folder = Folder::new(
        "preview",
        &[
            ("shop/.env", "A=one\nB=two\n"),
            (
                "shop/.vscode/mcp.json",
                r#"{
                  "inputs": [{ "id": "github-token" }, { "id": "own", "default": "--require ./own.js" }],
                  "servers": {
                    "program": {
                      "command": "run", "args": ["${TOKEN}", "$${TOKEN}", "${NOBODY:-a default}"], "cwd": "sub",
                      "envFile": "${workspaceFolder}/.env",
                      "env": { "B": "mine", "KEY": "k-${input:github-token}", "NODE_OPTIONS": "${input:own}" }
                    },
                    "elsewhere": { "command": "${TOKEN}/run", "cwd": "${TOKEN}", "envFile": "${TOKEN}/.env" },
                    "web": { "url": "https://a.example/${TOKEN}?k=1", "headers": { "X": "Bearer ${TOKEN}" } }
                  }
                }"#,
            ),
        ],
    );
    let server = |name: &str| Config::find_in(name, &folder.places()).unwrap();
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    let (kind, preview) = server("program").resolve_with_preview(&variables()).unwrap();
    let ServerPreview::Command { program, args, env, env_file, cwd, .. } = preview else {
        panic!("{preview:?}")
    };
    assert_eq!(
        (&*program, args),
        ("run", ["${TOKEN}", "$${TOKEN}", "a default"].map(str::to_owned).to_vec())
    );
    assert_eq!(
        env,
        pairs(&[("B", "mine"), ("KEY", "k-${input:github-token}"), ("NODE_OPTIONS", "--require ./own.js")])
    );
    let env_file = env_file.unwrap();
    assert_eq!(Path::new(&env_file.path), folder.join("shop/.env"));
    assert_eq!(env_file.names, ["A"], "`env` sets B");
    assert_eq!(cwd.map(PathBuf::from), Some(folder.join("shop/sub")));
    // The values of the file come first.
    let ServerKind::Command { env, args, .. } = kind else { panic!("{kind:?}") };
    assert_eq!(env[0], ("A".to_owned(), "one".to_owned()));
    assert_eq!(args, ["s3cret", "${TOKEN}", "a default"].map(str::to_owned));

    let (_, preview) = server("web").resolve_with_preview(&variables()).unwrap();
    let ServerPreview::Url { url, headers, .. } = preview else { panic!("{preview:?}") };
    assert_eq!(url, "https://a.example/${TOKEN}?k=1");
    assert_eq!(headers, pairs(&[("X", "Bearer ${TOKEN}")]));

    let error = server("elsewhere").resolve_with_preview(&variables()).unwrap_err().to_string();
    assert!(error.contains("${TOKEN}/.env") && !error.contains("s3cret"), "{error}");
}

/// Configuration files of all hosts.
fn everybody(name: &str) -> Folder {
    let server = |key: &str, name: &str, program: &str| {
        format!(r#"{{"{key}": {{"{name}": {{"command": "{program}"}}}}}}"#)
    };
    let folder = Folder::new(
        name,
        &[
            ("shop/mcp.json", &server("mcpServers", "plain", "plain")),
            ("shop/.mcp.json", &server("mcpServers", "weather", "of the project")),
            ("shop/.vscode/mcp.json", &server("servers", "code", "${workspaceFolder}/code")),
            ("shop/.cursor/mcp.json", &server("mcpServers", "cursor", "cursor")),
            ("shop/.gemini/settings.json", "{\"theme\": \"dark\"}"),
            ("ada/.config/Claude/claude_desktop_config.json", &server("mcpServers", "desktop", "desktop")),
            ("ada/.config/Code/User/mcp.json", &server("servers", "user", "${workspaceFolder}/user")),
            ("ada/.cursor/mcp.json", &server("mcpServers", "weather", "of Cursor")),
            ("ada/.codeium/windsurf/mcp_config.json", &server("mcpServers", "surf", "surf")),
            ("ada/.gemini/settings.json", &server("mcpServers", "gemini", "$TOKEN")),
        ],
    );
    let project = folder.join("shop").to_str().unwrap().replace('\\', "/");
    let claude = format!(
        r#"{{
          "numStartups": 7,
          "mcpServers": {{ "mine": {{ "command": "of the user" }}, "broken": {{ "command": 5 }}, "weather": {{ "command": "of Claude" }} }},
          "projects": {{ "{project}": {{ "mcpServers": {{ "mine": {{ "command": "of the project" }} }} }} }}
        }}"#
    );
    std::fs::write(folder.join("ada/.claude.json"), claude).unwrap();
    folder
}

fn program(server: &ServerConfig) -> String {
    match server.resolve(&variables().workspace("/said")) {
        Ok(ServerKind::Command { program, .. }) => program,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_is_found_by_its_name_in_the_files_of_everybody() {
    let folder = everybody("find");
    let places = folder.places();
    for (name, host, expected) in [
        ("plain", Host::Project, "plain"),
        ("weather", Host::ClaudeCode, "of the project"),
        ("project:plain", Host::Project, "plain"),
        ("cursor:weather", Host::Cursor, "of Cursor"),
        ("claude:weather", Host::ClaudeCode, "of the project"),
        ("code", Host::VsCode, "/said/code"),
        ("vscode:user", Host::VsCode, "/said/user"),
        ("cursor", Host::Cursor, "cursor"),
        ("cursor:cursor", Host::Cursor, "cursor"),
        ("mine", Host::ClaudeCode, "of the project"),
        ("desktop", Host::ClaudeDesktop, "desktop"),
        ("claude:desktop", Host::ClaudeDesktop, "desktop"),
        ("claude-desktop:desktop", Host::ClaudeDesktop, "desktop"),
        ("surf", Host::Windsurf, "surf"),
        ("gemini", Host::Gemini, "s3cret"),
    ] {
        let server = Config::find_in(name, &places).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(server.host(), Some(host), "{name}");
        assert_eq!(program(&server), expected, "{name}");
        let is_of_project = server.file().unwrap().starts_with(folder.join("shop"));
        assert_eq!(server.project().is_some(), is_of_project, "{name}");
    }
    let code = Config::find_in("code", &places).unwrap();
    let ServerKind::Command { program, .. } = code.resolve(&variables()).unwrap() else {
        panic!("a command")
    };
    assert_eq!(
        Path::new(&program),
        folder.join("shop/code"),
        "the folder of the project, if nobody says another"
    );
}

#[test]
fn a_server_that_is_not_there_is_told_with_those_that_are() {
    let folder = everybody("missing");
    let error = Config::find_in("wether", &folder.places()).unwrap_err().to_string();
    assert!(
        error.starts_with("no server `wether` is configured: did you mean `weather`? there are `plain` ("),
        "{error}"
    );
    assert!(error.contains("`surf` (") && error.contains("mcp_config.json)"), "{error}");
    let error = Config::find_in("cursor:desktop", &folder.places()).unwrap_err().to_string();
    assert!(error.contains("no server `desktop`") && !error.contains("`surf`"), "{error}");
    let error = Config::find_in("broken", &folder.places()).unwrap_err().to_string();
    assert!(error.ends_with("mcpServers.broken.command must be a string; found 5"), "{error}");
    let error = Config::find_in("a", &SearchPaths::new(folder.join("nowhere"))).unwrap_err().to_string();
    assert!(error.starts_with("no server `a` is configured; none of these files has servers: "), "{error}");
    assert!(error.contains(".vscode") && !error.contains("windsurf"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_not_passed_over() {
    let folder = everybody("broken");
    std::fs::write(folder.join("shop/.mcp.json"), "{ broken").unwrap();
    // Servers in files before the broken one are found; those behind it might be defined in the broken one.
    assert!(Config::find_in("plain", &folder.places()).is_ok());
    let error = Config::find_in("surf", &folder.places()).unwrap_err().to_string();
    assert!(error.contains(".mcp.json:1:3: this is not JSON"), "{error}");
    assert!(Config::find_in("windsurf:surf", &folder.places()).is_ok());
    // A duplicate name is a mistake of that name only.
    let twice = r#"{"mcpServers": {"a": {"command": "1"}, "a": {"command": "2"}, "b": {"command": "b"}}}"#;
    std::fs::write(folder.join("shop/.mcp.json"), twice).unwrap();
    assert_eq!(program(&Config::find_in("b", &folder.places()).unwrap()), "b");
    let error = Config::find_in("a", &folder.places()).unwrap_err().to_string();
    assert!(error.contains("mcpServers.a has the same name as the server"), "{error}");
    // An empty file, as editors leave them, is not a mistake.
    std::fs::write(folder.join("shop/.mcp.json"), "").unwrap();
    assert!(Config::find_in("surf", &folder.places()).is_ok());
}

#[test]
fn a_file_knows_the_folder_it_belongs_to() {
    let folder = everybody("folder");
    for (file, host, project) in [
        ("shop/mcp.json", Some(Host::Project), Some("shop")),
        ("shop/.mcp.json", Some(Host::ClaudeCode), Some("shop")),
        ("shop/.vscode/mcp.json", Some(Host::VsCode), Some("shop")),
        ("shop/.cursor/mcp.json", Some(Host::Cursor), Some("shop")),
        ("ada/.config/Code/User/mcp.json", Some(Host::VsCode), None),
        ("ada/.codeium/windsurf/mcp_config.json", Some(Host::Windsurf), None),
        ("ada/.config/Claude/claude_desktop_config.json", Some(Host::ClaudeDesktop), None),
    ] {
        let config = Config::from_file(folder.join(file)).unwrap();
        let server = &config.servers[0];
        assert_eq!(server.host(), host, "{file}");
        assert_eq!(server.project().map(Path::to_owned), project.map(|path| folder.join(path)), "{file}");
    }
    let gemini = Config::from_file(folder.join("ada/.gemini/settings.json")).unwrap();
    assert_eq!(program(&gemini.servers[0]), "s3cret", "there, a dollar alone begins a variable");
}
