//! How does a user sign in where there is no screen?
//!
//! By a small browser: it keeps cookies, follows redirects, and fills in and sends the form of each page, until a page
//! leads back to the client. It knows no names of pages, so it works with every server whose pages are plain forms over
//! `http://`.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::check::{Checked, shown};

/// The name with which the user signs in.
pub(crate) const USER: &str = "ann";

/// Signs in at a page, and returns the URL of the client to which the pages lead back.
pub(crate) async fn sign_in(page: &str) -> Checked<String> {
    let redirect = parameter(page, "redirect_uri").ok_or("the URL of the login has no redirect")?;
    let is_back = |url: &str| url.strip_prefix(&redirect).is_some_and(|rest| rest.starts_with('?'));
    match walk(page, is_back).await? {
        End::Back(url) => Ok(url),
        End::Page(reply) => Err(format!("a page has no form: {}", shown(reply.text.as_str())).into()),
    }
}

/// Signs in at a page, and follows the pages back to the client, which may begin to listen only afterwards.
pub(crate) async fn open(page: &str) -> Checked {
    let back = sign_in(page).await?;
    for _ in 0..MOST_VISITS {
        if visit(&back).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(VISIT_PAUSE).await;
    }
    Err(format!("no client listens at {back}").into())
}

/// Returns a token of the issuer for a resource, as a program gets it.
pub(crate) async fn token(issuer: &str, resource: &str) -> Checked<String> {
    let form = [("grant_type", "client_credentials"), ("scope", "notes:read"), ("resource", resource)];
    token_of(&format!("{issuer}/token"), PROGRAM, &form).await
}

/// Returns the token that a token endpoint makes for a program.
pub(crate) async fn token_of(url: &str, program: Program, form: &[(&str, &str)]) -> Checked<String> {
    let reply = post(url, program, form).await?;
    let token = reply["access_token"].as_str();
    Ok(token.ok_or_else(|| format!("there is no token in {}", shown(&reply)))?.to_owned())
}

/// Sends a form as a program, and returns the reply.
pub(crate) async fn post(url: &str, program: Program, form: &[(&str, &str)]) -> Checked<Value> {
    let credentials = base64_simd::STANDARD.encode_to_string(format!("{}:{}", program.id, program.secret));
    let mut browser = Browser { authorization: Some(format!("Basic {credentials}")), ..Browser::default() };
    let form: Vec<String> =
        form.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    let reply = browser.send(url, Some(form.join("&"))).await?;
    match reply.status {
        200 => Ok(serde_json::from_str(&reply.body)?),
        status => Err(format!("{url} replies with {status}: {}", shown(reply.body.as_str())).into()),
    }
}

/// Signs in at a page for users of another device. The last page says that it is done.
pub(crate) async fn confirm(page: &str) -> Checked {
    match walk(page, |_| false).await? {
        End::Page(reply) if reply.status == 200 => Ok(()),
        End::Page(reply) => Err(format!("the last page: {}", shown(reply.text.as_str())).into()),
        End::Back(url) => Err(format!("the pages lead to {url}").into()),
    }
}

/// Where a login ends.
enum End {
    /// At a URL of the client.
    Back(String),
    /// At a page without a form.
    Page(Reply),
}

/// Fills in all forms.
async fn walk(page: &str, is_back: impl Fn(&str) -> bool) -> Checked<End> {
    let mut browser = Browser::default();
    let (mut url, mut form) = (page.to_owned(), None);
    for _ in 0..MOST_PAGES {
        let reply = browser.send(&url, form.take()).await?;
        if let Some(location) = reply.header("location") {
            url = absolute(&url, location);
            if is_back(&url) {
                return Ok(End::Back(url));
            }
        } else if let Some((action, fields)) = filled_form(&reply.body) {
            url = absolute(&url, &action);
            form = Some(fields);
        } else {
            return Ok(End::Page(reply));
        }
    }
    Err(format!("the login is not over after {MOST_PAGES} pages").into())
}

/// Opens a page and returns its status.
pub(crate) async fn visit(url: &str) -> Checked<u16> {
    Ok(Browser::default().send(url, None).await?.status)
}

/// A program that an identity provider knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) id: &'static str,
    pub(crate) secret: &'static str,
}

/// The cookies of a user. They are for all ports of a host, as in every browser, and this one knows a single host.
#[derive(Debug, Default)]
struct Browser {
    cookies: Vec<Cookie>,
    /// The name and the password of a program.
    authorization: Option<String>,
}

#[derive(Debug)]
struct Cookie {
    name: String,
    path: String,
    value: String,
}

/// The reply to a request.
#[derive(Debug)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    /// Everything that came.
    text: String,
}

impl Browser {
    /// Sends a form, or reads a page.
    async fn send(&mut self, url: &str, form: Option<String>) -> Checked<Reply> {
        let (host, target) = parts(url).ok_or_else(|| format!("{url} does not begin with http://"))?;
        let path = target.split('?').next().unwrap_or_default();
        let cookies = self.cookies.iter().filter(|cookie| path.starts_with(&cookie.path));
        let cookies: Vec<String> =
            cookies.map(|Cookie { name, value, .. }| format!("{name}={value}")).collect();
        let mut head = format!("host: {host}\r\naccept: text/html\r\nconnection: close\r\n");
        if !cookies.is_empty() {
            let _ = write!(head, "cookie: {}\r\n", cookies.join("; "));
        }
        // A browser names the place from which a form comes; a program has a password instead.
        let sender = match &self.authorization {
            Some(authorization) => format!("authorization: {authorization}"),
            None => format!("origin: http://{host}"),
        };
        let request = match form {
            None => format!("GET {target} HTTP/1.1\r\n{head}\r\n"),
            Some(form) => format!(
                "POST {target} HTTP/1.1\r\n{head}{sender}\r\ncontent-length: {}\r\n\
                 content-type: application/x-www-form-urlencoded\r\n\r\n{form}",
                form.len()
            ),
        };
        let mut stream = TcpStream::connect(host).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await?;
        let reply = Reply::parse(String::from_utf8_lossy(&bytes).into_owned())
            .ok_or_else(|| format!("{url} did not reply with HTTP"))?;
        for (_, cookie) in reply.headers.iter().filter(|(name, _)| name == "set-cookie") {
            self.keep(cookie);
        }
        Ok(reply)
    }

    /// Stores a cookie, or deletes it if the server says so.
    fn keep(&mut self, text: &str) {
        let mut attributes = text.split(';').map(|part| part.trim().split_once('=').unwrap_or((part, "")));
        let Some((name, value)) = attributes.next() else { return };
        let attributes: Vec<(String, &str)> =
            attributes.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        let attribute =
            |wanted: &str| attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
        let path = attribute("path").unwrap_or("/").to_owned();
        self.cookies.retain(|cookie| cookie.name != name || cookie.path != path);
        let is_over = attribute("max-age") == Some("0")
            || attribute("expires").is_some_and(|date| date.contains(" 1970 "));
        if !is_over {
            self.cookies.push(Cookie { name: name.to_owned(), path, value: value.to_owned() });
        }
    }
}

impl Reply {
    fn parse(text: String) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        Some(Self { status, headers: headers.collect(), body: body.to_owned(), text })
    }

    fn header(&self, wanted: &str) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }
}

/// Returns the address of the first form of a page, and its fields as the user fills them in. Of several buttons the
/// user presses the first that agrees.
fn filled_form(page: &str) -> Option<(String, String)> {
    let form = &page[page.find("<form")?..];
    let form = &form[..form.find("</form>")?];
    let action = attribute(form.split('>').next()?, "action").unwrap_or_default();
    let mut fields: Vec<String> = Vec::new();
    let mut has_button = false;
    for tag in form.split('<').filter(|tag| tag.starts_with("input") || tag.starts_with("button")) {
        let tag = tag.split('>').next().unwrap_or_default();
        let Some(name) = attribute(tag, "name") else { continue };
        let value = match attribute(tag, "type").as_deref() {
            Some("text") => USER.to_owned(),
            Some("password") => "x".to_owned(),
            Some("submit") if has_button || declines(tag) => continue,
            kind => {
                has_button |= kind == Some("submit");
                attribute(tag, "value").unwrap_or_default()
            }
        };
        fields.push(format!("{}={}", encoded(&name), encoded(&value)));
    }
    Some((action, fields.join("&")))
}

/// Returns whether a button ends the login, or begins another one.
fn declines(button: &str) -> bool {
    attribute(button, "value").is_some_and(|value| ["deny", "logout"].contains(&value.as_str()))
}

/// Returns an attribute of a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(rest.split('"').next()?.replace("&amp;", "&"))
}

/// Splits a URL into the host with its port, and the rest.
fn parts(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    rest.find('/').map(|at| rest.split_at(at)).or(Some((rest, "/")))
}

/// Returns the URL to which a link of a page leads.
fn absolute(page: &str, link: &str) -> String {
    let host = parts(page).map_or("", |(host, _)| host);
    match link {
        "" => page.to_owned(),
        _ if link.starts_with('/') => format!("http://{host}{link}"),
        _ => link.to_owned(),
    }
}

/// Returns a parameter of the query of a URL.
fn parameter(url: &str, wanted: &str) -> Option<String> {
    let pairs = url.split_once('?')?.1.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, _)| *name == wanted).find_map(|(_, value)| decoded(value))
}

fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(each).collect()
}

/// A login that goes in circles ends here.
const MOST_PAGES: usize = 20;
/// How often, and with which pauses, a client is visited that does not listen.
const MOST_VISITS: usize = 300;
const VISIT_PAUSE: Duration = Duration::from_millis(100);
/// A program that `interop/idp.mjs` knows.
const PROGRAM: Program = Program { id: "ci", secret: "ci-secret" };

#[cfg(test)]
mod tests {
    use super::{Browser, absolute, filled_form, parameter};

    #[test]
    fn a_form_is_filled_in_and_the_first_button_pressed() {
        let page = "<p>Hi</p><form method=\"post\" action=\"/in?a=1&amp;b=2\"><input type=\"hidden\" name=\"t\" value=\"a b\"/>\
                    <input required type=\"text\" name=\"login\" value=\"\"><input type=\"password\" name=\"password\">\
                    <button type=\"submit\" name=\"action\" value=\"approve\">Yes</button>\
                    <button type=\"submit\" name=\"action\" value=\"deny\">No</button></form>";
        let (action, fields) = filled_form(page).unwrap();
        assert_eq!(action, "/in?a=1&b=2");
        assert_eq!(fields, "t=a%20b&login=ann&password=x&action=approve");
        assert_eq!(filled_form("<p>An error.</p>"), None);
    }

    #[test]
    fn a_button_that_declines_is_not_pressed() {
        let page = "<form method=\"POST\"><button name=\"answer\" type=\"submit\" value=\"deny\">Deny</button>\
                    <button name=\"answer\" type=\"submit\" value=\"logout\">Switch user</button>\
                    <button name=\"answer\" type=\"submit\" value=\"accept\">Accept</button></form>";
        assert_eq!(filled_form(page), Some((String::new(), "answer=accept".to_owned())));
    }

    #[test]
    fn a_cookie_belongs_to_its_path_and_can_be_deleted() {
        let mut browser = Browser::default();
        browser.keep("one=1; path=/auth/x; httponly");
        browser.keep("one=2; Path=/");
        browser.keep("one=; path=/; expires=Thu, 01 Jan 1970 00:00:00 GMT");
        let kept: Vec<_> =
            browser.cookies.iter().map(|cookie| (cookie.path.as_str(), &*cookie.value)).collect();
        assert_eq!(kept, [("/auth/x", "1")]);
    }

    #[test]
    fn links_and_parameters_of_a_url_are_found() {
        assert_eq!(absolute("http://h:1/a?b", "/c"), "http://h:1/c");
        assert_eq!(absolute("http://h:1/a?b", ""), "http://h:1/a?b");
        let url = "http://h:1/a?x=1&redirect_uri=http%3A%2F%2Flocalhost%3A2%2Fcallback";
        assert_eq!(parameter(url, "redirect_uri").unwrap(), "http://localhost:2/callback");
    }
}
