//! Does a document speak of this server?

use super::url::HttpUrl;

/// Returns whether a `resource` names the server with this URL: the same origin, and the path of the server or a folder of
/// it. The query and a final slash do not count.
///
/// ```
/// use toolway_protocol::oauth::is_resource_of;
///
/// assert!(is_resource_of("https://notes.example/", "https://notes.example/mcp?key=1"));
/// assert!(!is_resource_of("https://notes.example/m", "https://notes.example/mcp"));
/// assert!(!is_resource_of("https://other.example/mcp", "https://notes.example/mcp"));
/// ```
pub fn is_resource_of(resource: &str, server: &str) -> bool {
    let (Some(resource), Some(server)) = (HttpUrl::parse(resource), HttpUrl::parse(server)) else {
        return false;
    };
    let (folder, path) = (without_slash(resource.path), without_slash(server.path));
    resource.fragment.is_none()
        && resource.is_same_origin(&server)
        && !has_dots(path)
        && path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the name of a server that has no document: its URL without query and fragment, with scheme and host in lower
/// case. Returns `None` for a text that is not a URL.
///
/// ```
/// use toolway_protocol::oauth::resource_of;
///
/// assert_eq!(resource_of("HTTPS://Notes.Example/?key=1").unwrap(), "https://notes.example");
/// assert_eq!(resource_of("https://notes.example/MCP/").unwrap(), "https://notes.example/MCP/");
/// ```
pub fn resource_of(server: &str) -> Option<String> {
    let url = HttpUrl::parse(server)?;
    let path = if url.path == "/" { "" } else { url.path };
    Some(format!("{}{path}", url.origin.to_ascii_lowercase()))
}

/// Removes one final slash.
pub(super) fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// Returns whether a path leads out of its own folders.
fn has_dots(path: &str) -> bool {
    let is_dots = |segment: &str| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        segment == "." || segment == ".."
    };
    path.split('/').any(is_dots)
}

/// Compares the names of authorization servers as they are written, except that one without a path may have a final slash.
///
/// ```
/// use toolway_protocol::oauth::is_same_issuer;
///
/// assert!(is_same_issuer("https://id.example/", "https://id.example"));
/// assert!(!is_same_issuer("https://id.example/a/", "https://id.example/a"));
/// assert!(!is_same_issuer("https://ID.example", "https://id.example"));
/// ```
pub fn is_same_issuer(named: &str, found: &str) -> bool {
    let has_path = |issuer| HttpUrl::parse(issuer).is_none_or(|url| !without_slash(url.path).is_empty());
    named == found || (without_slash(named) == without_slash(found) && !has_path(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_another_server_is_refused() {
        let server = "https://notes.example/team/mcp";
        for resource in [
            "https://notes.example/team/mcp",
            "https://NOTES.example:443/team/mcp/",
            "https://notes.example/team",
            "https://notes.example/team/",
            "https://notes.example",
            "https://notes.example/?tenant=1",
        ] {
            assert!(is_resource_of(resource, server), "{resource}");
        }
        for resource in [
            "http://notes.example/team/mcp",
            "https://notes.example:8443/team/mcp",
            "https://notes.example.evil.example/team/mcp",
            "https://notes.example/tea",
            "https://notes.example/team/mcp/more",
            "https://notes.example/Team",
            "https://notes.example/team/mcp#x",
            "https://notes.example@evil.example/",
            "https://notes.example/team//",
            "/team/mcp",
            "",
        ] {
            assert!(!is_resource_of(resource, server), "{resource}");
        }
        assert!(!is_resource_of("https://notes.example/team", "https://notes.example/team/%2E./other"));
    }
}
