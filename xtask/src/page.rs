//! How is the inspector's page built, compared with the committed one, and tested in a browser?
//!
//! The sources are in `crates/toolway-cli/page/src/`; the three files are committed in `page/dist/`, because an installation
//! of the command has neither Node nor a network for npm. The command embeds the two large ones compressed. Versions of zlib
//! compress differently, so a compressed file is compared by its content. The packages are installed once for all clones,
//! without running their scripts, from a lock file that holds hashes and no addresses.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::cache::CachedPackages;
use crate::node::{Node, link_modules};
use crate::run::{self, KillOnDrop, Result};
use crate::steps;
use crate::test;
use crate::workspace::Workspace;

/// The job that the options of `cargo xtask page` choose.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// Type-checks and writes `page/dist/`.
    Build,
    /// Builds elsewhere and compares with `page/dist/`.
    Check,
    /// Builds again after each change of a source.
    Watch,
    /// Runs the browser tests whose names contain the filter.
    Test(Option<String>),
    /// Makes the pictures of the guide.
    Screenshots,
}

impl Job {
    pub(crate) fn parse(mut arguments: Arguments) -> Result<Self> {
        let job = if arguments.flag("--check") {
            Self::Check
        } else if arguments.flag("--watch") {
            Self::Watch
        } else if arguments.flag("--screenshots") {
            Self::Screenshots
        } else if arguments.flag("--test") {
            Self::Test(arguments.value("--only")?)
        } else {
            Self::Build
        };
        arguments.finish()?;
        Ok(job)
    }
}

/// `cargo xtask page`.
pub(crate) fn run(workspace: &Workspace, job: &Job) -> Result {
    let page = Page::open(workspace)?;
    match job {
        Job::Build => page.build(&page.dist()),
        Job::Check => page.check(&workspace.target.join("page")),
        Job::Watch => page.watch(),
        Job::Test(only) => {
            // A run that has built the command leaves the page as it was, so that nothing is built again beside other steps.
            if !steps::is_built() {
                page.build(&page.dist())?;
            }
            test::build_programs(workspace, &BUILD)?;
            page.drive_browser(workspace, "tests/run.mjs", only.as_deref())
        }
        Job::Screenshots => {
            ensure_fonts()?;
            page.build(&page.dist())?;
            test::build_programs(workspace, &[&BUILD[..], &PICTURED].concat())?;
            page.drive_browser(workspace, "tests/screenshots.mjs", None)
        }
    }
}

/// The folder of the page with its packages beside the sources.
#[derive(Debug)]
struct Page {
    folder: PathBuf,
}

impl Page {
    /// Installs the packages unless exactly these are in the cache already.
    fn open(workspace: &Workspace) -> Result<Self> {
        let folder = workspace.root.join("crates/toolway-cli/page");
        let read = |name: &str| {
            fs::read_to_string(folder.join(name)).map_err(|error| format!("could not read {name}: {error}"))
        };
        let lock = read("package-lock.json")?;
        if lock.contains("\"resolved\"") {
            return Err(
                "package-lock.json holds addresses; write it again with `npm install --ignore-scripts` in \
                        crates/toolway-cli/page, whose .npmrc leaves them out"
                    .to_owned(),
            );
        }
        let key = format!("toolway-page\n{lock}");
        let packages = CachedPackages { kind: "node", key: &key };
        let works = |installed: &Path| installed.join("node_modules/.bin/esbuild").exists();
        let page = Self { folder };
        let installed = packages.folder(&page.folder, works, |into| page.install(into))?;
        if installed != page.folder {
            link_modules(&installed, &page.folder)
                .map_err(|error| format!("could not link the page's packages: {error}"))?;
        }
        Ok(page)
    }

    fn install(&self, into: &Path) -> Result {
        for name in ["package.json", "package-lock.json", ".npmrc"] {
            fs::copy(self.folder.join(name), into.join(name))
                .map_err(|error| format!("could not copy {name}: {error}"))?;
        }
        let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
        npm.current_dir(into);
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        run::check_success(&mut npm).map_err(|error| {
            format!("{error}\nnpm has to reach its registry the first time; later runs use the cache")
        })
    }

    fn dist(&self) -> PathBuf {
        self.folder.join("dist")
    }

    /// A command of an installed package.
    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.join("node_modules/.bin").join(name));
        command.current_dir(&self.folder);
        command
    }

    fn esbuild(&self, out: &Path) -> Command {
        let mut command = self.tool("esbuild");
        command.args(ESBUILD).arg(format!("--banner:js={NOTICE}")).arg(format!("--outdir={}", out.display()));
        command
    }

    fn build(&self, out: &Path) -> Result {
        run::check_success(self.tool("tsc").args(["--project", "."]))?;
        self.bundle(out)
    }

    fn bundle(&self, out: &Path) -> Result {
        self.write_index(out)?;
        run::check_success(self.esbuild(out).arg("--minify"))?;
        for (name, budget) in BUDGETS {
            let file = out.join(name);
            let bytes =
                fs::metadata(&file).map_err(|error| format!("esbuild wrote no {name}: {error}"))?.len();
            println!("page: {name} has {bytes} bytes of at most {budget}");
            if bytes > budget {
                return Err(format!("{name} has {bytes} bytes, and its budget is {budget}"));
            }
        }
        compress(out)
    }

    fn write_index(&self, out: &Path) -> Result {
        fs::create_dir_all(out)
            .and_then(|()| fs::copy(self.folder.join("src/index.html"), out.join("index.html")))
            .map(drop)
            .map_err(|error| format!("could not write {}: {error}", out.display()))
    }

    /// Compares a fresh build with the committed files, byte for byte.
    fn check(&self, scratch: &Path) -> Result {
        self.build(scratch)?;
        let mut differing = differing_files(&self.dist(), scratch);
        differing.extend(outdated_compressed(&self.dist()));
        if differing.is_empty() {
            println!("page: the committed files are those of a fresh build");
            return Ok(());
        }
        Err(format!(
            "page/dist is not what the sources give; run `cargo xtask page`: {}",
            differing.join(", ")
        ))
    }

    /// Lets esbuild watch the sources until Ctrl-C. Types are checked by the editor, and by `cargo xtask page`.
    fn watch(&self) -> Result {
        let out = self.dist();
        self.write_index(&out)?;
        println!("page: building after each change; `cargo xtask page` makes the files to commit");
        let mut esbuild =
            KillOnDrop::spawn_with_open_input(self.esbuild(&out).args(["--minify", "--watch"]))?;
        let modified =
            || COMPRESSED.map(|name| fs::metadata(out.join(name)).and_then(|file| file.modified()).ok());
        let mut compressed = [None; COMPRESSED.len()];
        loop {
            if esbuild.try_wait()?.is_some() {
                return Err("esbuild has ended".to_owned());
            }
            let now = modified();
            if now != compressed && now.iter().all(Option::is_some) {
                compress(&out)?;
                compressed = now;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Runs a script that drives a browser, against the command that has just been built.
    fn drive_browser(&self, workspace: &Workspace, script: &str, only: Option<&str>) -> Result {
        let chromium = find_chromium()?;
        let servers = Node::install(workspace.target.join("page-servers"), &[EVERYTHING])?;
        let mut node = servers.command(Path::new(script));
        node.current_dir(&self.folder).args(only);
        node.env("TOOLWAY_EVERYTHING", servers.prefix.join(EVERYTHING_PROGRAM));
        node.env("TOOLWAY_CHROMIUM", chromium);
        node.env("TOOLWAY_COMMAND", workspace.debug_program("toolway"));
        node.env("TOOLWAY_FIXTURE", workspace.debug_program("examples/cli-fixture"));
        node.env("TOOLWAY_IMAGES", workspace.root.join("docs/guide/images"));
        run::check_success(&mut node)
    }
}

/// Writes a compressed copy beside each file of [`COMPRESSED`], unless there is one with this content already.
fn compress(folder: &Path) -> Result {
    for name in outdated_compressed(folder) {
        let raw = folder.join(name.trim_end_matches(".gz"));
        run_zlib("fs.writeFileSync(packed, zlib.gzipSync(fs.readFileSync(raw), {level: 9}))", &raw)?;
    }
    Ok(())
}

/// The names of the compressed files that are missing, or whose content is not that of the file beside them.
fn outdated_compressed(folder: &Path) -> Vec<String> {
    let compare =
        "process.exit(zlib.gunzipSync(fs.readFileSync(packed)).equals(fs.readFileSync(raw)) ? 0 : 1)";
    let is_outdated = |name: &&str| run_zlib(compare, &folder.join(name)).is_err();
    COMPRESSED.into_iter().filter(is_outdated).map(|name| format!("{name}.gz")).collect()
}

/// Runs a line of Node with a file and its compressed copy.
fn run_zlib(line: &str, raw: &Path) -> Result {
    let script = format!(
        "const fs = require('fs'), zlib = require('zlib'), raw = process.argv[1], packed = raw + '.gz'; {line}"
    );
    run::output(Command::new("node").args(["-e", &script]).arg(raw)).map(drop)
}

/// The names of the built files that are missing or differ.
fn differing_files(committed: &Path, fresh: &Path) -> Vec<String> {
    let content = |folder: &Path, name: &str| fs::read(folder.join(name)).ok();
    FILES
        .into_iter()
        .filter(|name| content(committed, name) != content(fresh, name))
        .map(str::to_owned)
        .collect()
}

/// The browser: the one that `TOOLWAY_CHROMIUM` names, or the system's. Nothing is downloaded.
fn find_chromium() -> Result<PathBuf> {
    if let Some(chosen) = env::var_os("TOOLWAY_CHROMIUM").filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(chosen));
    }
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| run::output(Command::new(name).arg("--version")).is_ok())
        .map(PathBuf::from)
        .ok_or_else(|| {
            "the page's tests need Chromium (on Debian: apt-get install chromium), or TOOLWAY_CHROMIUM with its path"
                .to_owned()
        })
}

/// With other typefaces, the pictures would differ from machine to machine.
fn ensure_fonts() -> Result {
    let list = run::output(Command::new("fc-list").args([":", "family"]))?;
    let missing: Vec<&str> =
        FONTS.iter().filter(|(family, _)| !list.contains(family)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("the pictures need two typefaces (on Debian: apt-get install {})", missing.join(" ")))
}

const FILES: [&str; 3] = ["index.html", "page.js", "page.css"];
/// The files of which the command embeds a compressed copy.
const COMPRESSED: [&str; 2] = ["page.js", "page.css"];
const BUDGETS: [(&str, u64); 2] = [("page.js", 120 * 1024), ("page.css", 24 * 1024)];
const FONTS: [(&str, &str); 2] = [("Inter", "fonts-inter"), ("JetBrains Mono", "fonts-jetbrains-mono")];
/// Builds the command, and the server that the tests look into.
pub(crate) const BUILD: [&str; 2] = ["--bin=toolway", "--example=cli-fixture"];
/// The servers in the pictures.
const PICTURED: [&str; 2] = ["--example=notes", "--example=everything"];
/// A server of others, which the page is tested with as well.
const EVERYTHING: &str = "@modelcontextprotocol/server-everything@2026.8.31";
const EVERYTHING_PROGRAM: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
/// Two entries, so that both files have the same name. Colours need `light-dark()`, which these browsers have.
const ESBUILD: [&str; 9] = [
    "page=src/main.tsx",
    "page=src/style/page.css",
    "--bundle",
    "--format=esm",
    "--charset=utf8",
    "--log-level=warning",
    "--target=es2022,chrome123,firefox121,safari17.5",
    // Elements become calls of `h`, which make the page 5 KB smaller than the transform that the type check knows.
    "--inject:./src/jsx.ts",
    r#"--tsconfig-raw={"compilerOptions":{"jsx":"react","jsxFactory":"h","jsxFragmentFactory":"Fragment"}}"#,
];
const NOTICE: &str = "// With Preact and @preact/signals (MIT): page/THIRD-PARTY.txt";

#[cfg(test)]
mod tests {
    use super::{Job, compress, differing_files, outdated_compressed};
    use crate::arguments::Arguments;
    use std::fs;

    #[test]
    fn a_file_that_differs_in_one_byte_or_is_missing_is_named() {
        let root = env_folder("page-differs");
        let (committed, fresh) = (root.join("committed"), root.join("fresh"));
        for folder in [&committed, &fresh] {
            fs::create_dir_all(folder).unwrap();
            for name in super::FILES {
                fs::write(folder.join(name), name).unwrap();
            }
        }
        assert!(differing_files(&committed, &fresh).is_empty());
        fs::write(committed.join("page.js"), "page.jt").unwrap();
        fs::remove_file(committed.join("page.css")).unwrap();
        assert_eq!(differing_files(&committed, &fresh), ["page.js", "page.css"]);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_compressed_file_is_compared_by_its_content() {
        let folder = env_folder("page-compressed");
        fs::create_dir_all(&folder).unwrap();
        for name in super::COMPRESSED {
            fs::write(folder.join(name), name).unwrap();
        }
        assert_eq!(outdated_compressed(&folder), ["page.js.gz", "page.css.gz"]);
        compress(&folder).unwrap();
        assert!(outdated_compressed(&folder).is_empty());
        fs::write(folder.join("page.css"), "page.cst").unwrap();
        assert_eq!(outdated_compressed(&folder), ["page.css.gz"]);
        fs::write(folder.join("page.js.gz"), "not compressed").unwrap();
        assert_eq!(outdated_compressed(&folder), ["page.js.gz", "page.css.gz"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn each_option_chooses_its_job() {
        let parse = |words: &[&str]| Job::parse(Arguments::from_words(words));
        assert_eq!(parse(&[]), Ok(Job::Build));
        assert_eq!(parse(&["--check"]), Ok(Job::Check));
        assert_eq!(parse(&["--test", "--only", "keys"]), Ok(Job::Test(Some("keys".to_owned()))));
        assert!(parse(&["--nam"]).is_err());
    }

    fn env_folder(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()))
    }
}
