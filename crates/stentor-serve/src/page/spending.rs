//! How full the context was and what was spent, answer by answer.

use stentor_journal::export::Html;
use stentor_journal::message::AssistantMessage;
use stentor_journal::usage::{Usage, short_count};

/// Width and height of the drawing.
const SIDES: (f64, f64) = (240.0, 64.0);

/// More answers than this are thinned out.
const MOST_POINTS: usize = 240;

/// What the answers of a session have used.
#[derive(Debug, Default)]
pub(super) struct PageSpending {
    points: Vec<SpendingPoint>,
    total: Usage,
}

#[derive(Debug, Clone, Copy)]
struct SpendingPoint {
    context: u64,
    cost: f64,
}

impl PageSpending {
    /// Counts an answer.
    pub fn add(&mut self, answer: &AssistantMessage) {
        if answer.usage.is_zero() {
            return;
        }
        self.total.add(&answer.usage);
        self.points.push(SpendingPoint {
            context: answer.usage.context_tokens(),
            cost: self.total.cost.total,
        });
        if self.points.len() > MOST_POINTS {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 0
            });
        }
    }

    /// Both as lines, with what they end at.
    pub fn html(&self, window: u64) -> String {
        let mut html = Html::new();
        let Some(last) = self.points.last() else {
            return String::new();
        };
        let full = match window {
            0 => String::new(),
            window => format!(" of {}", short_count(window)),
        };
        let (context, cost) = (short_count(last.context), cost_in_words(&self.total));
        let most = window.max(
            self.points
                .iter()
                .map(|point| point.context)
                .max()
                .unwrap_or(1),
        );
        let contexts = self.points.iter().map(|point| point.context as f64);
        html.raw("<figure class=\"plot\"><svg viewBox=\"0 0 240 64\" role=\"img\" aria-label=\"")
            .text(&format!("Context {context}{full} tokens, cost {cost}"))
            .raw("\" preserveAspectRatio=\"none\">");
        line("context", contexts, most as f64, &mut html);
        if last.cost > 0.0 {
            let costs = self.points.iter().map(|point| point.cost);
            line("cost", costs, last.cost, &mut html);
        }
        html.raw("</svg><figcaption>")
            .element("span", "context", &format!("{context}{full} tokens"))
            .raw(" ")
            .element("span", "cost", &cost)
            .raw("</figcaption></figure>");
        html.finish()
    }
}

/// What was spent, for people. Nothing: nobody was asked.
pub(super) fn cost_in_words(usage: &Usage) -> String {
    match usage.is_zero() {
        true => String::new(),
        false if usage.cost.total < 0.01 => usage.cost.in_words(4),
        false => usage.cost.in_words(2),
    }
}

fn line(class: &str, values: impl ExactSizeIterator<Item = f64>, most: f64, html: &mut Html) {
    let (width, height) = SIDES;
    let steps = (values.len().saturating_sub(1)).max(1) as f64;
    let points = values.enumerate().map(|(number, value)| {
        let x = width * number as f64 / steps;
        let y = (height - 4.0) * (1.0 - value / most.max(f64::MIN_POSITIVE)) + 2.0;
        format!("{x:.1},{y:.1}")
    });
    let points: Vec<String> = points.collect();
    // One point is a line, too.
    let points = match &points[..] {
        [only] => format!(
            "0,{y} {width},{y}",
            y = only.split(',').nth(1).unwrap_or("0")
        ),
        points => points.join(" "),
    };
    html.raw("<polyline class=\"")
        .raw(class)
        .raw("\" points=\"")
        .raw(&points)
        .raw("\"/>");
}
