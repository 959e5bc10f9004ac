use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn message(value: Value) -> Arc<Message> {
    Arc::new(serde_json::from_value(value).unwrap())
}

/// A conversation with every role and every block, `text` in every field that holds text.
fn conversation(text: &str) -> (ExportHeader, Vec<Arc<Message>>) {
    let call = |id: &str, name: &str, arguments: Value| json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments, "intent": text });
    let answer = |content: Value, stop: &str| {
        message(json!({
            "role": "assistant", "content": content, "api": text, "provider": text, "model": text,
            "stopReason": stop, "errorMessage": text, "responseId": text, "timestamp": 1_794_728_738_409u64,
            "usage": { "input": 1200, "output": 34, "cacheRead": 5, "cacheWrite": 6, "totalTokens": 1245, "cost": { "total": 0.5 } },
        }))
    };
    let result = |id: &str, content: Value, details: Value, is_error: bool| {
        message(json!({
            "role": "toolResult", "toolCallId": id, "toolName": text, "content": content,
            "details": details, "isError": is_error, "timestamp": 3,
        }))
    };
    let header = ExportHeader {
        title: Some(text.to_owned()),
        id: text.to_owned(),
        cwd: text.to_owned(),
        created_ms: Some(1_794_728_738_409),
        model: Some(text.to_owned()),
    };
    let long = vec![text; 40].join("\n");
    let messages = vec![
        message(json!({ "role": "user", "content": text, "timestamp": 1 })),
        message(json!({ "role": "user", "content": [
            { "type": "text", "text": text, "textSignature": "signature-secret" },
            { "type": "image", "data": text, "mimeType": "image/png" },
            { "type": "image", "data": "AAAA", "mimeType": text },
            { "type": "image", "data": "AAAA", "mimeType": "image/svg+xml" },
            { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" },
            { "type": "document", "data": text, "mimeType": "text/plain", "name": text },
            { "type": "document", "data": "AAAA", "mimeType": text, "name": text },
            { "type": text, "x": text },
        ], "timestamp": 2 })),
        message(json!({ "role": "developer", "content": text, "timestamp": 2 })),
        answer(
            json!([
                { "type": "thinking", "thinking": text, "thinkingSignature": "signature-secret" },
                { "type": "redactedThinking", "data": "redacted-secret" },
                { "type": "text", "text": text },
                call("1", "bash", json!({ "command": text })),
                call("2", "edit", json!({ "path": text, "edits": [{ "oldText": text, "newText": text }] })),
                call("3", "edit", json!({ "path": text, "oldText": text, "newText": text })),
                call("4", "write", json!({ "path": text, "content": long })),
                call("5", "grep", json!({ "pattern": text, "path": text, "limit": 3 })),
                call(text, text, json!({ text: text })),
                call("no result", "ls", json!({})),
            ]),
            "toolUse",
        ),
        result(
            "1",
            json!([{ "type": "text", "text": long }]),
            json!({}),
            true,
        ),
        result(
            "2",
            json!([{ "type": "text", "text": text }]),
            json!({ "diff": format!("+1 {text}\n-2 {text}\n@@ {text}\n 3 {text}") }),
            false,
        ),
        result(
            "4",
            json!([{ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" }]),
            json!(null),
            false,
        ),
        result(
            "1",
            json!([{ "type": "text", "text": text }]),
            json!({}),
            false,
        ),
        result(
            "call of another file",
            json!([{ "type": "text", "text": text }]),
            json!({}),
            true,
        ),
        answer(json!([]), "error"),
        answer(json!([{ "type": "text", "text": text }]), "aborted"),
        message(
            json!({ "role": "bashExecution", "command": text, "output": text, "exitCode": 3, "cancelled": false, "truncated": false, "fullOutputPath": text, "timestamp": 4 }),
        ),
        message(
            json!({ "role": "custom", "customType": text, "content": text, "display": true, "details": text, "timestamp": 5 }),
        ),
        message(
            json!({ "role": "custom", "customType": text, "content": "custom-secret", "display": false, "timestamp": 5 }),
        ),
        message(
            json!({ "role": "branchSummary", "summary": text, "fromId": text, "timestamp": 6 }),
        ),
        message(
            json!({ "role": "compactionSummary", "summary": text, "tokensBefore": 9, "timestamp": 6 }),
        ),
        message(json!({ "role": text, "anything": text, text: text })),
    ];
    (header, messages)
}

const TAGS: [&str; 59] = [
    "a",
    "figcaption",
    "label",
    "polyline",
    "rect",
    "svg",
    "article",
    "blockquote",
    "body",
    "br",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "img",
    "input",
    "li",
    "main",
    "meta",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "span",
    "strong",
    "style",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "time",
    "title",
    "tr",
    "ul",
    "!doctype",
    "dfn",
    "kbd",
    "s",
    "sub",
    "u",
];

/// Every tag of the page is one we write, with attributes we write.
fn assert_harmless(page: &str) {
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag that ends");
        let tag = &rest[start + 1..end];
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        assert!(TAGS.contains(&name), "<{tag}>");
        let mut attributes = tag[name.len().min(tag.len())..].trim();
        if tag.starts_with('/') || name == "!doctype" || name == "meta" {
            attributes = "";
        }
        while let Some((key, value)) = attributes.split_once("=\"") {
            let key = key.trim().trim_start_matches("disabled").trim();
            let (value, after) = value.split_once('"').expect("a value that ends");
            let fine = match key {
                "class" | "id" | "alt" | "datetime" | "aria-label" | "lang" | "start" | "type"
                | "disabled" | "checked" => true,
                "role" => value == "group",
                "viewBox" | "points" | "x" | "y" | "width" | "height" => {
                    value.bytes().all(|byte| b"0123456789., ".contains(&byte))
                }
                "href" => {
                    value.starts_with('#')
                        || ["http://", "https://", "mailto:"]
                            .iter()
                            .any(|scheme| value.to_ascii_lowercase().starts_with(scheme))
                }
                "src" => value.starts_with("data:image/png;base64,"),
                _ => false,
            };
            assert!(fine, "{key}={value:?} in <{tag}>");
            attributes = after.trim();
        }
        rest = &rest[end + 1..];
    }
}

#[test]
fn nothing_from_outside_becomes_markup_in_any_field() {
    for attack in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</style><script>alert(1)</script>",
        "</title><script>alert(1)</script>",
        "</pre></details></article><iframe src=https://example.org></iframe>",
        "[x](javascript:alert(1)) ![x](https://example.org/track.png)",
        "<!-- <![CDATA[ <?php",
        "```\n</code></pre><script>\n```",
        "&lt;script&gt;",
        "iVBORw0KGgo=\" onerror=\"alert(1)",
        "<svg/onload=alert(1)>",
        "\u{0}<\u{0}script>",
    ] {
        let (header, messages) = conversation(attack);
        assert_harmless(&render_html(&header, &messages));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_at_all_becomes_markup(text in "[a-z<>\"'&=/!\\[\\]()`*#|~ \n\t\u{1b}-]{0,60}") {
        let (header, messages) = conversation(&text);
        assert_harmless(&render_html(&header, &messages));
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere_and_no_script() {
    let (header, messages) = conversation("plain");
    let page = render_html(&header, &messages);
    for word in [
        "<script",
        "<link",
        "<iframe",
        "url(",
        "@import",
        "src=\"http",
    ] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn what_only_the_provider_or_the_program_needs_stays_out() {
    let (header, messages) = conversation("plain");
    let page = render_html(&header, &messages);
    for secret in ["signature-secret", "redacted-secret", "custom-secret"] {
        assert!(!page.contains(secret), "{secret}");
    }
}

#[test]
fn every_message_that_shows_has_an_anchor_and_every_prompt_a_link_to_it() {
    let (header, messages) = conversation("plain");
    let page = render_html(&header, &messages);
    let hidden = 14; // The custom message that is not for display.
    for n in (1..=messages.len()).filter(|n| *n != hidden) {
        let anchors = page.matches(&format!("id=\"m{n}\"")).count();
        assert_eq!(anchors, 1, "m{n}");
    }
    assert!(
        page.contains("<li><a href=\"#m1\">plain</a></li>\n<li><a href=\"#m2\">plain</a></li>")
    );
}

#[test]
fn the_title_is_the_name_else_the_first_prompt() {
    let prompt =
        message(json!({ "role": "user", "content": "\n  Fix the bug\nplease", "timestamp": 1 }));
    let title = |name: Option<&str>, messages: &[Arc<Message>]| {
        let header = ExportHeader {
            title: name.map(str::to_owned),
            ..ExportHeader::default()
        };
        let page = render_html(&header, messages);
        let start = page.find("<title>").unwrap() + "<title>".len();
        page[start..page.find("</title>").unwrap()].to_owned()
    };
    let messages = [prompt];
    assert_eq!(title(Some("Bugs"), &messages), "Bugs");
    assert_eq!(title(Some("  "), &messages), "Fix the bug");
    assert_eq!(title(None, &messages), "Fix the bug");
    assert_eq!(title(None, &[]), "Session");
}

#[test]
fn a_small_conversation_looks_like_this() {
    let messages = [
        message(
            json!({ "role": "user", "content": "List *this* folder", "timestamp": 1_794_728_738_409u64 }),
        ),
        message(json!({ "role": "assistant", "content": [
            { "type": "toolCall", "id": "1", "name": "bash", "arguments": { "command": "ls" } },
        ], "api": "a", "provider": "p", "model": "m", "stopReason": "toolUse", "timestamp": 1_794_728_739_000u64 })),
        message(
            json!({ "role": "toolResult", "toolCallId": "1", "toolName": "bash", "content": [{ "type": "text", "text": "a.rs\nb.rs" }], "isError": false, "timestamp": 1_794_728_740_000u64 }),
        ),
        message(
            json!({ "role": "assistant", "content": [{ "type": "text", "text": "Two files." }],
            "api": "a", "provider": "p", "model": "m", "stopReason": "stop", "timestamp": 1_794_728_741_000u64,
            "usage": { "input": 1200, "output": 34, "cost": { "total": 0.0042 } } }),
        ),
    ];
    let header = ExportHeader {
        id: "0198".into(),
        cwd: "/work".into(),
        created_ms: Some(1_794_728_738_409),
        ..ExportHeader::default()
    };
    let page = render_html(&header, &messages);
    let body = &page[page.find("<body>").unwrap()..];
    expect_test::expect![[r##"
        <body>
        <main>
        <header class="page">
        <h1>List *this* folder</h1>
        <dl class="facts">
        <dt>Folder</dt><dd>/work</dd>
        <dt>Began</dt><dd>2026-11-15 07:45 UTC</dd>
        <dt>Model</dt><dd>p/m</dd>
        <dt>Messages</dt><dd>1 prompt, 2 answers, 1 tool call</dd>
        <dt>Tokens</dt><dd>1 200 in, 34 out</dd>
        <dt>Cost</dt><dd>$0.0042</dd>
        <dt>Session</dt><dd>0198</dd>
        </dl>
        <figure class="plot"><svg viewBox="0 0 640 90" role="group" aria-label="Context and cost over the turns">
        <a href="#m2" aria-label="Answer 1: 0 tokens of context"><rect x="148.0" y="89.0" width="24.0" height="1.0"><title>Answer 1: 0 tokens of context</title></rect></a>
        <a href="#m4" aria-label="Answer 2: 1 234 tokens of context, $0.0042"><rect x="468.0" y="0.0" width="24.0" height="90.0"><title>Answer 2: 1 234 tokens of context, $0.0042</title></rect></a>
        <polyline points="160.0,90.0 480.0,0.0"/>
        </svg>
        <figcaption><span class="bars">context, at most 1 234 tokens</span> <span class="line">cost so far, up to $0.0042</span></figcaption></figure>
        <p class="filters"><label><input type="checkbox" id="no-tools"> hide tool calls</label> <label><input type="checkbox" id="no-thinking"> hide thinking</label> <label><input type="checkbox" id="only-failed"> only failed calls</label> <span>Search with the browser (Ctrl+F).</span></p>
        </header>
        <article id="m1" class="user">
        <header><h2>You</h2> <a class="anchor" href="#m1"><time datetime="2026-11-15T07:45:38.409Z">2026-11-15 07:45 UTC</time></a></header>
        <div class="md"><p>List <em>this</em> folder</p>
        </div>
        </article>
        <article id="m2" class="assistant">
        <header><h2>m</h2> <a class="anchor" href="#m2"><time datetime="2026-11-15T07:45:39.000Z">2026-11-15 07:45 UTC</time></a></header>
        <section class="tool"><h3><span class="name">bash</span> <a class="anchor" href="#m3">#</a></h3>
        <pre class="command">ls</pre>
        <div id="m3">
        <div class="output"><pre>a.rs
        b.rs</pre>
        </div>
        </div>
        </section>
        </article>
        <article id="m4" class="assistant">
        <header> <span class="spent">1 200 in, 34 out · $0.0042</span> <a class="anchor" href="#m4"><time datetime="2026-11-15T07:45:41.000Z">2026-11-15 07:45 UTC</time></a></header>
        <div class="md"><p>Two files.</p>
        </div>
        </article>
        </main>
        </body>
        </html>
    "##]].assert_eq(body);
}

#[test]
fn failed_output_shows_its_end_and_what_the_call_took() {
    let lines: Vec<String> = (1..=40).map(|n| format!("line {n}")).collect();
    let messages = [
        message(json!({ "role": "assistant", "content": [
            { "type": "toolCall", "id": "1", "name": "bash", "arguments": { "command": "make" } },
        ], "api": "a", "provider": "p", "model": "m", "stopReason": "toolUse", "timestamp": 1_000, "duration": 500 })),
        message(
            json!({ "role": "toolResult", "toolCallId": "1", "toolName": "bash", "content": [{ "type": "text", "text": lines.join("\n") }], "isError": true, "timestamp": 4_200 }),
        ),
    ];
    let page = render_html(&ExportHeader::default(), &messages);
    let last: Vec<String> = lines[24..].to_vec();
    assert!(
        page.contains(&format!("</details>\n<pre>{}</pre>", last.join("\n"))),
        "{page}"
    );
    assert!(page.contains("24 lines before"), "{page}");
    assert!(page.contains("href=\"#m2\">failed 2.7 s</a>"), "{page}");
    assert!(
        page.contains("<span class=\"spent\">500 ms</span>"),
        "{page}"
    );
}

#[test]
fn pictures_say_where_they_are_from_to_those_who_do_not_see_them() {
    let picture = json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" });
    let call = json!({ "type": "toolCall", "id": "1", "name": "read", "arguments": { "path": "a\"b.png" } });
    let result = |id: &str, name: &str| {
        message(json!({
            "role": "toolResult", "toolCallId": id, "toolName": name, "content": [picture], "isError": false, "timestamp": 3,
        }))
    };
    let messages = vec![
        message(
            json!({ "role": "user", "content": [{ "type": "text", "text": "See" }, picture, picture], "timestamp": 1 }),
        ),
        message(json!({
            "role": "assistant", "content": [call], "api": "a", "provider": "p", "model": "m", "stopReason": "toolUse", "timestamp": 2,
            "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": { "total": 0.0 } },
        })),
        result("1", "read"),
        result("2", "camera"),
    ];
    let (header, _) = conversation("plain");
    let page = render_html(&header, &messages);
    let labels: Vec<&str> = page
        .split("<img alt=\"")
        .skip(1)
        .filter_map(|image| image.split('"').next())
        .collect();
    assert_eq!(
        labels,
        [
            "Picture 1 of the message",
            "Picture 2 of the message",
            "Picture from read a&quot;b.png",
            "Picture from camera",
        ]
    );
}
