//! Can the program be found?

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
    match start.command().program_file() {
        Some(found) if found.is_file() => report.pass_untimed("program", &found.display().to_string()),
        Some(missing) => {
            let what = format!("there is no file {}", missing.display());
            Err(report.fail(step, Fault::NotFound, &what, "check the path; hosts need an absolute path"))
        }
        None => {
            let what = format!("`{name}` was not found in the directories of PATH");
            let fix = "install it, or give its full path; hosts start programs with a shorter PATH than a shell has";
            Err(report.fail(step, Fault::NotFound, &what, fix))
        }
    }
}
