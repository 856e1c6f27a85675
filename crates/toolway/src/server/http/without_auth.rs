//! Without the feature `auth` there is no document about signing in.

use ::http::{Method, Response};

use super::endpoint::body::ResponseBody;
use super::service::HttpService;

impl HttpService {
    #[expect(clippy::unused_self, reason = "the server may have a document with the feature")]
    pub(super) fn metadata_reply(&self, _: &Method, _: &str) -> Option<Response<ResponseBody>> {
        None
    }
}
