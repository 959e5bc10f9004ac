//! Colours and signs on stderr.

/// How lines on stderr look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A terminal: colours and signs.
    Terminal,
    /// A file, a pipe, or `NO_COLOR`: plain ASCII.
    Plain,
}

impl Style {
    /// True for a terminal.
    pub fn is_terminal(self) -> bool {
        self == Self::Terminal
    }

    /// Begins the line of a tool call.
    pub fn call(self) -> &'static str {
        self.pick("\u{1b}[36m▸\u{1b}[0m", ">")
    }

    /// The call went well.
    pub fn done(self) -> &'static str {
        self.pick("\u{1b}[32m✓\u{1b}[0m", "ok")
    }

    /// The call failed.
    pub fn failed(self) -> &'static str {
        self.pick("\u{1b}[31m✗\u{1b}[0m", "failed:")
    }

    /// Something takes its time.
    pub fn waiting(self) -> &'static str {
        self.pick("\u{1b}[33m…\u{1b}[0m", "...")
    }

    /// Text of less importance.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Text of more importance.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// An error.
    pub fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// A warning.
    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    fn pick(self, terminal: &'static str, plain: &'static str) -> &'static str {
        match self {
            Self::Terminal => terminal,
            Self::Plain => plain,
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Terminal => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}
