//! Which files does the page have? They are made by `cargo xtask page` and are a part of this program.

/// A file of the page.
pub(super) struct PageFile {
    pub(super) path: &'static str,
    pub(super) media_type: &'static str,
    pub(super) content: &'static [u8],
    /// The content is compressed, because it makes this program larger.
    pub(super) is_gzip: bool,
}

pub(super) const FILES: [PageFile; 3] = [
    PageFile {
        path: "/",
        media_type: "text/html; charset=utf-8",
        content: include_bytes!("../../page/dist/index.html"),
        is_gzip: false,
    },
    PageFile {
        path: "/page.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_bytes!("../../page/dist/page.js.gz"),
        is_gzip: true,
    },
    PageFile {
        path: "/page.css",
        media_type: "text/css; charset=utf-8",
        content: include_bytes!("../../page/dist/page.css.gz"),
        is_gzip: true,
    },
];

/// The content security policy: the page may load and run its own three files.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob:; media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
