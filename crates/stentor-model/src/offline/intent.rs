//! What a person can want from the guide.

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    List {
        path: Option<String>,
    },
    Read {
        path: String,
        lines: Lines,
    },
    /// Files by name; the pattern is a glob.
    FindFiles {
        pattern: String,
        path: Option<String>,
    },
    /// Text in files.
    Search {
        text: String,
        path: Option<String>,
    },
    Run {
        command: String,
    },
    Write {
        path: String,
        content: String,
    },
    Append {
        path: String,
        content: String,
    },
    Replace {
        path: String,
        old: String,
        new: String,
    },
    SummariseFolder {
        path: Option<String>,
    },
    SummariseFile {
        path: String,
    },
    CountLines {
        path: Option<String>,
    },
    CountFiles {
        path: Option<String>,
    },
    Plan {
        items: Vec<String>,
    },
    Help,
    Greeting,
    Thanks,
    /// Understood, but not something the guide does on a guess.
    Refuse(Refusal),
    /// Not understood.
    Unknown,
}

/// Which lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    All,
    /// From a line (the first is 1) on, so many.
    From {
        first: u64,
        count: Option<u64>,
    },
    Last {
        count: u64,
    },
}

/// Why something that was understood is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// A wish to delete something, in words that leave open what exactly.
    Delete,
    /// A command that would destroy more than a project.
    Destructive { command: String },
    /// The person said not to do it.
    Negated,
}

impl Intent {
    /// True when the guide knows what to do.
    pub fn is_understood(&self) -> bool {
        !matches!(self, Self::Unknown)
    }
}
