//! The API: every route, every error, damaged requests, slow clients, and its description.

mod common;

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use common::{Answer, Server, data, schema, tables};
use serde_json::{Value, json};
use ziggurat_advice::{Advisor, SeededDice};
use ziggurat_encoding::Index;
use ziggurat_rpc::Security;
use ziggurat_web::{
    explorer,
    server::{self, Cors, Options},
};

/// The description, as the server serves it.
fn description(server: &Server) -> Value {
    server.get("/openapi.json").right()
}

/// Checks an answer by what the description says of a path, a method and its status.
#[track_caller]
fn as_described(document: &Value, (method, path): (&str, &str), answer: &Answer) -> Value {
    let answers = &document["paths"][path][method.to_lowercase()]["responses"];
    assert!(answers.is_object(), "{method} {path} is not described");
    let mut described = match &answers[answer.status.to_string()] {
        Value::Null => &answers["default"],
        found => found,
    };
    if let Some(reference) = described["$ref"].as_str() {
        described = document.pointer(&reference[1..]).unwrap();
    }
    let value = answer.json();
    let schema = &described["content"]["application/json"]["schema"];
    if let Err(why) = schema::check(document, schema, &value, path) {
        panic!("{method} {path} {}: {why}", answer.status);
    }
    value
}

#[test]
fn answers_are_as_described() {
    let server = Server::usual();
    let document = description(&server);
    let mut checked = BTreeSet::new();
    let mut check = |method: &'static str, path: &'static str, answer: Answer| {
        checked.insert((path.to_owned(), method.to_lowercase()));
        as_described(&document, (method, path), &answer)
    };
    check("GET", "/v1/tables", server.get("/v1/tables"));
    check("GET", "/v1/tables", server.get("/v1/tables?x=1"));
    for query in ["position=start", "position=2/3&roll=2", "position=2,2/3", "roll=9", ""] {
        let answer = server.get(&format!("/v1/finkel2-f64?{query}"));
        check("GET", "/v1/{table}", answer);
    }
    for body in [
        r#"{"positions": ["start", "2/3", "+1/-+2"]}"#,
        r#"{"positions": ["start", "2/3"], "moves": true}"#,
        r#"{"positions": ["start", "2/3"], "moves": true, "roll": 1}"#,
        r#"{"positions": ["start", "x/3"]}"#,
        r#"{"positions": 3}"#,
    ] {
        check("POST", "/v1/{table}", server.post("/v1/finkel2-f64", body));
    }
    for query in ["", "?rolls=5", "?position=4/5&rolls=500", "?rolls=0"] {
        let answer = server.get(&format!("/v1/masters1-f64/mainline{query}"));
        check("GET", "/v1/{table}/mainline", answer);
    }
    for game in ["finkel2-0.rgn", "finkel2-1.json"] {
        let record = std::fs::read(data("games").join(game)).unwrap();
        check("POST", "/v1/review", server.post("/v1/review?table=finkel2-f64", record));
    }
    check("POST", "/v1/review", server.post("/v1/review?table=finkel2-f64", "1. A@A9"));
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
        assert_eq!(server.get(path).status, 200, "{path}");
        checked.insert((path.to_owned(), "get".to_owned()));
    }
    let paths = document["paths"].as_object().unwrap();
    let described = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.filter(|method| *method != "parameters").map(|it| (path.clone(), it.clone()))
    });
    assert_eq!(described.collect::<BTreeSet<_>>(), checked);
}

#[test]
fn a_wrong_answer_does_not_fit_its_description() {
    let server = Server::usual();
    let document = description(&server);
    let schema = &document["components"]["schemas"]["Position"];
    let right = server.get("/v1/finkel2-f64?position=start").right();
    let fits = |value: &Value| schema::check(&document, schema, value, "");
    assert_eq!(fits(&right), Ok(()));
    let spoil = |spoil: &dyn Fn(&mut Value)| {
        let mut wrong = right.clone();
        spoil(&mut wrong);
        assert!(fits(&wrong).is_err(), "{wrong}");
    };
    spoil(&|it| it["percent"] = json!("51"));
    spoil(&|it| it["percent"] = json!(100.5));
    spoil(&|it| it["more"] = json!(1));
    spoil(&|it| drop(it.as_object_mut().unwrap().remove("bound")));
    spoil(&|it| it["rolls"][1]["moves"][0]["tied"] = json!(0));
}

#[test]
fn tables_are_served_with_what_is_known_of_them() {
    let server = Server::usual();
    let answer = server.get("/v1/tables").right();
    let tables = answer["tables"].as_array().unwrap();
    let names: Vec<&str> = tables.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["finkel2-f64", "masters1-f64", "finkel1-f64-version1"]);
    let [finkel, masters, zgt] = &tables[..] else { panic!("{answer}") };
    assert_eq!((&finkel["ruleset"], &finkel["pieces"]), (&json!("finkel"), &json!(2)));
    assert_eq!(finkel["board"]["squares"].as_array().unwrap().len(), 20);
    assert_eq!(finkel["board"]["paths"]["light"][0], "A4");
    assert_eq!(finkel["board"]["paths"]["dark"][0], "C4");
    assert!(finkel["rules"].as_str().unwrap().contains("pieces"));
    assert_eq!(masters["rolls"].as_array().unwrap().len(), 4);
    // What can be proven is, and the format with checksums has one.
    assert_eq!((&finkel["certificate"], &finkel["bound"]["proven"]), (&Value::Null, &json!(false)));
    assert_eq!(finkel["checksum"], Value::Null);
    assert_eq!(zgt["bound"]["proven"], true);
    assert_eq!(zgt["bound"]["points"].as_f64(), zgt["certificate"].as_f64().map(|it| it * 100.0));
    assert_eq!(zgt["checksum"].as_str().unwrap().len(), 16);
}

#[test]
fn a_position_has_its_moves_best_first_and_luck_that_is_zero_on_average() {
    let server = Server::usual();
    let answer = server.get("/v1/finkel2-f64?position=4+1/3").right();
    let advisor = Advisor::open(&data("finkel2-f64.rgu")).unwrap();
    let position = advisor.ruleset().parse_position("4+1/3").unwrap();
    let outlook = advisor.outlook(&position).unwrap();
    assert_eq!(answer["position"], "4+1/3");
    assert_eq!(answer["percent"], json!(outlook.chance * 100.0));
    let mut luck = 0.0;
    for (found, expected) in answer["rolls"].as_array().unwrap().iter().zip(&outlook.rolls) {
        luck += found["luck_points"].as_f64().unwrap() * expected.roll.chance();
        let percents = found["moves"].as_array().unwrap().iter().map(|it| it["percent"].clone());
        let expected = expected.moves.iter().map(|it| json!(it.chance * 100.0));
        assert_eq!(percents.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
    assert!(luck.abs() < 1e-9, "{luck}");
    // One roll only; other ways to write the position.
    let one = server.get("/v1/finkel2-f64?roll=2&position=4+1/3").right();
    assert_eq!(one["rolls"], json!([answer["rolls"][2]]));
    for written in ["A1%2B1/C2", "%204%20%2B%201%20%2F%203", "1d2xx2/8/l3xx2%20l%200%201%201%200"] {
        let same = server.get(&format!("/v1/finkel2-f64?position={written}"));
        assert_eq!(same.right(), answer, "{written}");
    }
}

#[test]
fn what_is_wrong_is_said_with_the_character() {
    let server = Server::usual();
    for (path, status, part, found) in [
        ("/v1/finkel2-f64?position=4,x/3", 400, "`x` is not a path position", ("character", 3)),
        ("/v1/finkel2-f64?position=4/3/2", 400, "write own/opponent", ("character", 4)),
        ("/v1/finkel2-f64?position=8/8", 400, "stand on the same square", ("character", 3)),
        ("/v1/finkel2-f64?position=%C3%A4,15/-", 400, "`ä` is not", ("character", 1)),
        ("/v1/finkel2-f64?position=-+2/-", 400, "is decided", ("character", 1)),
    ] {
        let error = server.get(path).wrong(status);
        assert!(error["message"].as_str().unwrap().contains(part), "{path}: {error}");
        assert_eq!(error[found.0], found.1, "{path}: {error}");
    }
    for (path, status, part) in [
        ("/v1/finkel2-f64", 400, "there is no position"),
        ("/v1/finkel2-f64?position=start&roll=7", 400, "never show `7`"),
        ("/v1/finkel2-f64?position=start&roll=two", 400, "never show `two`"),
        ("/v1/finkel2-f64?position=start&position=start", 400, "comes twice"),
        ("/v1/finkel2-f64?positon=start", 400, "no parameter `positon`"),
        ("/v1/finkel2-f64/mainline?rolls=501", 400, "no number from 1 to 500"),
        ("/v1/finkel2-f64/mainline?rolls=-1", 400, "no number from 1 to 500"),
        ("/v1/finkel-9?position=start", 404, "no table `finkel-9`"),
        ("/v1/%3Cscript%3E?position=start", 404, "no table `<script>`"),
        ("/v1/finkel-9/mainline", 404, "no table `finkel-9`"),
        ("/v1/%ff?position=start", 400, "UTF-8"),
        ("/v1", 404, "no such page"),
        ("/v1/tables/", 404, "no such page"),
        ("/nothing", 404, "no such page"),
    ] {
        let error = server.get(path).wrong(status);
        assert!(error["message"].as_str().unwrap().contains(part), "{path}: {error}");
    }
    for (method, path) in
        [("DELETE", "/v1/tables"), ("PUT", "/v1/finkel2-f64"), ("GET", "/v1/review")]
    {
        server.ask(method, path, "", b"").wrong(405);
    }
}

#[test]
fn wrong_bodies_are_refused_with_their_place() {
    let server = Server::usual();
    let many = |count: usize, more: &str| {
        format!(r#"{{"positions": [{}]{more}}}"#, vec!["\"start\""; count].join(","))
    };
    for (body, status, part) in [
        ("", 400, "EOF"),
        ("[]", 400, "not as it should be"),
        ("{\"positions\":\n [\"start\", 3]}", 400, "line 2 column 12"),
        (r#"{"positions": ["start"], "rolls": 2}"#, 400, "unknown field `rolls`"),
        (r#"{"positions": ["start"], "roll": 2}"#, 400, "not asked for"),
        (r#"{"positions": ["start"], "moves": true, "roll": 9}"#, 400, "never show `9`"),
        (r#"{"positions": ["start"], "moves": true, "roll": 300}"#, 400, "300"),
        (r#"{"positions": ["-+2/-"], "moves": true}"#, 400, "is decided"),
        (&many(10_001, ""), 413, "10001 positions are too many"),
        (&many(1_001, r#", "moves": true"#), 413, "1001 positions with their moves"),
        (&many(700_000, ""), 413, "too long a body"),
    ] {
        let error = server.post("/v1/finkel2-f64", body).wrong(status);
        assert!(error["message"].as_str().unwrap().contains(part), "{part}: {error}");
    }
    let error = server.post("/v1/finkel2-f64", r#"{"positions": ["start", "4/4", "1,1/-"]}"#);
    let error = error.wrong(400);
    assert_eq!((&error["item"], &error["character"]), (&json!(2), &json!(3)), "{error}");
    server.post("/v1/finkel-9", "{}").wrong(404);
    let error = server.post("/v1/review?table=finkel2-f64", "1. A@A1 * A@B9").wrong(400);
    assert_eq!((&error["line"], &error["column"]), (&json!(1), &json!(11)), "{error}");
    server.post("/v1/review?table=finkel-9", "").wrong(404);
    server.post("/v1/review?tabel=finkel-9", "").wrong(400);
    let error = server.post("/v1/review", b"\xff").wrong(400);
    assert!(error["message"].as_str().unwrap().contains("UTF-8"), "{error}");
}

#[test]
fn many_positions_are_answered_in_order() {
    let server = Server::usual();
    let advisor = Advisor::open(&data("finkel2-f64.rgu")).unwrap();
    let encoding = advisor.table().encoding();
    let mut dice = SeededDice::new(59);
    let tiers = encoding.tiers();
    let positions: Vec<_> = (0..10_000)
        .map(|_| {
            let tier = tiers[(dice.next_bits() % tiers.len() as u64) as usize];
            let offset = dice.next_bits() % encoding.tier_len(tier);
            encoding.unrank(Index { tier, offset })
        })
        .collect();
    let texts = positions.iter().map(|it| advisor.ruleset().format_position(it));
    let texts: Vec<String> = texts.collect();
    let answer = server.post("/v1/finkel2-f64", json!({"positions": texts}).to_string()).right();
    let answers = answer["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 10_000);
    for ((found, text), chance) in
        answers.iter().zip(&texts).zip(advisor.values(&positions).unwrap())
    {
        assert_eq!(found, &json!({"position": text, "percent": chance * 100.0}));
    }
    // With moves, each is what it is alone.
    let some = &texts[..1000];
    let asked = json!({"positions": some, "moves": true, "roll": 3}).to_string();
    let answer = server.post("/v1/finkel2-f64", asked).right();
    for (found, text) in answer["answers"].as_array().unwrap().iter().zip(some).step_by(100) {
        let alone = server.get(&format!("/v1/finkel2-f64?position={text}&roll=3")).right();
        assert_eq!(found["rolls"], alone["rolls"]);
        assert_eq!(found["percent"], alone["percent"]);
    }
}

#[test]
fn a_main_line_is_a_line() {
    let server = Server::usual();
    let line = server.get("/v1/finkel2-f64/mainline").right();
    let steps = line["steps"].as_array().unwrap();
    assert_eq!((&line["position"], &steps[0]["position"]), (&json!("-/-"), &json!("-/-")));
    assert!(steps.len() > 5 && line["won"] == true, "{line}");
    let some = server.get("/v1/finkel2-f64/mainline?rolls=3").right();
    assert_eq!(some["steps"].as_array().unwrap()[..], steps[..3]);
    assert_eq!(some["won"], false);
}

#[test]
fn a_record_is_judged_by_the_table_of_its_rules() {
    let server = Server::usual();
    let record = std::fs::read_to_string(data("games/finkel2-0.rgn")).unwrap();
    let named = server.post("/v1/review?table=finkel2-f64", &record).right();
    let count = named["actions"].as_array().unwrap().len();
    assert!(count > 10);
    assert_eq!(named["states"].as_array().unwrap().len(), count + 1);
    assert_eq!(
        named["ledger"]["result_percent"],
        json!(if named["end_player"] == "light" { 100.0 } else { 0.0 })
    );
    // The rules are in the record, or the only table is taken.
    assert_eq!(server.post("/v1/review", &record).right(), named);
    let only = Server::start(&[data("finkel2-f64.rgu")], Options::default());
    assert_eq!(only.post("/v1/review", &record).right(), named);
    // Another table has other rules.
    server.post("/v1/review?table=masters1-f64", &record).wrong(400);
    let other = std::fs::read(data("games/aseb-0.rgn")).unwrap();
    let error = server.post("/v1/review", other).wrong(400);
    assert!(error["help"].as_str().unwrap().contains("finkel2-f64"), "{error}");
}

#[test]
fn an_answer_that_is_known_is_not_sent_again() {
    let server = Server::usual();
    for path in [
        "/v1/finkel1-f64-version1?position=start",
        "/v1/masters1-f64/mainline",
        "/",
        "/assets/dom.js",
    ] {
        let first = server.get(path);
        let tag = first.header("etag").unwrap().to_owned();
        for known in [&tag, &format!("\"x\", W/{tag}"), "*"] {
            let again = server.ask("GET", path, &format!("If-None-Match: {known}\r\n"), b"");
            assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
            assert_eq!(again.header("etag"), Some(&*tag));
        }
        let other = server.ask("GET", path, "If-None-Match: \"x\"\r\n", b"");
        assert_eq!(other.body, first.body);
    }
    // Tables have tags of their own.
    let tags = ["finkel2-f64", "masters1-f64", "finkel1-f64-version1"].map(|name| {
        server.get(&format!("/v1/{name}?position=start")).header("etag").map(str::to_owned)
    });
    assert_eq!(tags.iter().collect::<BTreeSet<_>>().len(), 3);
    // A wrong question is wrong, known or not.
    server.ask("GET", "/v1/finkel2-f64?position=x", "If-None-Match: *\r\n", b"").wrong(400);
}

#[test]
fn a_thousand_damaged_requests_do_no_harm() {
    let server = Server::usual();
    let record = std::fs::read_to_string(data("games/finkel2-0.rgn")).unwrap();
    let host = format!("Host: {}\r\nConnection: close", server.address);
    let post = |path: &str, body: &str| {
        format!("POST {path} HTTP/1.1\r\n{host}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let requests = [
        format!("GET /v1/tables HTTP/1.1\r\n{host}\r\n\r\n"),
        format!("GET /v1/finkel2-f64?position=4%2B1/3&roll=2 HTTP/1.1\r\n{host}\r\n\r\n"),
        format!("GET /v1/masters1-f64/mainline?rolls=9 HTTP/1.1\r\n{host}\r\n\r\n"),
        post("/v1/finkel2-f64", r#"{"positions": ["start", "4+1/3"], "moves": true, "roll": 2}"#),
        post("/v1/review?table=finkel2-f64", &record),
    ];
    let mut random = SeededDice::new(1059);
    let mut below = |end: usize| (random.next_bits() % end as u64) as usize;
    let mut statuses = BTreeSet::new();
    for count in 0..1000 {
        let mut bytes = requests[count % requests.len()].clone().into_bytes();
        for _ in 0..1 + below(4) {
            let at = below(bytes.len());
            match below(4) {
                0 => bytes[at] ^= 1 << below(8),
                1 => bytes[at] = below(256) as u8,
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, below(256) as u8),
            }
        }
        // A body that is shorter than it is said to be would be waited for.
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        if answer.starts_with(b"HTTP/1.1 ") {
            let answer = Answer::parse(&answer);
            assert!(answer.status < 500, "{:?}: {answer:?}", String::from_utf8_lossy(&bytes));
            if answer.status >= 400 && !answer.body.is_empty() {
                answer.wrong(answer.status);
            }
            statuses.insert(answer.status);
        }
    }
    assert!(statuses.is_superset(&BTreeSet::from([200, 400, 404])), "{statuses:?}");
    server.get("/v1/finkel2-f64?position=start").right();
}

#[test]
fn slow_clients_are_given_up_and_others_do_not_wait_for_them() {
    let mut options = Options { request_timeout: Duration::from_millis(800), ..Options::default() };
    options.connections.header_timeout = Duration::from_millis(800);
    let server = Server::start(&tables(), options);
    let host = server.address;
    let slow = |request: String| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let begun = Instant::now();
    let mut head = slow(format!("GET /v1/tables HTTP/1.1\r\nHost: {host}\r\n"));
    let mut body = slow(format!(
        "POST /v1/finkel2-f64 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n{{"
    ));
    let mut idle = slow(String::new());
    server.get("/v1/finkel2-f64?position=start").right();
    let mut answer = Vec::new();
    body.read_to_end(&mut answer).unwrap();
    let error = Answer::parse(&answer).wrong(408);
    assert!(error["message"].as_str().unwrap().contains("0.8 seconds"), "{error}");
    for stream in [&mut head, &mut idle] {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(700) && took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn of_too_many_connections_the_oldest_is_closed() {
    let mut options = Options::default();
    options.connections.connections = 4;
    let server = Server::start(&tables(), options);
    let mut streams: Vec<_> = (0..8).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    server.get("/v1/tables").right();
    streams[0].set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(matches!(streams[0].read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn a_token_protects_all_that_is_not_a_file_of_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "0123456789abcdef\nfedcba9876543210\n").unwrap();
    let Security::Token(token) = Security::from_token_file(&file).unwrap() else { panic!() };
    let server = Server::start(&tables(), Options { token: Some(token), ..Options::default() });
    let secret = [
        "/v1/tables",
        "/v1/finkel2-f64?position=start",
        "/v1/finkel2-f64/mainline",
        "/v1/x",
        "/metrics",
    ];
    for path in secret {
        let answer = server.get(path);
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{path}");
        let told = answer.wrong(401).to_string();
        assert!(!told.contains("finkel2") && told.contains("there is no token"), "{told}");
        for wrong in
            ["Bearer 0123456789abcdeg", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef"]
        {
            server.ask("GET", path, &format!("Authorization: {wrong}\r\n"), b"").wrong(401);
        }
    }
    server.post("/v1/finkel2-f64", "{").wrong(401);
    server.post("/v1/review", "").wrong(401);
    for right in ["0123456789abcdef", "fedcba9876543210"] {
        let header = format!("Authorization: Bearer {right}\r\n");
        server.ask("GET", "/v1/tables", &header, b"").right();
        assert_eq!(server.ask("GET", "/metrics", &header, b"").status, 200);
    }
    for open in ["/", "/assets/explorer.js", "/healthz", "/readyz", "/openapi.json"] {
        let answer = server.get(open);
        assert_eq!(answer.status, 200, "{open}");
        assert!(!answer.text().contains("finkel2"), "{open}");
    }
}

#[test]
fn beyond_this_machine_there_is_a_token_or_a_wish() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bind = |address: &str, insecure: bool| {
        let options = Options { insecure, ..Options::default() };
        runtime.block_on(server::bind(address.parse().unwrap(), &options)).map(drop)
    };
    let refused = bind("0.0.0.0:0", false).unwrap_err().to_string();
    assert!(refused.contains("--token-file") && refused.contains("--insecure"), "{refused}");
    bind("0.0.0.0:0", true).unwrap();
    bind("127.0.0.1:0", false).unwrap();
    bind("[::ffff:127.0.0.1]:0", false).unwrap();
}

#[test]
fn names_and_pages_of_strangers_are_refused() {
    let server = Server::usual();
    let port = server.address.port();
    let with = |host: &str, more: &str| {
        let request =
            format!("GET /v1/tables HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n");
        Answer::parse(&server.raw(request.as_bytes())).status
    };
    for own in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), "[::1]".to_owned()] {
        assert_eq!(with(&own, ""), 200, "{own}");
    }
    for stranger in ["example.org", "127.0.0.1.example.org", "localhost.example.org", "", "a b"] {
        assert!([400, 403].contains(&with(stranger, "")), "{stranger}");
    }
    // What changes nothing may be asked from anywhere, and is not read there.
    let read = server.ask("GET", "/v1/tables", "Origin: https://example.org\r\n", b"");
    assert_eq!((read.status, read.header("access-control-allow-origin")), (200, None));
    let body = br#"{"positions": ["start"]}"#;
    for stranger in ["https://example.org", "null", "http://127.0.0.1:1"] {
        let header = format!("Origin: {stranger}\r\n");
        server.ask("POST", "/v1/finkel2-f64", &header, body).wrong(403);
    }
    let own = format!("Origin: http://{}\r\n", server.address);
    server.ask("POST", "/v1/finkel2-f64", &own, body).right();
}

#[test]
fn other_origins_are_let_in_by_name() {
    let mut cors = Cors::default();
    cors.add("https://example.org").unwrap();
    let server = Server::start(&tables(), Options { cors, ..Options::default() });
    let body = br#"{"positions": ["start"]}"#;
    let asked = server.ask("POST", "/v1/finkel2-f64", "Origin: https://example.org\r\n", body);
    asked.right();
    assert_eq!(asked.header("access-control-allow-origin"), Some("https://example.org"));
    let first = "Origin: https://example.org\r\nAccess-Control-Request-Method: POST\r\n";
    let first = server.ask("OPTIONS", "/v1/finkel2-f64", first, b"");
    assert_eq!(first.status, 204);
    assert!(first.header("access-control-allow-headers").unwrap().contains("authorization"));
    let other = server.ask("GET", "/v1/tables", "Origin: https://example.com\r\n", b"");
    assert_eq!((other.status, other.header("access-control-allow-origin")), (200, None));
    assert!(other.headers.to_lowercase().contains("vary: origin"));
}

#[test]
fn every_answer_tells_browsers_what_a_page_may_do() {
    let server = Server::usual();
    for path in ["/", "/assets/style.css", "/v1/tables", "/v1/nothing", "/nothing", "/metrics"] {
        let answer = server.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert!(answer.header("cache-control").is_some(), "{path}");
    }
}

#[test]
fn metrics_are_text_unless_open_metrics_is_asked_for() {
    let server = Server::usual();
    server.get("/v1/finkel2-f64?position=start").right();
    server.get("/v1/finkel2-f64?position=x").wrong(400);
    server.post("/v1/finkel2-f64", r#"{"positions": ["start", "start"]}"#).right();
    let usual = server.get("/metrics");
    assert!(usual.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let open = server.ask("GET", "/metrics", "Accept: application/openmetrics-text\r\n", b"");
    assert!(open.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    for line in [
        "ziggurat_explorer_requests_total{route=\"position\",status=\"200\"} 1\n",
        "ziggurat_explorer_requests_total{route=\"position\",status=\"400\"} 1\n",
        "ziggurat_explorer_requests_total{route=\"positions\",status=\"200\"} 1\n",
        "ziggurat_explorer_positions_total 3\n",
        "ziggurat_explorer_request_seconds_count 3\n",
    ] {
        assert!(usual.text().contains(line), "{line} {}", usual.text());
        assert!(open.text().contains(line), "{line} {}", open.text());
    }
}

#[test]
fn a_server_that_ends_gives_the_answers_under_way() {
    let mut server = Server::usual();
    let host = server.address;
    let mut stream = TcpStream::connect(host).unwrap();
    let body = r#"{"positions": ["start"]}"#;
    let length = body.len();
    let head = format!(
        "POST /v1/finkel2-f64 HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
         Expect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // It has read the head, and waits for the body.
    let mut goes_on = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut goes_on).unwrap();
    assert_eq!(&goes_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    let finish = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        Answer::parse(&answer).right()
    });
    server.end();
    assert_eq!(finish.join().unwrap()["answers"][0]["position"], "-/-");
    assert!(TcpStream::connect(host).is_err());
}

#[test]
fn tables_of_one_name_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("finkel2-f64.rgu");
    std::fs::copy(data("finkel2-f64.rgu"), &copy).unwrap();
    let error = explorer::pages(&[data("finkel2-f64.rgu"), copy], 0).unwrap_err().to_string();
    assert!(error.contains("would both be served as `finkel2-f64`; rename one"), "{error}");
    let error = explorer::pages(&[data("README.md")], 0).unwrap_err().to_string();
    assert!(error.contains("is not a table"), "{error}");
}

#[test]
fn a_damaged_table_is_an_error_of_the_server_that_tells_no_paths() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("damaged.zgt");
    let mut bytes = std::fs::read(data("finkel1-f64-version1.zgt")).unwrap();
    // A byte of the values, which are under a checksum of their own.
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let server = Server::start(&[file], Options::default());
    let error = server.get("/v1/damaged?position=start").wrong(500);
    assert_eq!(error["message"], "the table cannot be read");
    assert!(!error.to_string().contains("damaged.zgt"), "{error}");
}

#[test]
fn names_of_files_are_data() {
    let directory = tempfile::tempdir().unwrap();
    let name = "<script>alert(1)<\u{2215}script>\u{202e}\"' %2F?#";
    let file = directory.path().join(format!("{name}.rgu"));
    std::fs::copy(data("finkel2-f64.rgu"), &file).unwrap();
    let server = Server::start(&[file], Options::default());
    assert_eq!(server.get("/v1/tables").right()["tables"][0]["name"], name);
    let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let answer = server.get(&format!("/v1/{encoded}?position=start")).right();
    assert_eq!(answer["table"], name);
}
