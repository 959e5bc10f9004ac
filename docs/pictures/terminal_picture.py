"""A picture of what a terminal shows: text with colours in, SVG out."""
import html
import re

DARK = {"back": "#0d1117", "text": "#e6edf3", 30: "#6e7681", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341",
        34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea", 90: "#8b949e"}
LIGHT = {"back": "#ffffff", "text": "#1f2328", 30: "#59636e", 31: "#cf222e", 32: "#116329", 33: "#7d4e00",
         34: "#0969da", 35: "#8250df", 36: "#1b7c83", 90: "#59636e"}
LETTER, ROW = 8.4, 19


def lines_of(text, theme):
    """Lines of (text, style) pieces; what moves the cursor is left out."""
    lines, line, style = [], [], ""
    for piece in re.split(r"(\x1b\[[0-9;?]*[a-zA-Z]|\r\n|\n|\r)", text):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if code:
            style = style_of(style, code.group(1), theme)
        elif piece in ("\n", "\r\n"):
            lines.append(line)
            line = []
        elif piece == "\r":
            line = []
        elif not piece.startswith("\x1b"):
            line.append((piece, style))
    return lines + [line]


def style_of(style, codes, theme):
    for code in (int(code or 0) for code in codes.split(";")):
        if code == 0:
            style = ""
        elif code == 1:
            style += "font-weight:bold;"
        elif code == 2:
            style += "opacity:.65;"
        elif code == 3:
            style += "font-style:italic;"
        elif code == 39:
            style = re.sub(r"fill:[^;]*;", "", style)
        elif code in theme:
            style += f"fill:{theme[code]};"
    return style


def svg(lines, columns, theme):
    width, height = 32 + columns * LETTER, 40 + len(lines) * ROW
    rows = []
    for number, line in enumerate(lines):
        column, spans = 0, []
        for text, style in line:
            # Each piece has its place and width, so that any font keeps the columns.
            place = f'x="{16 + column * LETTER:.1f}" textLength="{len(text) * LETTER:.1f}"'
            spans.append(f'<tspan {place} style="{style}">{html.escape(text)}</tspan>')
            column += len(text)
        rows.append(f'<text y="{34 + number * ROW}" xml:space="preserve">{"".join(spans)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
            f'font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="{theme["text"]}">\n'
            f'<rect width="100%" height="100%" rx="8" fill="{theme["back"]}"/>\n' + "\n".join(rows) + "\n</svg>\n")
