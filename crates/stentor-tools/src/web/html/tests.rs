use expect_test::{Expect, expect};

use super::*;

fn page(html: &str) -> HtmlPage {
    to_markdown(html, &Url::parse("https://example.org/a/b").unwrap())
}

fn check(html: &str, expected: Expect) {
    expected.assert_eq(&page(html).markdown);
}

#[test]
fn the_usual_elements_become_markdown() {
    check(
        "<!doctype html><title>T</title><h1>A  <em>new</em>\n title</h1><p>One <b>two</b>, \
         <a href='../c'>three</a>.<p>A &amp; B<br>C<hr><ul><li>x<li>y<ol start=3><li>i<li>ii</ol>\
         <li>z</ul><blockquote><p>quoted<p>twice</blockquote>\
         <pre><code class='hl language-rust'>fn x() {\n    y\n}\n</code></pre>\
         <p>run <code>a b</code> <img src=/i.png alt='a  picture'><img src=j.png>",
        expect![[r#"
            # A *new* title

            One **two**, [three](https://example.org/c).

            A & B
            C

            ---

            - x
            - y
              3. i
              4. ii
            - z

            > quoted
            >
            > twice

            ```rust
            fn x() {
                y
            }
            ```

            run `a b` ![a picture](https://example.org/i.png)"#]],
    );
    assert_eq!(
        page("<title> A\n B </title>x").title.as_deref(),
        Some("A B")
    );
}

#[test]
fn tables_become_tables() {
    check(
        "<p>before<table><thead><tr><th>Name<th>Value</tr></thead><tbody>\
         <tr><td><a href=/x>one</a><td><p>a|b</p><p>c</p></tr><tr><td>two<td></tr></table>after",
        expect![[r#"
            before

            | Name | Value |
            | --- | --- |
            | [one](https://example.org/x) | a\|b c |
            | two |  |

            after"#]],
    );
}

#[test]
fn what_readers_do_not_see_is_left_out() {
    check(
        "<head><style>p{}</style><script>if (a<b) '</p>'</script></head>a<!-- no -->\
         <svg><title>no</title><svg></svg>no</svg><noscript>no</noscript><template><p>no</template>\
         <select><option>no</select><iframe src=x>no</iframe> b",
        expect!["a b"],
    );
}

#[test]
fn links_that_lead_nowhere_are_words() {
    check(
        "<a href='#x'>here</a> <a href='javascript:x()'>run</a> <a href='data:text/html,x'>d</a> \
         <a>none</a> <a href=/e></a><a href=mailto:a@b.c>mail</a> <a href=/c><h3>Card</h3><p>Text</p></a>",
        expect![[r#"
            here run d none [mail](mailto:a@b.c)

            ### [Card Text](https://example.org/c)"#]],
    );
}

#[test]
fn the_main_part_is_what_counts_if_there_is_much_of_it() {
    let text = "word ".repeat(100);
    let html = format!("<nav>Menu</nav><main><h1>Main</h1><p>{text}</main><footer>Foot</footer>");
    let expected = format!("# Main\n\n{}", text.trim());
    assert_eq!(page(&html).markdown, expected);
    check(
        "<nav>Menu</nav><main>Short</main><footer>Foot</footer>",
        expect![[r#"
            Menu

            Short

            Foot"#]],
    );
    // One blank line before it, also where it begins with a block of its own.
    check(
        "<nav>Menu</nav><main><h1>Short</h1><p>text</main>",
        expect![[r#"
            Menu

            # Short

            text"#]],
    );
}

#[test]
fn tags_that_are_left_open_or_closed_too_often_do_no_harm() {
    check(
        "</p></li></ul></b></a></td></table></pre><p>a <b>b <p>c</b> d <a href=/x>e <li>f</blockquote>\
         <td>g<pre>h <b>i",
        expect![[r#"
            a **b**

            **c** d [e](https://example.org/x)
            - f

            g

            ```
            h i
            ```"#]],
    );
    check(
        "<pre>```\nx\n```</pre>",
        expect![[r#"
        ````
        ```
        x
        ```
        ````"#]],
    );
}

#[test]
fn depth_costs_nothing() {
    const LEVELS: usize = 20_000;
    for tag in [
        "div",
        "ul><li",
        "blockquote",
        "b",
        "a href=x",
        "table><tr><td",
        "svg",
        "span",
    ] {
        let html = format!("{}deep", format!("<{tag}>").repeat(LEVELS));
        let markdown = page(&html).markdown;
        assert!(
            markdown.len() < 10 * html.len(),
            "{tag}: {}",
            markdown.len()
        );
        assert_eq!(markdown.contains("deep"), tag != "svg", "{tag}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_taken(html in "(<(/?(p|a href=x|b|li|ul|ol|td|tr|table|pre|code|blockquote|main|h2|br|title))>|[a é|`\n]){0,60}") {
        page(&html);
    }
}
