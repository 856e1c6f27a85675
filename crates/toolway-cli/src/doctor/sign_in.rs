//! If a server asks to sign in, which step of a login fails?
//!
//! The client itself goes through the steps, up to the page for the user: it reads the documents of the server and of its
//! authorization server, checks that they belong together, and checks that logins are protected with PKCE. Its error
//! names the first step that fails. It does not register, because that would leave a client behind at another company.

use std::sync::{Arc, Mutex, PoisonError};

use toolway::client::{ClientBuilder, OAuth};
use toolway::{Error, ErrorKind};

use super::report::{Report, Step};
use crate::failure::{Failure, Fault, chain};
use crate::location::{Address, login_hint};

/// Reports how far a login comes without a user.
pub(super) async fn diagnose(report: &mut Report<'_>, address: &Address, builder: ClientBuilder) -> Failure {
    if let Err(failure) = report.pass_untimed("http", "the server answers, and asks to sign in") {
        return failure;
    }
    let step = Step::begin("login");
    let page = Arc::new(Mutex::new(None));
    let noted = page.clone();
    // An id that is not used: the page is not opened.
    let oauth = OAuth::browser().client_id("toolway-doctor");
    let oauth = address.oauth.as_ref().map_or_else(|| oauth.clone(), |config| config.apply_to(oauth.clone()));
    let oauth = oauth.open_with(move |url| {
        *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(url);
        async { Err(Error::new(ErrorKind::NotAdmitted, "the page is not opened")) }
    });
    let outcome = builder.retries(0).connect(address.http().oauth(oauth)).await;
    let page = page.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(page) = page else {
        let what = match &outcome {
            Ok(_) => "the server asked to sign in, and a moment later it did not".to_owned(),
            Err(error) => reason(error),
        };
        return report.fail(step, Fault::AuthNeeded, &what, OPERATOR_ADVICE);
    };
    // The client names the server to the authorization server only if the server has a document.
    if !page.contains("&resource=") {
        return report.fail(step, Fault::AuthNeeded, NO_DOCUMENT, &login_hint(address));
    }
    let host = page.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
    let found = [
        format!("users sign in at {host}; logins are protected with PKCE"),
        "whether this client can register there is not tried: the command `login` does it".to_owned(),
    ];
    if let Err(failure) = report.pass(step, &found) {
        return failure;
    }
    let what = "you are not signed in; only with a token can be checked whether the server takes it";
    report.fail(Step::begin("token"), Fault::AuthNeeded, what, &login_hint(address))
}

/// Returns why a login failed, without the words that say only that it did.
fn reason(error: &Error) -> String {
    let words = chain(error);
    match words.split_once("asks to sign in, and this failed: ") {
        Some((_, reason)) => reason.to_owned(),
        None => words,
    }
}

const NO_DOCUMENT: &str = "the server does not say where users sign in: it has no document at \
                           /.well-known/oauth-protected-resource";

const OPERATOR_ADVICE: &str = "the operator of the server, or of its authorization server, must correct this; until then, give \
                               a token with --bearer TOKEN or in the variable TOOLWAY_BEARER";
