//! What does a user see, and type, while signing in?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use toolway::client::{Connector, Http, OAuth, open_browser};

use crate::console::Console;

/// The way in which the page for signing in is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// The browser is opened, and the URL is shown.
    Browser,
    /// Only the URL is shown.
    UrlOnly,
}

/// Lets the user sign in with a browser. The URL to which the browser cannot return may be pasted.
pub(crate) fn ask_user(oauth: OAuth, opening: Opening, server: &Http, console: &Console) -> OAuth {
    let (name, shown_on) = (server.name(), console.clone());
    let can_paste = console.can_ask || opening == Opening::UrlOnly;
    let oauth = oauth.open_with(move |page| {
        let (name, console) = (name.clone(), shown_on.clone());
        async move {
            console.clear_progress();
            console.write_lines(&show_page(&name, &page, opening, can_paste).await);
            Ok(())
        }
    });
    if !can_paste {
        return oauth;
    }
    let (console, is_second) = (console.clone(), Arc::new(AtomicBool::new(false)));
    oauth.paste_with(move || {
        let (console, is_second) = (console.clone(), is_second.clone());
        async move {
            if is_second.swap(true, Ordering::Relaxed) {
                console.write_lines(
                    "This is not the URL of this login. Paste the whole URL from the address bar of the browser.",
                );
            }
            console.typed.next().await
        }
    })
}

/// Opens the page if that is wanted, and returns what the user reads.
async fn show_page(server: &str, page: &str, opening: Opening, can_paste: bool) -> String {
    let what = match opening {
        Opening::UrlOnly => "Open this page in a browser:",
        Opening::Browser => match open_browser(page.to_owned()).await {
            Ok(()) => "This page opens in your browser:",
            Err(_) => "No browser could be opened. Open this page in a browser:",
        },
    };
    let paste = if can_paste {
        "\nIf the browser is on another machine, it cannot return here: paste the URL at which it ends."
    } else {
        ""
    };
    format!(
        "{server} asks you to sign in. {what}\n\n  {page}\n\nThe command goes on when you have signed in.{paste}"
    )
}

/// Lets the user sign in on another device.
pub(crate) fn ask_device_user(console: &Console) -> OAuth {
    let console = console.clone();
    OAuth::device(move |code| {
        let console = console.clone();
        async move {
            let link = code.page_with_code.as_ref();
            let link = link.map(|link| format!(", or open\n\n  {link}")).unwrap_or_default();
            console.write_lines(&format!(
                "To sign in, open this page on any device, and enter the code {}:\n\n  {}{link}\n\nThe command goes on when \
                 you have signed in.",
                code.user_code, code.page
            ));
        }
    })
}
