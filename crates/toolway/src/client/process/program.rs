//! Which file belongs to the name of a program, and why could the program not be started?

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::client::process::platform::is_program;
use crate::ground::error::{Error, ErrorKind};

/// A program, and the settings that determine its file.
pub(super) struct ProgramSearch<'s> {
    pub(super) program: &'s OsStr,
    /// The working directory of the server.
    pub(super) cwd: Option<&'s Path>,
    /// The `PATH` variable of the server.
    pub(super) path: Option<&'s OsStr>,
}

/// Returns the file to start. On every system, a relative path with a folder is relative to the working directory of
/// the server. A bare name is looked up on `PATH`; on Windows also with the extensions of programs, so that `npx` finds
/// `npx.cmd`. If no file is found, returns the name unchanged.
pub(super) fn program_file(search: &ProgramSearch<'_>) -> OsString {
    let program = Path::new(search.program);
    let found = match search.cwd {
        None if !is_bare(program) => None,
        // Operating systems resolve a relative path from different folders, so make the path absolute.
        _ => full_path(search),
    };
    found.map_or_else(|| search.program.to_owned(), PathBuf::into_os_string)
}

/// Returns the full path of the program; `None` if a bare name is not found.
pub(super) fn full_path(search: &ProgramSearch<'_>) -> Option<PathBuf> {
    let program = Path::new(search.program);
    if !is_bare(program) {
        return std::path::absolute(search.cwd.unwrap_or(Path::new("")).join(program)).ok();
    }
    let endings = if cfg!(windows) {
        env::var("PATHEXT").unwrap_or(DEFAULT_EXTENSIONS.to_owned())
    } else {
        String::new()
    };
    find(program, folders(search), &endings, is_program)
}

/// The extensions of programs if `PATHEXT` is not set.
const DEFAULT_EXTENSIONS: &str = ".COM;.EXE;.BAT;.CMD";

/// Returns whether the program is given as a name without a folder.
fn is_bare(program: &Path) -> bool {
    program.file_name() == Some(program.as_os_str())
}

/// Returns the absolute folders on `PATH`.
fn folders(search: &ProgramSearch<'_>) -> impl Iterator<Item = PathBuf> + use<> {
    let cwd = search.cwd.map(Path::to_owned).unwrap_or_default();
    let folders: Vec<_> = env::split_paths(search.path.unwrap_or_default()).collect();
    // An empty entry means the working directory, where a program must not be found by accident.
    let folders = folders.into_iter().filter(|folder| !folder.as_os_str().is_empty());
    folders.filter_map(move |folder| std::path::absolute(cwd.join(folder)).ok())
}

/// Returns the first program with this name, or with this name and one of the extensions in `endings`. If `endings` is
/// not empty, a file without an extension does not match: Windows installations have a file `npx` for other systems
/// beside `npx.cmd`.
fn find(
    program: &Path,
    mut folders: impl Iterator<Item = PathBuf>,
    endings: &str,
    is_program: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let endings: Vec<_> = endings.split(';').filter(|ending| !ending.is_empty()).collect();
    folders.find_map(|folder| {
        let plain = folder.join(program);
        if (endings.is_empty() || program.extension().is_some()) && is_program(&plain) {
            return Some(plain);
        }
        endings.iter().find_map(|ending| {
            let mut name = plain.clone().into_os_string();
            name.push(ending.to_ascii_lowercase());
            Some(PathBuf::from(name)).filter(|file| is_program(file))
        })
    })
}

/// Explains why a program could not be started, and what to do.
pub(super) fn start_error(search: &ProgramSearch<'_>, error: io::Error) -> Error {
    let name = search.program.display();
    let why = match search.cwd {
        Some(folder) if !folder.is_dir() => {
            format!("its working directory `{}` does not exist, or is not a directory", folder.display())
        }
        _ if error.kind() == io::ErrorKind::NotFound => {
            let file = program_file(search);
            match search.path {
                _ if !is_bare(Path::new(&file)) => missing_reason(Path::new(&file)),
                None => "`PATH` is not set, so it cannot be searched for; give its full path".to_owned(),
                Some(_) => "it was not found on `PATH`; is it installed?".to_owned(),
            }
        }
        _ if error.kind() == io::ErrorKind::PermissionDenied => {
            "it cannot be executed; is it a program, and are its permissions right?".to_owned()
        }
        _ => "the system refused to start it".to_owned(),
    };
    Error::new(ErrorKind::Transport, format!("failed to start `{name}`: {why}")).caused_by(error)
}

fn missing_reason(file: &Path) -> String {
    if file.exists() {
        // The file is a script whose first line names a missing interpreter, or a program for another system.
        return format!("`{}` exists, but its interpreter does not: check its first line", file.display());
    }
    format!("there is no file `{}`", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_endings_are_tried_in_their_order() {
        let folder = env::temp_dir().join(format!("toolway-program-{}", std::process::id()));
        let (first, second) = (folder.join("first"), folder.join("second"));
        for file in ["first/npx", "first/npx.cmd", "second/npx.exe", "second/tool.exe", "second/tool.cmd"] {
            let file = folder.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let folders = [&first, &second].map(Clone::clone);
        let find = |name: &str, endings: &str| {
            find(Path::new(name), folders.clone().into_iter(), endings, Path::is_file)
        };
        assert_eq!(find("npx", ".EXE;.CMD"), Some(first.join("npx.cmd")), "the first folder first");
        assert_eq!(find("tool", ".EXE;.CMD"), Some(second.join("tool.exe")), "the first ending first");
        assert_eq!(find("npx.exe", ".EXE;.CMD"), Some(second.join("npx.exe")));
        assert_eq!(find("npx", ""), Some(first.join("npx")));
        assert_eq!(find("absent", ".EXE;.CMD"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
