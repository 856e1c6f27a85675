//! Which files does the page have? They are made by `cargo xtask page` and are a part of this program.

/// The path, the media type and the content of each file.
pub(super) const FILES: [(&str, &str, &str); 3] = [
    ("/", "text/html; charset=utf-8", include_str!("../../page/dist/index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../../page/dist/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../../page/dist/page.css")),
];

/// The content security policy: the page may load and run its own three files.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob:; media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
