//! Context and cost over the turns, as a small drawing in the page.

use std::fmt::Write;

use super::escape::Html;
use super::summary::{dollars, grouped};
use crate::message::Message;
use crate::usage::Cost;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 90.0;
/// A bar is no wider than this, however few there are.
const WIDEST_BAR: f64 = 24.0;

/// One model call.
struct PlottedCall {
    anchor: usize,
    context_tokens: u64,
    /// What all calls up to this one cost.
    cost_so_far: f64,
    cost: Cost,
}

/// Draws the calls: a bar for the context of each, a line for what they cost so far. Fewer than two
/// make no drawing.
pub(super) fn render<'a>(messages: impl Iterator<Item = &'a Message>, page: &mut Html) {
    let turns = turns(messages);
    let most = turns.iter().map(|turn| turn.context_tokens).max();
    let most = most.unwrap_or(0);
    if turns.len() < 2 || most == 0 {
        return;
    }
    let total = turns.last().map_or(0.0, |turn| turn.cost_so_far);
    page.raw("<figure class=\"plot\"><svg viewBox=\"0 0 640 90\" role=\"group\" aria-label=\"Context and cost over the turns\">\n");
    let step = WIDTH / turns.len() as f64;
    let width = (step * 0.8).min(WIDEST_BAR);
    let mut line = String::new();
    for (number, turn) in turns.iter().enumerate() {
        let x = step * number as f64 + (step - width) / 2.0;
        let height = (turn.context_tokens as f64 / most as f64 * HEIGHT).max(1.0);
        let title = format!(
            "Answer {}: {} tokens of context{}",
            number + 1,
            grouped(turn.context_tokens),
            match dollars(&turn.cost).as_str() {
                "" => String::new(),
                cost => format!(", {cost}"),
            }
        );
        page.raw(&format!("<a href=\"#m{}\" aria-label=\"", turn.anchor))
            .text(&title)
            .raw("\">");
        page.raw(&format!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\">",
            HEIGHT - height
        ));
        page.element("title", "", &title).raw("</rect></a>\n");
        if total > 0.0 {
            let y = HEIGHT - turn.cost_so_far / total * HEIGHT;
            // Writing to a string cannot fail.
            let _ = write!(line, "{:.1},{y:.1} ", x + width / 2.0);
        }
    }
    if !line.is_empty() {
        page.raw(&format!("<polyline points=\"{}\"/>\n", line.trim_end()));
    }
    page.raw("</svg>\n<figcaption>");
    page.element(
        "span",
        "bars",
        &format!("context, at most {} tokens", grouped(most)),
    );
    if total > 0.0 {
        let all = Cost {
            total,
            ..Cost::default()
        };
        page.raw(" ").element(
            "span",
            "line",
            &format!("cost so far, up to {}", dollars(&all)),
        );
    }
    page.raw("</figcaption></figure>\n");
}

fn turns<'a>(messages: impl Iterator<Item = &'a Message>) -> Vec<PlottedCall> {
    let mut cost_so_far = 0.0;
    let answers = (1..).zip(messages).filter_map(|(anchor, message)| {
        let answer = message.as_assistant()?;
        cost_so_far += answer.usage.cost.total;
        Some(PlottedCall {
            anchor,
            context_tokens: answer.usage.context_tokens(),
            cost_so_far,
            cost: answer.usage.cost,
        })
    });
    answers.collect()
}
