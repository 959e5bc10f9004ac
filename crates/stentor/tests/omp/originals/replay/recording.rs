//! A recorded run of an original, as a file of lines.

use serde_json::Value;

/// One line of a recording.
pub enum Line {
    /// `|` a turn of the model.
    Turn(Value),
    /// `>` what was written to the child.
    Input(String),
    /// `<` a frame that both write.
    Same(Value),
    /// `<…` a delta that had come so far when the next line was written to the child.
    SoFar(Value),
    /// `-` a frame of the original that this program does not write.
    Theirs(Value),
    /// `+` a frame of this program that the original did not write.
    Ours(Value),
    /// `open`: what waits for this goes on.
    Open(String),
    /// `until`: a frame of this type, which is not compared, comes before the next line is written.
    Until(String),
    /// `#` why the lines below differ.
    Reason(String),
}

impl Line {
    fn of(line: &str) -> Self {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        let value = || serde_json::from_str(rest).unwrap_or_else(|error| panic!("{error}: {line}"));
        match mark {
            "|" => Self::Turn(value()),
            ">" => Self::Input(rest.to_owned()),
            "<" => Self::Same(value()),
            "<…" => Self::SoFar(value()),
            "-" => Self::Theirs(value()),
            "+" => Self::Ours(value()),
            "open" => Self::Open(rest.to_owned()),
            "until" => Self::Until(rest.to_owned()),
            "#" => Self::Reason(rest.to_owned()),
            _ => panic!("what is {line:?}?"),
        }
    }

    /// Whether the client does something here, for which it waits until all before it has come.
    pub fn is_step(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Open(_) | Self::Until(_))
    }

    /// The line as it stands in the file.
    pub fn written(&self) -> String {
        match self {
            Self::Turn(turn) => format!("| {turn}"),
            Self::Input(line) => format!("> {line}"),
            Self::Same(frame) => format!("< {frame}"),
            Self::SoFar(frame) => format!("<… {frame}"),
            Self::Theirs(frame) => format!("- {frame}"),
            Self::Ours(frame) => format!("+ {frame}"),
            Self::Open(gate) => format!("open {gate}"),
            Self::Until(kind) => format!("until {kind}"),
            Self::Reason(reason) => format!("# {reason}"),
        }
    }
}

/// The lines of a file.
pub fn lines(text: &str) -> Vec<Line> {
    text.lines().map(Line::of).collect()
}

/// Whether a frame answers a command: answers may fall between any two events.
pub fn is_answer(frame: &Value) -> bool {
    frame["type"] == "response"
}

/// The recording with the differences to what this program wrote marked anew. `ours` has for each
/// frame how many steps of the client ([`Line::is_step`]) had been done before it came.
pub fn marked_anew(lines: Vec<Line>, ours: &[(usize, Value)]) -> Vec<Line> {
    let of = |answers: bool| -> Vec<(usize, Value)> {
        let these = ours.iter().filter(|(_, f)| is_answer(f) == answers);
        these.cloned().collect()
    };
    let mut theirs = Vec::new();
    let mut steps = 0;
    for line in &lines {
        steps += usize::from(line.is_step());
        if let Line::Same(frame) | Line::Theirs(frame) = line {
            theirs.push((steps, frame));
        }
    }
    let mut sides = [false, true].map(|answers| {
        let theirs = theirs.iter().filter(|(_, f)| is_answer(f) == answers);
        let theirs: Vec<(usize, &Value)> = theirs.copied().collect();
        let ours = of(answers);
        let matched = matches(&theirs, &ours);
        Side {
            ours,
            matched,
            next_theirs: 0,
            next_ours: 0,
        }
    });
    let mut anew = Vec::new();
    let mut steps = 0;
    for line in lines {
        match line {
            Line::Same(frame) | Line::Theirs(frame) => {
                let side = &mut sides[usize::from(is_answer(&frame))];
                match side.matched[side.next_theirs] {
                    Some(ours) => {
                        side.tell_up_to(ours, &mut anew);
                        side.next_ours = ours + 1;
                        anew.push(Line::Same(frame));
                    }
                    None => anew.push(Line::Theirs(frame)),
                }
                side.next_theirs += 1;
            }
            Line::Ours(_) => {}
            line if line.is_step() => {
                for side in &mut sides {
                    side.tell_before(steps, &mut anew);
                }
                steps += 1;
                anew.push(line);
            }
            other => anew.push(other),
        }
    }
    for side in &mut sides {
        let all = side.ours.len();
        side.tell_up_to(all, &mut anew);
    }
    anew
}

/// Answers or events of both, and which belong together.
struct Side {
    ours: Vec<(usize, Value)>,
    matched: Vec<Option<usize>>,
    next_theirs: usize,
    next_ours: usize,
}

impl Side {
    fn tell_up_to(&mut self, end: usize, anew: &mut Vec<Line>) {
        while self.next_ours < end {
            anew.push(Line::Ours(self.ours[self.next_ours].1.clone()));
            self.next_ours += 1;
        }
    }

    /// Tells what came before the next step, up to the next frame both have.
    fn tell_before(&mut self, steps: usize, anew: &mut Vec<Line>) {
        let next_match = self.matched[self.next_theirs..].iter().flatten().next();
        let end = next_match.copied().unwrap_or(self.ours.len());
        let came = |n: usize| self.ours.get(n).is_some_and(|(before, _)| *before <= steps);
        let mut upto = self.next_ours;
        while upto < end && came(upto) {
            upto += 1;
        }
        self.tell_up_to(upto, anew);
    }
}

/// For each of theirs the one of ours that is the same, as many as can be in order. One that came
/// later than a step of the client which waited for theirs is not the same.
fn matches(theirs: &[(usize, &Value)], ours: &[(usize, Value)]) -> Vec<Option<usize>> {
    let same = |t: usize, o: usize| {
        let ((until, theirs), (came, ours)) = (&theirs[t], &ours[o]);
        came <= until && *theirs == ours
    };
    let mut longest = vec![vec![0_usize; ours.len() + 1]; theirs.len() + 1];
    for t in (0..theirs.len()).rev() {
        for o in (0..ours.len()).rev() {
            longest[t][o] = if same(t, o) {
                longest[t + 1][o + 1] + 1
            } else {
                longest[t + 1][o].max(longest[t][o + 1])
            };
        }
    }
    let mut matched = vec![None; theirs.len()];
    let (mut t, mut o) = (0, 0);
    while t < theirs.len() && o < ours.len() {
        if same(t, o) {
            matched[t] = Some(o);
            (t, o) = (t + 1, o + 1);
        } else if longest[t + 1][o] >= longest[t][o + 1] {
            t += 1;
        } else {
            o += 1;
        }
    }
    matched
}
