//! URI templates, through their public API: the RFC's examples, what must match and what must not, and properties over
//! random templates, values and URIs.
//!
//! A failing property prints its seed; `SEED=n cargo test --test uri_template` runs that one case.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use toolway_protocol::uri_template::{UriTemplate, Value, Values};

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Makes values from pairs; a text with a bar is a list.
fn values(pairs: &[(&str, &str)]) -> Values {
    let value = |text: &str| {
        let is_list = text.contains('|');
        if is_list { Value::List(text.split('|').map(str::to_owned).collect()) } else { Value::from(text) }
    };
    pairs.iter().map(|(name, text)| (*name, value(text))).collect()
}

#[test]
fn the_examples_of_the_rfc_expand_as_it_says() {
    // RFC 6570, section 3.2, without associative arrays and without the three templates that name a variable twice,
    // which are refused in the next test.
    let mut values = values(&[
        ("count", "one|two|three"),
        ("dom", "example|com"),
        ("dub", "me/too"),
        ("hello", "Hello World!"),
        ("half", "50%"),
        ("var", "value"),
        ("who", "fred"),
        ("base", "http://example.com/home/"),
        ("path", "/foo/bar"),
        ("list", "red|green|blue"),
        ("v", "6"),
        ("x", "1024"),
        ("y", "768"),
        ("empty", ""),
        ("unused", "x"),
    ]);
    values.insert("empty_list", Vec::new());
    let rows = [
        // 3.2.1 Variable expansion
        ("{count}", "one,two,three"),
        ("{count*}", "one,two,three"),
        ("{/count}", "/one,two,three"),
        ("{/count*}", "/one/two/three"),
        ("{;count}", ";count=one,two,three"),
        ("{;count*}", ";count=one;count=two;count=three"),
        ("{?count}", "?count=one,two,three"),
        ("{?count*}", "?count=one&count=two&count=three"),
        ("{&count*}", "&count=one&count=two&count=three"),
        // 3.2.2 Simple string expansion
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list}", "red,green,blue"),
        ("{list*}", "red,green,blue"),
        // 3.2.3 Reserved expansion
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("O{+empty}X", "OX"),
        ("O{+undef}X", "OX"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+list}", "red,green,blue"),
        ("{+list*}", "red,green,blue"),
        // 3.2.4 Fragment expansion
        ("{#var}", "#value"),
        ("{#hello}", "#Hello%20World!"),
        ("{#half}", "#50%25"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("{#path:6}/here", "#/foo/b/here"),
        ("{#list}", "#red,green,blue"),
        ("{#list*}", "#red,green,blue"),
        // 3.2.5 Label expansion
        ("{.who}", ".fred"),
        ("{.half,who}", ".50%25.fred"),
        ("www{.dom*}", "www.example.com"),
        ("X{.var}", "X.value"),
        ("X{.empty}", "X."),
        ("X{.undef}", "X"),
        ("X{.var:3}", "X.val"),
        ("X{.list}", "X.red,green,blue"),
        ("X{.list*}", "X.red.green.blue"),
        ("X{.empty_list}", "X"),
        ("X{.empty_list*}", "X"),
        // 3.2.6 Path segment expansion
        ("{/who}", "/fred"),
        ("{/half,who}", "/50%25/fred"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
        ("{/var}", "/value"),
        ("{/var,empty}", "/value/"),
        ("{/var,undef}", "/value"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/list}", "/red,green,blue"),
        ("{/list*}", "/red/green/blue"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
        // 3.2.7 Path-style parameter expansion
        ("{;who}", ";who=fred"),
        ("{;half}", ";half=50%25"),
        ("{;empty}", ";empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;v,bar,who}", ";v=6;who=fred"),
        ("{;x,y}", ";x=1024;y=768"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;x,y,undef}", ";x=1024;y=768"),
        ("{;hello:5}", ";hello=Hello"),
        ("{;list}", ";list=red,green,blue"),
        ("{;list*}", ";list=red;list=green;list=blue"),
        // 3.2.8 Form-style query expansion
        ("{?who}", "?who=fred"),
        ("{?half}", "?half=50%25"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("{?var:3}", "?var=val"),
        ("{?list}", "?list=red,green,blue"),
        ("{?list*}", "?list=red&list=green&list=blue"),
        // 3.2.9 Form-style query continuation
        ("{&who}", "&who=fred"),
        ("{&half}", "&half=50%25"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
        ("{&x,y,undef}", "&x=1024&y=768"),
        ("{&var:3}", "&var=val"),
        ("{&list}", "&list=red,green,blue"),
        ("{&list*}", "&list=red&list=green&list=blue"),
    ];
    for (text, expanded) in rows {
        assert_eq!(template(text).expand(&values), expanded, "{text}");
    }
}

#[test]
fn what_the_examples_leave_open_expands_by_the_letter_of_the_rfc() {
    let values = values(&[
        ("id", "admin%2F"),
        ("not_pct", "%foo"),
        ("word", "drücken"),
        ("escaped", "%C3%BCber"),
        ("items", "red%25|%2Fgreen|blue "),
        ("empty", ""),
        ("x", "1"),
        ("gaps", "|a|"),
        ("last.name", "Doe"),
        ("Stra%C3%9Fe", "Weg"),
    ]);
    for (text, expanded) in [
        ("{+id}", "admin%2F"),
        ("{#id}", "#admin%2F"),
        ("{id}", "admin%252F"),
        ("{+not_pct}", "%25foo"),
        ("{+items}", "red%25,%2Fgreen,blue%20"),
        ("{items}", "red%2525,%252Fgreen,blue%20"),
        ("{items:2}", "red%2525,%252Fgreen,blue%20"),
        ("{word}", "dr%C3%BCcken"),
        ("{word:3}", "dr%C3%BC"),
        // A character is never split, encoded or not.
        ("{+escaped:1}", "%C3%BC"),
        ("{+escaped:2}", "%C3%BCb"),
        ("{escaped:4}", "%25C3%25"),
        ("{empty,x}", ",1"),
        ("{/gaps*}", "//a/"),
        ("{;gaps*}", ";gaps;gaps=a;gaps"),
        ("{?gaps*}", "?gaps=&gaps=a&gaps="),
        ("{?last.name,Stra%C3%9Fe}", "?last.name=Doe&Stra%C3%9Fe=Weg"),
        ("grün/%7e/{x}", "gr%C3%BCn/%7e/1"),
        ("it's/{x}", "it's/1"),
        ("plain", "plain"),
        ("", ""),
    ] {
        assert_eq!(template(text).expand(&values), expanded, "{text}");
    }
}

#[test]
fn what_is_no_template_is_refused_at_its_place_with_a_way_out() {
    let many = (0..65).map(|index| format!("{{v{index}}}/")).collect::<Vec<_>>().concat();
    let long = "a".repeat(8 * 1024 + 1);
    let long_colons = format!("{}/:b", "a".repeat(8 * 1024 - 3));
    for (text, offset, words) in [
        ("{/id*", 0, "never closed, add `}`"),
        ("a/id*}", 5, "closes nothing, add `{`"),
        ("{/?id}", 2, "\"?id\" is not a variable name"),
        ("{}", 1, "\"\" is not a variable name"),
        ("{+}", 2, "\"\" is not a variable name"),
        ("{a,}", 3, "\"\" is not a variable name"),
        ("{a,,b}", 3, "\"\" is not a variable name"),
        ("{a{b}", 1, "\"a{b\" is not a variable name"),
        ("{a..b}", 1, "is not a variable name"),
        ("{.a.}", 2, "is not a variable name"),
        ("{a%2}", 1, "is not a variable name"),
        ("{ü}", 1, "is not a variable name"),
        ("{x, y}", 3, "\" y\" is not a variable name"),
        ("{~thing}", 1, "is not a variable name"),
        ("{default-graph}", 1, "use letters, digits and `_`"),
        ("{$var}", 1, "is not a variable name"),
        ("{*keys}", 1, "is not a variable name"),
        ("{keys**}", 1, "is not a variable name"),
        ("{!hello}", 1, "`!` is reserved by RFC 6570, use one of"),
        ("{=path}", 1, "`=` is reserved"),
        ("{|var*}", 1, "`|` is reserved"),
        ("{,a}", 1, "`,` is reserved"),
        ("{var:prefix}", 4, "use a number from 1 to 9999"),
        ("{var:0}", 4, "use a number from 1 to 9999"),
        ("{var:012}", 4, "use a number from 1 to 9999"),
        ("{var:10000}", 4, "use a number from 1 to 9999"),
        ("{var:+1}", 4, "use a number from 1 to 9999"),
        ("{var:}", 4, "use a number from 1 to 9999"),
        ("{var:2*}", 1, "keep one of them"),
        ("{/who,who}", 6, "\"who\" comes twice"),
        ("{.who,who}", 6, "\"who\" comes twice"),
        ("{/var:1,var}", 8, "\"var\" comes twice"),
        ("{a}/{%61}", 5, "\"%61\" comes twice"),
        ("/:a/:a", 5, "\"a\" comes twice"),
        ("a%/{b}", 1, "write `%25`"),
        ("a%4g/{b}", 1, "write `%25`"),
        ("a b", 1, "write `%20`"),
        ("ab\\", 2, "write `%5C`"),
        ("é|", 2, "write `%7C`"),
        ("a\n", 1, "control character"),
        (&many, many.find("v64").unwrap(), "at most 64 variables"),
        (&long, 8192, "at most 8192 bytes"),
        (&long_colons, 8192, "at most 8192 bytes"),
    ] {
        let error = UriTemplate::parse(text).expect_err(text);
        assert_eq!(error.offset(), offset, "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
    assert!(UriTemplate::parse(&long[1..]).is_ok());
    assert!(UriTemplate::parse(&many[..many.find("{v64").unwrap()]).is_ok());
}

#[test]
fn colons_mark_variables_at_the_start_of_path_segments_only() {
    for (text, rfc) in [
        ("myapp:///studies/:study_id/cover", "myapp:///studies/{study_id}/cover"),
        ("/:a/:_b2/:c.json", "/{a}/{_b2}/{c}.json"),
        ("app:/:a", "app:/{a}"),
        ("//host/:a", "//host/{a}"),
        ("http://host:8080/x", "http://host:8080/x"),
        ("http://host:8080/:x", "http://host:8080/{x}"),
        ("http://:user/:x", "http://:user/{x}"),
        ("urn:isbn:1", "urn:isbn:1"),
        ("urn::isbn", "urn::isbn"),
        (":a", ":a"),
        ("/items:batch", "/items:batch"),
        ("/:a-:b", "/{a}-:b"),
        ("/:80/:/::c", "/:80/:/::c"),
        ("/:ü", "/:ü"),
        ("/x?t=/:a", "/x?t=/:a"),
        ("/x#/:a", "/x#/:a"),
        ("/:a/{b}", "/:a/{b}"),
    ] {
        let parsed = template(text);
        assert_eq!(parsed.as_str(), rfc);
        assert_eq!(parsed, template(rfc));
        assert_eq!(parsed.to_string().parse(), Ok(parsed));
    }
    let matched = template("myapp:///studies/:study_id/cover").match_uri("myapp:///studies/7/cover");
    assert_eq!(matched, Some(values(&[("study_id", "7")])));
    assert_eq!(format!("{:?}", template("/:a")), r#"UriTemplate("/{a}")"#);
}

#[test]
fn templates_that_nobody_can_take_apart_are_named_as_such() {
    for (text, offset, words) in [
        ("{a}{b}", 3, "the start of \"b\" is ambiguous, put a literal between"),
        ("{+a}{b}", 4, "the start of \"b\" is ambiguous"),
        ("x{a}{+b}", 4, "the start of \"b\" is ambiguous"),
        ("up{+path}{var}/here", 9, "the start of \"var\""),
        ("{+a}/{+b}", 5, "both span `/`, keep one"),
        ("{+a,b}", 0, "both span `/`"),
        ("{#a,b}", 0, "both span `/`"),
        ("{/a*}/x/{+b}", 8, "both span `/`"),
        ("{a*,b}", 0, "`,` also separates the list before it"),
        ("x{.a*}{.b}", 6, "`.` also separates the list"),
        ("{+a}{.b*}", 4, "the number of items in \"b\" is ambiguous"),
        ("{/a*},{b*}", 6, "the number of items in \"b\""),
        ("{+a}{;b*}", 4, "the number of items in \"b\""),
        ("{+a}{;b}{;c*}", 8, "the number of items in \"c\""),
        ("x{;max}x{b}", 8, "put a `/` after the parameters"),
        ("{?a}{?b}", 4, "continue it with `{&…}`"),
        ("x?y{?a}", 3, "continue it with `{&…}`"),
        ("x#y{?a}", 3, "before its fragment"),
        ("x{&a}", 1, "write `{?…}`"),
        ("{+base}{&a}", 7, "write `{?…}`"),
        ("x{?a}/y", 1, "only `{&…}` or a fragment can follow"),
        ("x{?a}{b}", 5, "only `{&…}` or a fragment can follow"),
        ("x{?a}{;b}", 5, "only `{&…}` or a fragment can follow"),
    ] {
        let parsed = template(text);
        let error = parsed.check_matchable().expect_err(text);
        assert_eq!(error.offset(), offset, "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
        let uri = parsed.expand(&values(&[("a", "1"), ("b", "2")]));
        assert_eq!(parsed.match_uri_counted(&uri), (None, 0));
    }
    for text in [
        "{a}-{b}",
        "{a,b}",
        "{a}{.b}{/c}{;d}",
        "{+a}{/b}",
        "{+a}{.b}",
        "{/a*}{/b}",
        "{/a*,b}",
        "{a,b*}",
        "{.a,b*}",
        "x{.a*}.json",
        "{+a}/{b*},{c}",
        "{;a*}{;b}",
        "{+a}?x={+b}#y{+c}",
        "{+a}{?b*}{&c}{#d}",
        "x?y={a}{&b}",
        "",
    ] {
        assert_eq!(template(text).check_matchable(), Ok(()), "{text}");
    }
}

#[test]
fn a_uri_gives_the_values_that_made_it() {
    for (text, uri, expected) in [
        (
            "user://{id}/profile/{tab}",
            "user://123/profile/settings",
            &[("id", "123"), ("tab", "settings")][..],
        ),
        ("a", "a", &[]),
        ("", "", &[]),
        // A simple variable accepts what a user would type.
        ("f/{v}", "f/it's (me), @home: 50%25;x=1&y!", &[("v", "it's (me), @home: 50%;x=1&y!")]),
        ("f/{v}", "f/grün%20%E2%82%AC", &[("v", "grün €")]),
        ("f/{v}", "f/...", &[("v", "...")]),
        ("f/{v}", "f/%252F", &[("v", "%2F")]),
        ("f/{v}", "f/red,green", &[("v", "red,green")]),
        // A simple variable ends at the first possible place.
        ("{name}.{ext}", "a.tar.gz", &[("name", "a"), ("ext", "tar.gz")]),
        ("{name}.{ext}", "a%2Etar.gz", &[("name", "a"), ("ext", "tar.gz")]),
        ("{a}-{b}-x", "1-2-x-x", &[("a", "1"), ("b", "2-x")]),
        ("{a}-/{b}", "1--/2", &[("a", "1-"), ("b", "2")]),
        ("a{x}a{y}a", "aaaaaa", &[("x", "a"), ("y", "aa")]),
        ("{a,b}", "1,2,3", &[("a", "1"), ("b", "2,3")]),
        // A wide variable matches as much as possible.
        ("file:///{+path}", "file:///a/b%20c/d.txt", &[("path", "a/b c/d.txt")]),
        ("file:///{+path}", "file:////a/./b...c/.../d", &[("path", "/a/./b...c/.../d")]),
        ("fetch://{+url}", "fetch://http://x/y?z=1#f", &[("url", "http://x/y?z=1#f")]),
        ("{+dir}/{name}.{ext}", "a/b/c.tar.gz", &[("dir", "a/b"), ("name", "c.tar"), ("ext", "gz")]),
        ("{a}/{+b}/{c}", "1/2/3/4", &[("a", "1"), ("b", "2/3"), ("c", "4")]),
        ("{+a}{?q}", "x/y?q=1", &[("a", "x/y"), ("q", "1")]),
        ("{+a}{#f}", "x?y#z/z", &[("a", "x?y"), ("f", "z/z")]),
        ("here?ref={+path}", "here?ref=/a?b&c", &[("path", "/a?b&c")]),
        // Operators.
        ("x{.a,b}", "x.1.2", &[("a", "1"), ("b", "2")]),
        ("x{.a}", "x.1.2", &[("a", "1.2")]),
        ("x{/a,b}/y", "x/1/2/y", &[("a", "1"), ("b", "2")]),
        ("x{#a}", "x#1/2?3#4", &[("a", "1/2?3#4")]),
        ("x#{a}", "x#1", &[("a", "1")]),
        ("x{;a,b}/y", "x;b=2;a=1/y", &[("a", "1"), ("b", "2")]),
        ("x{;a,b}", "x;a;b=", &[("a", ""), ("b", "")]),
        ("{+p}x{;a,b}/y", "1;x;b=x;a=2/y", &[("p", "1;"), ("a", "2"), ("b", "x")]),
        ("{+p}{;max}x{c}", "1;max=2x3", &[("p", "1"), ("max", "2"), ("c", "3")]),
        ("{+p}/{a*},{b}", "1/2,3,4", &[("p", "1"), ("a", "2|3"), ("b", "4")]),
        ("x{;yes*}{;y}", "x;yes=1;y=3;yes=2", &[("yes", "1|2"), ("y", "3")]),
        // Lists.
        ("{a*}", "1,2,%2C", &[("a", "1|2|,")]),
        ("{b,a*}", "1,2,3", &[("b", "1"), ("a", "2|3")]),
        ("{/a*}", "/1/2/3", &[("a", "1|2|3")]),
        ("{/a*}/x/{b}", "/1/x/2/x/3", &[("a", "1|x|2"), ("b", "3")]),
        ("x{.a*}.json", "x.1.2.json", &[("a", "1|2")]),
        ("{+a*}", "1/2,3", &[("a", "1/2|3")]),
        ("{?a*}", "?a=1&a=&a=2,3", &[("a", "1||2,3")]),
        // Prefixes.
        ("{a:3}", "äöü", &[("a", "äöü")]),
        ("{?a:3}", "?a=ab", &[("a", "ab")]),
        // Queries, in the order of the template.
        ("x{?a,b,c}", "x?c=3&a=1", &[("a", "1"), ("c", "3")]),
        ("x{?a,b}", "x", &[]),
        ("x{?a,b}", "x?a", &[("a", "")]),
        ("x{?a}", "x?a==+%20", &[("a", "=+ ")]),
        ("x{?last.name,%C3%BC}", "x?%6cast%2Ename=1&ü=2", &[("last.name", "1"), ("%C3%BC", "2")]),
        ("x?v=1{&a,b}", "x?v=1&b=2", &[("b", "2")]),
        ("x?v=1{&a,b}", "x?v=1", &[]),
        ("x?{&a}", "x?&a=1", &[("a", "1")]),
        ("x?p={p}&q={q}{&r}", "x?p=1&q=2&r=3", &[("p", "1"), ("q", "2"), ("r", "3")]),
        ("x{?a}{&b}{#f}", "x?b=2&a=1#z", &[("a", "1"), ("b", "2"), ("f", "z")]),
        ("x{?a}#y", "x#y", &[]),
        // Equal after normalising.
        ("%7euser/%2f{a}/ü", "~user/%2F1/%c3%BC", &[("a", "1")]),
        ("~user/{a}", "%7Euser/%31", &[("a", "1")]),
    ] {
        let expected = values(expected);
        let matched = template(text).match_uri(uri);
        assert_eq!(matched.as_ref(), Some(&expected), "{text} {uri}");
        let order = |values: &Values| values.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(order(&matched.unwrap()), order(&expected), "{text} {uri}");
    }
}

#[test]
fn a_list_of_one_is_still_a_list() {
    for (text, uri) in [
        ("{a*}", "1"),
        ("{+a*}", "1"),
        ("{/a*}", "/1"),
        ("{.a*}", ".1"),
        ("{;a*}", ";a=1"),
        ("{?a*}", "?a=1"),
    ] {
        assert_eq!(template(text).match_uri(uri), Some(Values::from([("a", ["1"])])), "{text}");
    }
}

#[test]
fn what_a_template_does_not_say_does_not_match() {
    for (text, uris) in [
        ("a", &["", "aa", "A", "a/", "a?", "a#"][..]),
        ("", &["a", "?", "#"]),
        ("f/{v}", &["f", "f/", "f//", "f/a/", "f/a/b", "f/a?b", "f/a#b", "F/a", "xf/a"]),
        ("f/{v}", &["f/%", "f/%4", "f/%zz", "f/%FF", "f/%C3", "f/%ED%A0%80", "f/%C0%AF"]),
        ("{a}-{b}", &["-b", "a-", "-", "a/-b", "ab"]),
        ("{a}x{b}x", &["axx", "xxx", "axbxc"]),
        ("x/{+a}/y", &["x/y", "x//y", "x/a/y/z", "x/a/yy"]),
        ("{+a}{?q}", &["?q=1", "x?r=1"]),
        ("x{#f}", &["x", "x#", "#x"]),
        ("x{.a}", &["x", "x.", "x1"]),
        ("x{/a,b}", &["x/1", "x/1/", "x//1", "x/1/2/3"]),
        ("{/a*}", &["/", "//", "/1/", "//1", "/1//2", "1", "/1?2", "/1#2"]),
        ("{a*}", &["1,", ",1", "1,,2"]),
        ("x{;a,b}", &["x", "x;", "x;a=1", "x;a=1;a=2;b=3", "x;a=1;b=2;c=3", "x;a=1;b=2;", "x;aa=1;b=2"]),
        ("{a:3}", &["abcd", "äöüß"]),
        ("{?a:3}", &["?a=abcd"]),
        ("x{?a,b}", &["x?", "x?c=1", "x?a=1&c=1", "x?a=1&", "x?&a=1", "x?a=1&&b=2", "x?A=1", "x?=1"]),
        ("x{?a,b}", &["x?a=1&a=2", "x?a=1&%61=2", "x?a=1#f", "x?a=1?b=2", "x&a=1", "x/?a=1"]),
        ("x?v=1{&a}", &["x", "x?v=2", "x?a=1&v=1", "x?v=1&b=1", "x?v=1&", "x?v=11"]),
        // An unknown parameter must not become part of a value.
        ("x?q={q}", &["x?q=1&r=2", "x?q=1#r"]),
        // An encoded delimiter does not match a plain one, and the reverse.
        ("a/{b}", &["a%2Fx"]),
        ("a%2F{b}", &["a/x"]),
        ("x{?a}", &["x%3Fa=1", "x?a%3D1"]),
        ("x{#a}", &["x%231"]),
    ] {
        for uri in uris {
            assert_eq!(template(text).match_uri(uri), None, "{text} {uri}");
        }
    }
}

#[test]
fn a_value_never_leaves_its_segment() {
    let hostile = [
        ".",
        "..",
        "%2e",
        "%2E%2e",
        ".%2e",
        "a%2fb",
        "a%2Fb",
        "..%2f..%2fetc",
        "%2F",
        "a\\b",
        "a%5cb",
        "..%5C",
        "\\",
        "a%00",
        "%00",
        "a\0b",
    ];
    for text in [
        "x/{v}", "x/{v}/y", "x{/v}", "x/{v*}", "x{/v*}", "x/y{.v}", "x/y{;v}", "x/y{;v*}", "x{?v}", "x{?v*}",
        "x?a{&v}",
    ] {
        let template = template(text);
        let uri = |value: &str| template.expand(&Values::from([("v", "VALUE")])).replace("VALUE", value);
        assert!(template.match_uri(&uri("...")).is_some(), "{text}");
        for value in hostile {
            assert_eq!(template.match_uri(&uri(value)), None, "{text} {value}");
        }
    }
    assert_eq!(template("x/{a*}").match_uri("x/1,%2e%2e,2"), None);
    assert_eq!(template("x{/a*}").match_uri("x/1/../2"), None);
    assert_eq!(template("{a}.{b}").match_uri("..b"), None);
}

#[test]
fn a_wide_value_never_climbs() {
    let hostile = [
        "..",
        "a/..",
        "../a",
        "a/../b",
        "%2e%2E",
        "a/%2e./b",
        "a/.%2E",
        "a%2f..%2fb",
        "a\\..\\b",
        "a/..\\b",
        "..%5cb",
        "a%5C%2e%2e",
        "a/..?b",
        "a/..%3Fb",
        "a/..%23",
        "%252e%252e",
        "a/%25%32%65./b",
        "%25252e%25252e%25252fb",
        "..%252fb",
        "a%00",
        "a\0",
    ];
    for text in ["x/{+v}", "x/{+v}/y", "x/{+v*}", "x{#v}"] {
        let template = template(text);
        let uri = |value: &str| template.expand(&Values::from([("v", "VALUE")])).replace("VALUE", value);
        for harmless in ["...", "a/..b/c", "a/b../c", "a/./b", "a\\b", ".../x", "100%25"] {
            assert!(template.match_uri(&uri(harmless)).is_some(), "{text} {harmless}");
        }
        for value in hostile {
            assert_eq!(template.match_uri(&uri(value)), None, "{text} {value}");
        }
    }
    assert_eq!(template("x/{+v}?y").match_uri("x/a%2F..?y"), None);
}

#[test]
fn templates_that_differ_in_names_only_have_one_shape() {
    for (one, other, same) in [
        ("a/{b}", "a/{c}", true),
        ("a/{b}", "a/:c", true),
        ("a/{b}", "a{/c}", true),
        ("%7ea/{b}", "~a/{b}", true),
        ("{a,b}", "{x},{y}", true),
        ("a{?b}", "a{?c}", true),
        ("a{?b,c}", "a{?d}{&e}", true),
        ("a#{+b}", "a{#c}", true),
        ("a/{b}", "a/{+b}", false),
        ("a/{b}", "a/{b}/", false),
        ("a/{b}", "a/{b:3}", false),
        ("a/{b}", "a/{b*}", false),
        (".{b*}", "{.b*}", false),
        ("/{b*}", "{/b*}", false),
        ("a/{b}", "A/{b}", false),
        ("a{?b}", "a{?b,c}", false),
        ("a{?b}", "a{&b}", false),
        ("a{;b}", "a{;c}", false),
        ("a", "a{b}", false),
    ] {
        assert_eq!(template(one).has_same_shape(&template(other)), same, "{one} {other}");
        assert_eq!(template(other).has_same_shape(&template(one)), same, "{other} {one}");
    }
}

#[test]
fn more_literal_bytes_win_and_then_fewer_wide_variables() {
    let sorted =
        ["{+a}", "{a}", "x/{+a}/{b}", "x/{a}/{b}", "x/{a}/y", "x/{a}/y{?q}", "x/{a}/%79%79", "x/{+a}/yyy"]
            .map(template);
    for pair in sorted.windows(2) {
        let (less, more) = (pair[0].specificity(), pair[1].specificity());
        match pair[1].as_str() {
            // Optional parts do not count.
            "x/{a}/y{?q}" => assert!(less == more, "{pair:?}"),
            _ => assert!(less < more, "{pair:?}"),
        }
    }
}

/// Xorshift (Marsaglia, 2003): enough variety, and the same on every machine.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give neighbouring numbers, and zero gives only zeros.
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from((self.next() >> 16) % end as u64).unwrap()
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Concatenates `least` to `most` random choices.
    fn text(&mut self, choices: &[&str], least: usize, most: usize) -> String {
        let length = least + self.below(most - least + 1);
        (0..length).map(|_| self.pick(choices)).collect()
    }
}

/// Runs a property for many seeds, or for the one in `SEED`.
fn for_all(cases: u64, property: impl Fn(&mut Random)) {
    struct Seed(u64);
    impl Drop for Seed {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("run this case alone with SEED={}", self.0);
            }
        }
    }
    let seeds = match std::env::var("SEED") {
        Ok(seed) => vec![seed.parse().expect("SEED is a number")],
        Err(_) => (1..=cases).collect(),
    };
    for seed in seeds {
        let told = Seed(seed);
        property(&mut Random::new(seed));
        drop(told);
    }
}

/// The maximum number of steps that matching may take.
fn step_bound(template: &UriTemplate, uri: &str) -> usize {
    (32 + 2 * template.variables().count()) * (uri.len() + 1)
}

fn matches_within_bound(template: &UriTemplate, uri: &str) -> Option<Values> {
    let (values, steps) = template.match_uri_counted(uri);
    assert!(steps <= step_bound(template, uri), "{template} took {steps} steps for {} bytes", uri.len());
    values
}

const SOUP: &[&str] = &[
    "{", "{", "}", "}", "{a}", "{+b}", "{?c,d}", "{&e*}", "{/f*}", "{;g:3}", "{#h}", "{.i}", "+", "#", ".",
    "/", ";", "?", "&", ",", "*", ":", "=", "a", "bc", "9999", "%", "%2F", "%2e", "%C3", "%bc", "%00", "..",
    "\\", "\0", "é", "€", "🦀", " ", "http://", "/:id", "\u{85}",
];

#[test]
fn no_text_makes_parsing_or_matching_panic() {
    for_all(5_000, |random| {
        let mut soup = || {
            if random.one_in(4) {
                let bytes: Vec<_> = (0..random.below(40)).map(|_| random.next().to_le_bytes()[3]).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            } else {
                random.text(SOUP, 0, 12)
            }
        };
        let Ok(template) = UriTemplate::parse(&soup()) else { return };
        assert_eq!(UriTemplate::parse(template.as_str()), Ok(template.clone()));
        let given =
            Values::from([("a", soup()), ("b", soup()), ("c", soup()), ("id", soup()), ("h", soup())]);
        for uri in [soup(), template.expand(&given)] {
            let Some(values) = matches_within_bound(&template, &uri) else { continue };
            assert!(values.iter().all(|(name, _)| template.variables().any(|known| known == name)));
            template.expand(&values);
        }
    });
}

/// A template whose URIs can be parsed in only one way, with values for it.
///
/// Literals between variables begin with characters that `{a}` encodes and that do not occur in the values of `{+a}`
/// here. Values contain nothing that matching refuses.
fn unambiguous(random: &mut Random) -> (UriTemplate, Values) {
    const SIMPLE: &[&str] = &[
        "a", "b", "x", "Z", "0", "-", "_", "~", " ", "é", "€", "🦀", "%", "%41", "!", ":", "?", "#", "&",
        "=", ",", ";", "+", "@", "[", "'", "\n",
    ];
    const WIDE: &[&str] = &["a", "b", "x", "/", "/x/", "-", "~", " ", "é", "🦀", "(", "$", "[", "\""];
    loop {
        let mut text = vec![random.pick(&["", "x", "app://", "http://host:80/x", "%7e/ü/"]).to_owned()];
        let mut values = Values::new();
        let mut names = ["v", "w", "yes", "y", "last.name", "n%C3%BC", "z9", "q", "r", "f"].into_iter();
        let mut add = |random: &mut Random, operator: &str| {
            let name = names.next().unwrap();
            let is_named = matches!(operator, ";" | "?" | "&");
            let is_wide = matches!(operator, "+" | "#");
            let least = usize::from(!is_named);
            let choices = if is_wide { WIDE } else { SIMPLE };
            let value = |random: &mut Random| random.text(choices, least, 6);
            let is_optional = matches!(operator, "?" | "&");
            if random.one_in(3) {
                let items: Vec<_> = (0..=random.below(3)).map(|_| value(random)).collect();
                if !is_optional || random.one_in(2) {
                    values.insert(name, items);
                }
                format!("{name}*")
            } else {
                let value = value(random);
                let length = value.chars().count();
                if !is_optional || random.one_in(2) {
                    values.insert(name, value);
                }
                if random.one_in(4) && length > 0 { format!("{name}:{length}") } else { name.into() }
            }
        };
        for _ in 0..random.below(4) {
            let operator = random.pick(&["", "", "+", ".", "/", "/", ";"]);
            let between =
                if matches!(operator, "" | "+") { random.pick(&["/", "!", ":x", "/x/", "@~"]) } else { "" };
            let mut variables = add(random, operator);
            if operator != "+" && random.one_in(3) {
                variables = format!("{variables},{}", add(random, operator));
            }
            text.push(format!("{between}{{{operator}{variables}}}"));
        }
        text.push(random.pick(&["", "", "/x", "!"]).into());
        match random.below(4) {
            // Not `{?a}{&b}`, whose URI begins with `&` when `a` has no value.
            0 => text.push(format!("{{?{},{}}}", add(random, "?"), add(random, "?"))),
            1 => text.push(format!("?k={{{}}}{{&{}}}", add(random, ""), add(random, "&"))),
            _ => {}
        }
        match random.below(4) {
            0 => text.push(format!("{{#{}}}", add(random, "#"))),
            1 => text.push(format!("#s{{{}}}", add(random, ""))),
            _ => {}
        }
        let template = template(&text.concat());
        if template.check_matchable().is_ok() {
            return (template, values);
        }
    }
}

#[test]
fn matching_gives_back_what_was_expanded() {
    for_all(5_000, |random| {
        let (template, values) = unambiguous(random);
        let uri = template.expand(&values);
        assert_eq!(matches_within_bound(&template, &uri), Some(values), "{template} {uri}");
    });
}

/// Another spelling of the same URI: unreserved characters encoded, encoded delimiters plain, hex digits in lower case.
fn respell(random: &mut Random, uri: &str) -> String {
    let mut out = String::new();
    let mut rest = uri;
    while let Some(letter) = rest.chars().next() {
        let sign = [
            ("%21", "!"),
            ("%3A", ":"),
            ("%2C", ","),
            ("%40", "@"),
            ("%27", "'"),
            ("%3D", "="),
            ("%5B", "["),
        ]
        .into_iter()
        .find(|(encoded, _)| rest.starts_with(encoded));
        let (length, spelling) = match sign {
            Some((encoded, plain)) => (encoded.len(), plain.to_owned()),
            None if letter == '%' => (3, rest[..3].to_lowercase()),
            None if letter.is_ascii_alphanumeric() || "-._~".contains(letter) => {
                (1, format!("%{:02x}", u32::from(letter)))
            }
            None => (1, letter.to_string()),
        };
        out += if random.one_in(3) { &spelling } else { &rest[..length] };
        rest = &rest[length..];
    }
    out
}

fn decoded(uri: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = uri.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    out
}

#[test]
fn expanding_gives_back_what_was_matched() {
    let matched = std::cell::Cell::new(0);
    for_all(5_000, |random| {
        let (template, values) = unambiguous(random);
        let uri = template.expand(&values);
        assert_eq!(template.expand(&template.match_uri(&uri).unwrap()), uri, "{template}");
        let other = respell(random, &uri);
        let Some(values) = matches_within_bound(&template, &other) else { return };
        matched.set(matched.get() + 1);
        // In a wide value, `%41` is kept when it is expanded.
        let is_wide = template.as_str().contains("{+") || template.as_str().contains("{#");
        if is_wide && values.iter().any(|(_, value)| format!("{value:?}").contains('%')) {
            return;
        }
        let again = template.expand(&values);
        let (mut left, mut right) = (decoded(&again), decoded(&other));
        // `;a` and `;a=` mean the same.
        if template.as_str().contains("{;") {
            left.retain(|byte| *byte != b'=');
            right.retain(|byte| *byte != b'=');
        }
        assert_eq!(left, right, "{template} {other} {again}");
    });
    assert!(matched.get() > 2_500 || std::env::var("SEED").is_ok(), "{} matched", matched.get());
}

/// Tries every way to divide `uri` among literals, `?` for `{…}` and `*` for `{+…}`.
fn some_way_exists(pattern: &[&str], uri: &str) -> bool {
    match pattern {
        [] => uri.is_empty(),
        [wild @ ("?" | "*"), rest @ ..] => (1..=uri.len())
            .any(|end| (*wild == "*" || !uri[..end].contains('/')) && some_way_exists(rest, &uri[end..])),
        [literal, rest @ ..] => uri.strip_prefix(literal).is_some_and(|uri| some_way_exists(rest, uri)),
    }
}

#[test]
fn a_match_is_found_whenever_there_is_one() {
    let matched = std::cell::Cell::new(0);
    for_all(20_000, |random| {
        let pattern: Vec<_> =
            (0..=random.below(7)).map(|_| random.pick(&["a", "b", "ab", "/", "/a", "?", "?", "*"])).collect();
        let name = |(index, token): (usize, &&str)| match *token {
            "?" => format!("{{v{index}}}"),
            "*" => format!("{{+v{index}}}"),
            literal => literal.into(),
        };
        let template = template(&pattern.iter().enumerate().map(name).collect::<String>());
        if template.check_matchable().is_err() {
            return;
        }
        let uri = random.text(&["a", "a", "b", "ab", "/", "/a"], 0, 9);
        let found = matches_within_bound(&template, &uri);
        assert_eq!(found.is_some(), some_way_exists(&pattern, &uri), "{template} {uri}");
        if let Some(values) = found {
            assert_eq!(template.expand(&values), uri, "{template}");
            matched.set(matched.get() + 1);
        }
    });
    assert!(matched.get() > 500 || std::env::var("SEED").is_ok(), "{} matched", matched.get());
}

#[test]
fn no_uri_takes_more_steps_than_its_length_allows() {
    const LENGTH: usize = 64 * 1024;
    let many_names = (0..64).map(|index| format!("v{index}*")).collect::<Vec<_>>().join(",");
    let many_segments = (0..64).map(|index| format!("a{{v{index}}}")).collect::<Vec<_>>().concat();
    let long_literal = format!("{{x}}{}b{{y}}", "a".repeat(4096));
    let rows = [
        ("a{x}a{y}a{z}", "a", ""),
        ("a{x}a{y}a{z}", "a", "/"),
        ("a{x}a{y}a{z}b", "a", ""),
        ("{x}ab{y}ab{z}ab", "ab", ""),
        ("{x}ab{y}ab{z}ac", "ab", ""),
        ("{+x}a{y}a{z}", "a", ""),
        ("{a}a{+x}a{y}a{z}", "a", "b"),
        ("{+x}/{y}/{z}", "/", ""),
        ("{+x}/{y}/{z}", "a/", ""),
        ("{/x*}/{z}", "/a", ""),
        ("{+x}", "%252e", ""),
        ("{+x}", "%25", "2e"),
        ("{+x}", "/.%2e.", ""),
        ("{+x}", "\u{1F980}", ""),
        ("{x*}", "a,", "a"),
        ("{;x*}", ";x", ""),
        ("a{?x}", "?", ""),
        ("a?{x}{&y*}", "a?&y=1", ""),
        (&many_segments, "a", ""),
        (&many_segments, "ab", "/"),
        (&long_literal, "a", ""),
        (&long_literal, "a", "b"),
    ];
    for (text, repeated, end) in rows {
        let uri = repeated.repeat(LENGTH / repeated.len()) + end;
        matches_within_bound(&template(text), &uri);
    }
    let names = template(&format!("x{{?{many_names}}}"));
    let uri = format!("x?{}v63=", "v63=&".repeat(LENGTH / 5));
    assert!(matches_within_bound(&names, &uri).is_some());

    // Without names to look up, only the length counts.
    let uri = "a".repeat(LENGTH);
    let (values, steps) = template("a{x}a{y}a{z}").match_uri_counted(&uri);
    assert_eq!(values.unwrap().text("z").map(str::len), Some(LENGTH - 5));
    assert!(steps <= 11 * LENGTH, "{steps}");
}
