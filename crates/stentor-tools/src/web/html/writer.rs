//! Markdown as it is written: blank lines, lists, quotes, tables and marks around words.

use std::fmt::Write as _;

/// How deep lists and quotes are shown. Deeper ones look like the deepest.
const DEPTH: usize = 8;
/// A link with more text than this was left open.
const LONGEST_LINK: usize = 2_000;

/// Writes Markdown.
#[derive(Debug, Default)]
pub(super) struct MarkdownWriter {
    out: String,
    /// Newlines to write before what comes next.
    breaks: usize,
    /// How many of them stand already at the end of what was written, when it was that long.
    settled: Option<(usize, usize)>,
    /// Whether blanks come before what comes next.
    blank: bool,
    /// What the next words begin with: the mark of an item, `## `.
    lead: String,
    lists: Vec<MarkdownList>,
    /// Lists that are open beyond those that are shown.
    more_lists: usize,
    quotes: usize,
    /// The quotes around what was written last.
    written_quotes: usize,
    preformatted: Option<Preformatted>,
    code: Mark,
    strong: Mark,
    emphasis: Mark,
    link: Option<MarkdownLink>,
    table: MarkdownTable,
}

/// A list: the number of its next item, if they are numbered.
#[derive(Debug)]
struct MarkdownList {
    number: Option<u32>,
}

#[derive(Debug)]
struct Preformatted {
    language: Option<String>,
    text: String,
}

/// A mark around words, such as `**`: how many elements want it, and where it was written.
#[derive(Debug, Default)]
struct Mark {
    open: usize,
    at: Option<usize>,
}

#[derive(Debug)]
struct MarkdownLink {
    target: Option<String>,
    /// Where its text begins, once it does.
    at: Option<usize>,
}

#[derive(Debug, Default)]
struct MarkdownTable {
    /// Tables that are open; only the outermost is shown as one.
    open: usize,
    /// Cells of the row that is written.
    cells: usize,
    is_in_cell: bool,
    has_head: bool,
}

impl MarkdownWriter {
    pub fn len(&self) -> usize {
        self.out.len() + self.preformatted.as_ref().map_or(0, |pre| pre.text.len())
    }

    /// Text begins after a blank line.
    pub fn block(&mut self) {
        self.breaks = self.breaks.max(2);
    }

    /// Text begins on a new line.
    pub fn line(&mut self) {
        if let Some(pre) = &mut self.preformatted {
            pre.text.push('\n');
            return;
        }
        self.breaks = self.breaks.max(1);
    }

    /// Writes the blank lines that are due. Returns where what follows begins.
    pub fn settle(&mut self) -> usize {
        let breaks = self.breaks;
        self.flush();
        self.settled = Some((self.out.len(), breaks));
        self.out.len()
    }

    pub fn heading(&mut self, level: usize) {
        self.block();
        if !self.is_inline() {
            self.lead = format!("{} ", "#".repeat(level.clamp(1, 6)));
        }
    }

    pub fn rule(&mut self) {
        if self.is_inline() {
            return self.line();
        }
        self.block();
        self.plain("---");
        self.block();
    }

    /// Begins a list, numbered from `number` if that is given.
    pub fn list(&mut self, number: Option<u32>) {
        match self.lists.is_empty() {
            true => self.block(),
            false => self.line(),
        }
        match self.lists.len() < DEPTH {
            true => self.lists.push(MarkdownList { number }),
            false => self.more_lists += 1,
        }
    }

    pub fn end_list(&mut self) {
        match self.more_lists {
            0 => drop(self.lists.pop()),
            _ => self.more_lists -= 1,
        }
        self.lead.clear();
        match self.lists.is_empty() {
            true => self.block(),
            false => self.line(),
        }
    }

    pub fn item(&mut self) {
        self.end_link();
        self.line();
        if self.is_inline() {
            return;
        }
        self.lead = match self.lists.last_mut() {
            Some(MarkdownList {
                number: Some(number),
            }) => {
                let lead = format!("{number}. ");
                *number = number.saturating_add(1);
                lead
            }
            Some(MarkdownList { number: None }) | None => "- ".to_owned(),
        };
    }

    pub fn quote(&mut self) {
        self.block();
        self.quotes += 1;
    }

    pub fn end_quote(&mut self) {
        self.quotes = self.quotes.saturating_sub(1);
        self.block();
    }

    pub fn preformatted(&mut self, language: Option<String>) {
        self.end_preformatted();
        self.preformatted = Some(Preformatted {
            language,
            text: String::new(),
        });
    }

    pub fn end_preformatted(&mut self) {
        let Some(Preformatted { language, text }) = self.preformatted.take() else {
            return;
        };
        let text = text.trim_matches('\n').trim_end();
        if text.is_empty() {
            return;
        }
        if self.is_inline() {
            return self.text(text);
        }
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.block();
        self.plain(&format!("{fence}{}", language.unwrap_or_default()));
        for line in text.lines().chain([fence.as_str()]) {
            self.breaks = 1;
            self.plain(line);
        }
        self.block();
    }

    pub fn code(&mut self, language: Option<String>) {
        if let Some(pre) = &mut self.preformatted {
            pre.language = pre.language.take().or(language);
            return;
        }
        self.code.open += 1;
    }

    pub fn end_code(&mut self) {
        close(&mut self.out, &mut self.code, "`");
    }

    pub fn strong(&mut self) {
        self.strong.open += 1;
    }

    pub fn end_strong(&mut self) {
        close(&mut self.out, &mut self.strong, "**");
    }

    pub fn emphasis(&mut self) {
        self.emphasis.open += 1;
    }

    pub fn end_emphasis(&mut self) {
        close(&mut self.out, &mut self.emphasis, "*");
    }

    pub fn link(&mut self, target: Option<String>) {
        self.end_link();
        self.link = Some(MarkdownLink { target, at: None });
    }

    pub fn end_link(&mut self) {
        let Some(MarkdownLink { target, at }) = self.link.take() else {
            return;
        };
        // Marks end where the link does, else they would end outside of it.
        self.end_marks();
        if let (Some(target), Some(_)) = (target, at) {
            let _ = write!(self.out, "]({target})");
        }
    }

    pub fn image(&mut self, alt: &str, source: &str) {
        let alt: Vec<&str> = alt.split_whitespace().collect();
        self.words(&format!("![{}]({source})", alt.join(" ")));
    }

    pub fn table(&mut self) {
        self.end_link();
        self.block();
        self.table.open += 1;
        if self.table.open == 1 {
            self.table.has_head = false;
        }
    }

    pub fn end_table(&mut self) {
        self.end_row();
        self.table.open = self.table.open.saturating_sub(1);
        self.block();
    }

    pub fn row(&mut self) {
        self.end_row();
    }

    /// A row of one cell is no row of a table: pages use those to place things.
    pub fn end_row(&mut self) {
        self.end_cell();
        if self.table.open > 1 || self.table.cells == 0 {
            return self.line();
        }
        let cells = std::mem::take(&mut self.table.cells);
        self.breaks = 0;
        self.out.push_str(" |");
        if !self.table.has_head {
            self.table.has_head = true;
            self.breaks = 1;
            self.flush();
            self.out.push_str(&"| --- ".repeat(cells));
            self.out.push('|');
        }
        self.line();
    }

    pub fn cell(&mut self) {
        self.end_cell();
        if self.table.open != 1 {
            return self.line();
        }
        match self.table.cells {
            // Rows follow each other without a blank line.
            0 if self.table.has_head => self.breaks = 1,
            0 => self.block(),
            _ => self.breaks = 0,
        }
        self.blank = false;
        self.flush();
        self.out.push_str(match self.table.cells {
            0 => "| ",
            _ => " | ",
        });
        self.table.cells += 1;
        self.table.is_in_cell = true;
    }

    pub fn end_cell(&mut self) {
        if self.table.open > 1 {
            return self.line();
        }
        self.end_link();
        self.end_marks();
        self.table.is_in_cell = false;
        self.blank = false;
    }

    /// Text of the page: blanks become one, unless they count.
    pub fn text(&mut self, text: &str) {
        if let Some(pre) = &mut self.preformatted {
            pre.text.push_str(text);
            return;
        }
        let mut first = true;
        for word in text.split(|c: char| c.is_ascii_whitespace()) {
            if !first {
                self.blank = true;
            }
            first = false;
            if word.is_empty() {
                continue;
            }
            match self.table.is_in_cell && word.contains('|') {
                true => self.words(&word.replace('|', "\\|")),
                false => self.words(word),
            }
        }
        if self
            .link
            .as_ref()
            .and_then(|link| link.at)
            .is_some_and(|at| self.out.len() > at + LONGEST_LINK)
        {
            self.end_link();
        }
    }

    pub fn finish(mut self) -> String {
        self.end_preformatted();
        self.end_link();
        self.end_marks();
        self.out
    }

    /// Writes a line as it is, without marks around it.
    fn plain(&mut self, line: &str) {
        self.flush();
        let lead = std::mem::take(&mut self.lead);
        self.out.push_str(&lead);
        self.out.push_str(line);
    }

    /// Writes words, and before them whatever is due.
    fn words(&mut self, words: &str) {
        self.flush();
        if std::mem::take(&mut self.blank)
            && !self.out.ends_with(['\n', ' '])
            && !self.out.is_empty()
        {
            self.out.push(' ');
        }
        let lead = std::mem::take(&mut self.lead);
        self.out.push_str(&lead);
        if let Some(MarkdownLink {
            target: Some(_),
            at: at @ None,
        }) = &mut self.link
        {
            self.out.push('[');
            *at = Some(self.out.len());
        }
        for (mark, sign) in [
            (&mut self.strong, "**"),
            (&mut self.emphasis, "*"),
            (&mut self.code, "`"),
        ] {
            if mark.open > 0 && mark.at.is_none() {
                mark.at = Some(self.out.len());
                self.out.push_str(sign);
            }
        }
        self.out.push_str(words);
    }

    /// Writes the newlines that are due, with what every line begins with.
    fn flush(&mut self) {
        let mut breaks = std::mem::take(&mut self.breaks);
        if let Some((at, written)) = self.settled.take()
            && at == self.out.len()
        {
            breaks = breaks.saturating_sub(written);
        }
        if breaks == 0 {
            return;
        }
        if self.is_inline() {
            self.blank = true;
            return;
        }
        self.blank = false;
        self.end_marks();
        self.out.truncate(self.out.trim_end_matches(' ').len());
        let quotes = "> ".repeat(self.quotes.min(DEPTH));
        let before = std::mem::replace(&mut self.written_quotes, self.quotes);
        let between = "> ".repeat(before.min(self.quotes).min(DEPTH));
        if self.out.is_empty() {
            self.out.push_str(&quotes);
            return;
        }
        for n in 1..=breaks {
            self.out.push('\n');
            match n == breaks {
                true => self.out.push_str(&quotes),
                false => self.out.push_str(between.trim_end()),
            }
        }
        // The mark of an item stands left of what follows in it.
        let outer = match self.lead.is_empty() || self.lead.starts_with('#') {
            true => self.lists.len(),
            false => self.lists.len().saturating_sub(1),
        };
        for list in self.lists.iter().take(outer) {
            self.out.push_str(match list.number {
                Some(_) => "   ",
                None => "  ",
            });
        }
    }

    /// Ends the marks that are written; they begin again with the next words if they are still open.
    fn end_marks(&mut self) {
        for (mark, sign) in [
            (&mut self.code, "`"),
            (&mut self.emphasis, "*"),
            (&mut self.strong, "**"),
        ] {
            if mark.at.take().is_some() {
                self.out.push_str(sign);
            }
        }
    }

    /// Cells and the texts of links are one line.
    fn is_inline(&self) -> bool {
        self.table.is_in_cell || self.link.as_ref().is_some_and(|link| link.at.is_some())
    }
}

/// One element less wants the mark.
fn close(out: &mut String, mark: &mut Mark, sign: &str) {
    mark.open = mark.open.saturating_sub(1);
    if mark.open == 0 && mark.at.take().is_some() {
        out.push_str(sign);
    }
}
