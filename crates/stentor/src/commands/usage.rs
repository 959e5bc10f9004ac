//! `stentor usage`: what the stored sessions consumed, by day, model and folder.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use stentor_journal::store::{self, Consumer, ListedSession};
use stentor_journal::usage::{Usage, short_count};

use crate::local_time;

/// What subagents and other tools consumed where no model is recorded with it.
const TOOLS: &str = "tools";
/// How long the longest bar is.
const BAR_COLUMNS: usize = 20;
/// How much of a name is shown.
const NAME_COLUMNS: usize = 44;
/// How many of the folders are shown to a person, the most expensive ones.
const SHOWN_FOLDERS: usize = 15;

/// What was consumed under one name.
#[derive(Debug, Clone, Default, PartialEq)]
struct Sum {
    usage: Usage,
    calls: u64,
    sessions: u64,
    /// The number of the session that was counted last: they come one after the other.
    last_session: Option<usize>,
}

impl Sum {
    fn add(&mut self, usage: &Usage, session: usize) {
        self.usage.add(usage);
        self.calls += 1;
        if self.last_session.replace(session) != Some(session) {
            self.sessions += 1;
        }
    }

    /// Everything the model read: new, from the cache and into the cache.
    fn input(&self) -> u64 {
        let Usage {
            input,
            cache_read,
            cache_write,
            ..
        } = self.usage;
        input.saturating_add(cache_read).saturating_add(cache_write)
    }

    fn as_json(&self) -> Value {
        json!({ "usage": self.usage, "calls": self.calls, "sessions": self.sessions })
    }
}

/// What many sessions consumed.
#[derive(Debug, Default)]
pub struct UsageReport {
    days: BTreeMap<Date, Sum>,
    models: BTreeMap<String, Sum>,
    folders: BTreeMap<String, Sum>,
    total: Sum,
    /// Sessions whose file cannot be read.
    unreadable: u64,
}

impl UsageReport {
    /// Adds up what `sessions` consumed on the day `since` and later, by the days of `zone`.
    pub fn of(
        sessions: impl Iterator<Item = ListedSession>,
        since: Option<Date>,
        zone: &TimeZone,
    ) -> Self {
        let mut report = Self::default();
        // A fork has the entries of the session it began as, which were paid for once.
        let mut counted = HashSet::new();
        for (number, session) in sessions.enumerate() {
            let mut model = TOOLS.to_owned();
            let read = store::each_consumption(&session.path, |consumed| {
                let by = match consumed.consumer {
                    Consumer::Model(name) => {
                        model.clone_from(&name);
                        name
                    }
                    Consumer::Summary => model.clone(),
                    Consumer::Tools(name) => name.unwrap_or_else(|| TOOLS.to_owned()),
                };
                // Of what has no time that can be read, nobody knows on which day it was.
                let day = local_time::day(&consumed.entry.1, zone).unwrap_or_default();
                let in_time = since.is_none_or(|since| day >= since);
                if in_time && !consumed.usage.is_zero() && counted.insert(consumed.entry) {
                    let usage = &consumed.usage;
                    report.days.entry(day).or_default().add(usage, number);
                    report.models.entry(by).or_default().add(usage, number);
                    let folder = report.folders.entry(session.cwd.clone()).or_default();
                    folder.add(usage, number);
                    report.total.add(usage, number);
                }
            });
            report.unreadable += u64::from(read.is_err() || session.problem.is_some());
        }
        report
    }

    /// Prints it for a person. Folders in `home` are shortened.
    pub fn print(&self, period: &str, home: Option<&Path>, out: &mut impl Write) -> io::Result<()> {
        if self.total.calls == 0 {
            writeln!(out, "Nothing was consumed {period}.")?;
            return self.print_unreadable(out);
        }
        let scale = Scale::of(&self.total);
        let days = self.days.iter().map(|(day, sum)| (day.to_string(), sum));
        table("By day", days.collect(), scale, out)?;
        let models = self.models.iter().map(|(model, sum)| (model.clone(), sum));
        table("By model", most_first(models.collect(), scale), scale, out)?;
        let folders = self.folders.iter();
        let folders = folders.map(|(folder, sum)| (in_home(folder, home), sum));
        let mut folders = most_first(folders.collect(), scale);
        let hidden = folders.len().saturating_sub(SHOWN_FOLDERS);
        folders.truncate(SHOWN_FOLDERS);
        table("By folder", folders, scale, out)?;
        if hidden > 0 {
            writeln!(out, "  and {hidden} more (--json lists all)\n")?;
        }
        let total = &self.total;
        writeln!(
            out,
            "Together {period}: {} in, {} out, {} in {}, {}",
            short_count(total.input()),
            short_count(total.usage.output),
            counted(total.calls, "call"),
            counted(total.sessions, "session"),
            cost(total),
        )?;
        self.print_unreadable(out)
    }

    fn print_unreadable(&self, out: &mut impl Write) -> io::Result<()> {
        match self.unreadable {
            0 => Ok(()),
            many => writeln!(
                out,
                "{} could not be read and {} not in here; `stentor sessions --all` says why.",
                counted(many, "session"),
                if many == 1 { "is" } else { "are" },
            ),
        }
    }

    /// The same for programs.
    pub fn print_json(&self, since: Option<Date>, out: &mut impl Write) -> io::Result<()> {
        let named = |key: &str, sums: &BTreeMap<String, Sum>| -> Value {
            let sums = sums.iter().map(|(name, sum)| {
                let mut value = sum.as_json();
                value[key] = json!(name);
                value
            });
            sums.collect()
        };
        let days = self.days.iter();
        let days = days.map(|(day, sum)| (day.to_string(), sum.clone()));
        let days = days.collect();
        let report = json!({
            "since": since.map(|since| since.to_string()),
            "total": self.total.as_json(),
            "days": named("day", &days),
            "models": named("model", &self.models),
            "folders": named("folder", &self.folders),
            "unreadableSessions": self.unreadable,
        });
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)
    }
}

/// What the bars show: dollars, or tokens where no price is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Dollars,
    Tokens,
}

impl Scale {
    fn of(total: &Sum) -> Self {
        match total.usage.cost.total > 0.0 {
            true => Self::Dollars,
            false => Self::Tokens,
        }
    }

    fn length(self, sum: &Sum) -> f64 {
        match self {
            Self::Dollars => sum.usage.cost.total,
            Self::Tokens => sum.input().saturating_add(sum.usage.output) as f64,
        }
    }
}

type UsageRow<'a> = (String, &'a Sum);

fn most_first(mut rows: Vec<UsageRow<'_>>, scale: Scale) -> Vec<UsageRow<'_>> {
    rows.sort_by(|(_, a), (_, b)| scale.length(b).total_cmp(&scale.length(a)));
    rows
}

fn table(
    title: &str,
    rows: Vec<UsageRow<'_>>,
    scale: Scale,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{title}")?;
    let lengths = rows.iter().map(|(_, sum)| scale.length(sum));
    let longest = lengths.fold(0.0, f64::max);
    let names = rows.iter().map(|(name, _)| name.chars().count());
    let width = names.max().unwrap_or_default().min(NAME_COLUMNS);
    for (name, sum) in rows {
        writeln!(
            out,
            "  {:width$}  {}  {:>7} in {:>7} out  {}",
            ending(&name, width),
            bar(scale.length(sum), longest),
            short_count(sum.input()),
            short_count(sum.usage.output),
            cost(sum),
        )?;
    }
    writeln!(out)
}

/// Two steps to a column; whatever is not nothing can be seen.
fn bar(length: f64, longest: f64) -> String {
    let share = if longest > 0.0 { length / longest } else { 0.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and twice the columns"
    )]
    let halves = (share.clamp(0.0, 1.0) * (BAR_COLUMNS * 2) as f64).ceil() as usize;
    let mut bar = "█".repeat(halves / 2);
    bar.push_str(if halves % 2 == 1 { "▌" } else { "" });
    format!("{bar:BAR_COLUMNS$}")
}

/// The end of a name, which says more of a folder than its beginning.
fn ending(name: &str, columns: usize) -> String {
    let surplus = name.chars().count().saturating_sub(columns);
    match surplus {
        0 => name.to_owned(),
        _ => {
            let end = name.chars().skip(surplus + 1);
            std::iter::once('…').chain(end).collect()
        }
    }
}

fn in_home(folder: &str, home: Option<&Path>) -> String {
    match home.and_then(|home| Path::new(folder).strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => folder.to_owned(),
    }
}

fn cost(sum: &Sum) -> String {
    let cost = &sum.usage.cost;
    match cost.total {
        0.0 if cost.is_unknown => "price unknown".to_owned(),
        0.0 => "$0".to_owned(),
        total => cost.in_words(if total < 0.01 { 4 } else { 2 }),
    }
}

fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
