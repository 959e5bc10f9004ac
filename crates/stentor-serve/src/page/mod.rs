//! The page: sessions shown and driven in a browser.

pub mod assets;
