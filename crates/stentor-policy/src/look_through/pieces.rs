//! Where a command that is not understood as a whole may be cut into simple commands, its quotes
//! respected.

/// The pieces between the operators that stand in no quotes. A substitution between double quotes
/// is in pieces of its own.
pub(super) fn unquoted(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut within = vec![Within::Commands];
    let (mut from, mut before) = (0, ' ');
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        let innermost = within.last().copied().unwrap_or(Within::Commands);
        let is_command = matches!(innermost, Within::Commands | Within::Backquotes);
        let is_substitution = c == '(' && before == '$';
        let after = std::mem::replace(&mut before, c);
        let is_end = match (innermost, c) {
            (Within::SingleQuotes, '\'')
            | (Within::DoubleQuotes, '"')
            | (Within::Subscript, ']')
            | (Within::Backquotes, '`') => {
                within.pop();
                c == '`'
            }
            (Within::SingleQuotes, _) => false,
            (_, '\\') => {
                chars.next();
                // What is escaped joins nothing: `\>&` is no redirection.
                before = ' ';
                false
            }
            (_, '"') => {
                within.push(Within::DoubleQuotes);
                false
            }
            (_, '\'') if is_command => {
                within.push(Within::SingleQuotes);
                false
            }
            (_, '[') if is_command && is_subscript(after, text.get(at..)) => {
                within.push(Within::Subscript);
                false
            }
            (_, '`') => {
                within.push(Within::Backquotes);
                true
            }
            (_, '(') if is_command || is_substitution => {
                within.push(Within::Commands);
                true
            }
            (Within::Commands, ')') => {
                within.pop();
                true
            }
            // `2>&1`.
            (_, '&') => is_command && !matches!(after, '<' | '>'),
            (_, ';' | '|' | '\n') => is_command,
            _ => false,
        };
        if is_end {
            pieces.extend(text.get(from..at));
            from = at + c.len_utf8();
        }
    }
    pieces.extend(text.get(from..));
    pieces
}

/// Whether the bracket that begins `rest` is that of `NAME[…]=`, and not of a pattern.
fn is_subscript(before: char, rest: Option<&str>) -> bool {
    let is_assigned = |rest: &str| rest.contains("]=") || rest.contains("]+=");
    (before.is_ascii_alphanumeric() || before == '_') && rest.is_some_and(is_assigned)
}

/// What the scanned text is inside of.
#[derive(Clone, Copy)]
enum Within {
    /// A script, a group or a substitution.
    Commands,
    SingleQuotes,
    DoubleQuotes,
    Backquotes,
    /// `NAME[…]=`, where operators calculate.
    Subscript,
}
