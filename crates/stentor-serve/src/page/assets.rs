//! The files a browser loads: the same for everybody, without anything of a session.

use bytes::Bytes;

/// A file of the page.
pub struct Asset {
    path: &'static str,
    pub content_type: &'static str,
    pub content: Bytes,
}

static ASSETS: [Asset; 4] = [
    Asset {
        path: "/",
        content_type: "text/html; charset=utf-8",
        content: Bytes::from_static(include_bytes!("page.html")),
    },
    Asset {
        path: "/page.js",
        content_type: "text/javascript; charset=utf-8",
        content: Bytes::from_static(include_bytes!("page.js")),
    },
    Asset {
        path: "/transcript.css",
        content_type: "text/css; charset=utf-8",
        content: Bytes::from_static(stentor_journal::export::STYLE.as_bytes()),
    },
    Asset {
        path: "/page.css",
        content_type: "text/css; charset=utf-8",
        content: Bytes::from_static(include_bytes!("page.css")),
    },
];

/// The file at a path.
pub fn at(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}
