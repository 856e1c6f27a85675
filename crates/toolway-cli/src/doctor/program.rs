//! Can the program be found?

use std::env;
use std::path::{Path, PathBuf};

use super::report::{Report, Step};
use crate::failure::{Fault, Result};
use crate::location::CommandSpec;

pub(super) fn examine(report: &mut Report<'_>, start: &CommandSpec) -> Result<()> {
    let step = Step::begin("program");
    let written = start.written.as_deref().and_then(<[String]>::first);
    let name = written.cloned().unwrap_or_else(|| start.program.to_string_lossy().into_owned());
    if let Some(cwd) = &start.cwd
        && !cwd.is_dir()
    {
        let what = format!("the working directory {} does not exist", cwd.display());
        return Err(report.fail(step, Fault::Usage, &what, "create it, or choose another one with --cwd"));
    }
    let named = Path::new(&start.program);
    let candidates: Vec<PathBuf> = if named.components().count() > 1 {
        vec![start.cwd.clone().unwrap_or_default().join(named)]
    } else {
        let set = start.env.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case("PATH"));
        let path = set.map(|(_, value)| value.clone()).or_else(|| env::var_os("PATH")).unwrap_or_default();
        env::split_paths(&path).flat_map(|folder| spellings(&folder.join(named))).collect()
    };
    match candidates.iter().find(|candidate| candidate.is_file()) {
        Some(found) => report.pass_untimed("program", &found.display().to_string()),
        None if named.components().count() > 1 => {
            let what = format!("there is no file {}", candidates[0].display());
            Err(report.fail(step, Fault::NotFound, &what, "check the path; hosts need an absolute path"))
        }
        None => {
            let what = format!("`{name}` was not found in the directories of PATH");
            let fix = "install it, or give its full path; hosts start programs with a shorter PATH than a shell has";
            Err(report.fail(step, Fault::NotFound, &what, fix))
        }
    }
}

/// Returns the path with each extension that marks a program on this platform.
fn spellings(path: &Path) -> Vec<PathBuf> {
    let mut spellings = vec![path.to_owned()];
    if cfg!(windows) {
        let endings = env::var("PATHEXT").unwrap_or_else(|_| ".EXE;.CMD;.BAT;.COM".to_owned());
        for ending in endings.split(';') {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            spellings.push(name.into());
        }
    }
    spellings
}
