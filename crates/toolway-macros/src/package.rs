//! Which package is being compiled? `ServerBuilder::discover` distinguishes packages by the location of their
//! sources.

use std::path::Path;

/// Returns the directory of the package as in `file!()` and in locations: relative to the compiler's working
/// directory, or absolute for a package outside of it.
pub(crate) fn package() -> String {
    let Ok(package) = std::env::var("CARGO_MANIFEST_DIR") else { return String::new() };
    match std::env::current_dir() {
        Ok(current) => relative(Path::new(&package), &current),
        Err(_) => package,
    }
}

fn relative(package: &Path, current: &Path) -> String {
    package.strip_prefix(current).unwrap_or(package).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_as_the_compiler_names_its_files() {
        let current = Path::new("/home/me/app");
        assert_eq!(relative(Path::new("/home/me/app"), current), "");
        assert_eq!(relative(Path::new("/home/me/app/crates/one"), current), "crates/one");
        assert_eq!(relative(Path::new("/home/me/dependency"), current), "/home/me/dependency");
    }
}
