//! Which names, texts and addresses of a file are invalid? Each function returns the reason.

pub(super) fn wrong_program(value: &str) -> Option<&'static str> {
    if value.trim().is_empty() {
        Some("is empty: say which program is to be started")
    } else {
        wrong_text(value)
    }
}

pub(super) fn wrong_path(value: &str) -> Option<&'static str> {
    if value.is_empty() { Some("is empty: say which path, or leave it out") } else { wrong_text(value) }
}

/// Checks a text that is passed to a program.
pub(super) fn wrong_text(value: &str) -> Option<&'static str> {
    value.contains('\0').then_some("has a NUL character, which cannot be passed to a program: remove it")
}

pub(super) fn wrong_variable_name(name: &str) -> Option<&'static str> {
    let is_wrong = name.is_empty() || name.contains(['=', '\0']);
    is_wrong.then_some("is not the name of a variable: it is empty, or contains `=` or NUL")
}

pub(super) fn wrong_header_name(name: &str) -> Option<&'static str> {
    let is_wrong = name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    is_wrong.then_some("is not the name of a header: use only letters, digits and `-`")
}

pub(super) fn wrong_header(value: &str) -> Option<&'static str> {
    let is_wrong = value.chars().any(|letter| letter.is_control() && letter != '\t');
    is_wrong.then_some(
        "has a control character, perhaps a line break, which a header must not contain: remove it",
    )
}

pub(super) fn wrong_url(url: &str) -> Option<&'static str> {
    let Some(authority) = authority(url) else { return Some("must begin with `https://` or `http://`") };
    if authority.rsplit('@').next().is_none_or(|host| host.is_empty() || host.starts_with(':')) {
        return Some("has no host: write `https://host/path`");
    }
    let is_wrong = url.chars().any(|letter| letter.is_whitespace() || letter.is_control());
    is_wrong.then_some("has a space or a control character in it: remove it, or write `%20`")
}

/// Returns the part between the scheme and the path.
fn authority(url: &str) -> Option<&str> {
    let (scheme, behind) = url.split_once("://")?;
    let is_http = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    is_http.then(|| behind.split(['/', '?', '#', '\\']).next().unwrap_or_default())
}

/// Returns the scheme and host of a URL, without parts that may be secret: user, path and query.
pub(super) fn origin_of(url: &str) -> String {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    let host = authority(url).and_then(|authority| authority.rsplit('@').next()).unwrap_or_default();
    format!("{scheme}://{host}/…")
}
