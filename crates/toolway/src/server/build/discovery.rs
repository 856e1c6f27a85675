//! Which marked functions can a server discover?

use std::panic::Location;

use crate::server::build::builder::ServerBuilder;
use crate::server::catalog::discover::MarkedItem;

inventory::collect!(MarkedItem);

/// Registers a marked function or type. The macros call this.
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($($item:tt)*) => {
        $crate::__private::inventory::submit! { $($item)* }
    };
}

impl ServerBuilder {
    /// Adds every function of the caller's own package that is marked `#[tool]`, `#[resource]` or `#[prompt]`, sorted
    /// by module and name. An element that is added explicitly replaces a discovered one with the same name, URI or
    /// template. Two discovered elements with the same name, URI or template are a mistake that [`build`](Self::build)
    /// reports.
    ///
    /// Packages are distinguished by the location of their sources, so call this from the package whose functions are
    /// meant; [`discover_in`](Self::discover_in) names modules instead. Methods of a [`service`](Self::service) are not
    /// discovered, because they need a value.
    ///
    /// ```no_run
    /// use toolway::prelude::*;
    ///
    /// /// Add two numbers.
    /// #[tool]
    /// fn add(a: f64, b: f64) -> f64 {
    ///     a + b
    /// }
    ///
    /// # fn main() -> toolway::Result<()> {
    /// let server = Server::new("calculator", "1.0.0").discover().build()?;
    /// assert!(server.tool("add").is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn discover(self) -> Self {
        let caller = Location::caller().file();
        self.discover_where(|marked| is_in(caller, marked.package))
    }

    /// Adds every marked function of a module and its submodules: `"my_app::tools"`, or `"my_app"` for a whole crate.
    /// The empty path means everything that is linked into the program.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// mod tools {
    ///     use toolway::prelude::*;
    ///
    ///     /// Add two numbers.
    ///     #[tool]
    ///     fn add(a: f64, b: f64) -> f64 {
    ///         a + b
    ///     }
    /// }
    ///
    /// fn main() -> toolway::Result<()> {
    ///     let module = concat!(module_path!(), "::tools");
    ///     let server = Server::new("calculator", "1.0.0").discover_in(module).build()?;
    ///     assert!(server.tool("add").is_some());
    ///     Ok(())
    /// }
    /// ```
    pub fn discover_in(self, module: &str) -> Self {
        self.discover_where(|marked| {
            module.is_empty()
                || marked
                    .module
                    .strip_prefix(module)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        })
    }

    fn discover_where(mut self, wanted: impl Fn(&MarkedItem) -> bool) -> Self {
        // A module may be discovered more than once, because modules are nested.
        let is_known = |marked: &MarkedItem| self.discovered.iter().any(|known| std::ptr::eq(*known, marked));
        let mut found: Vec<_> = inventory::iter::<MarkedItem>
            .into_iter()
            .filter(|marked| wanted(marked) && !is_known(marked))
            .collect();
        // The order of the linker is arbitrary.
        found.sort_by_key(|marked| (marked.module, marked.name));
        self.discovered.extend(found);
        self
    }
}

/// Returns whether a source file belongs to a package. The package at the root of a workspace has the empty directory;
/// it owns the files in Cargo's standard directories.
fn is_in(file: &str, package: &str) -> bool {
    let file = file.replace('\\', "/");
    let package = package.replace('\\', "/");
    if package.is_empty() {
        let first = file.split('/').next().unwrap_or_default();
        return ["src", "examples", "tests", "benches"].contains(&first) || !file.contains('/');
    }
    file.strip_prefix(&package).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_package_whose_directory_it_stands_in() {
        assert!(is_in("crates/app/src/main.rs", "crates/app"));
        assert!(!is_in("crates/application/src/main.rs", "crates/app"));
        assert!(is_in("src/main.rs", ""));
        assert!(is_in("examples/notes.rs", ""));
        assert!(!is_in("crates/app/src/main.rs", ""));
        assert!(is_in(r"crates\app\src\main.rs", "crates/app"));
        assert!(is_in("/home/me/dependency/src/lib.rs", "/home/me/dependency"));
    }
}
