//! What is listened on, and what is refused before anybody connects.

use std::{fs, time::Duration};

use ziggurat_rpc::{Holder, Role, RpcError, Security, bind, connect, connect_now, is_address};

fn token(text: &str) -> Result<Security, RpcError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    Security::from_token_file(file.path())
}

#[test]
fn nobody_listens_to_strangers_by_accident() {
    let everywhere = ["0.0.0.0:0", "[::]:0"].map(|address| address.parse().unwrap());
    for address in everywhere {
        let refused = bind(address, &Security::Open, false).unwrap_err();
        assert!(matches!(refused, RpcError::Exposed { .. }));
        for remedy in ["--token-file", "--tls-ca", "--insecure", "127.0.0.1"] {
            assert!(refused.to_string().contains(remedy), "{refused}");
        }
    }
    assert!(bind(everywhere[0], &Security::Open, true).is_ok());
    assert!(bind(everywhere[0], &token("0123456789abcdef").unwrap(), false).is_ok());
    for loopback in ["127.0.0.1:0", "127.3.2.1:0"] {
        let bound = bind(loopback.parse().unwrap(), &Security::Open, false).unwrap();
        assert_ne!(bound.address().port(), 0);
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let first = bind("127.0.0.1:0".parse().unwrap(), &Security::Open, false).unwrap();
    let refused = bind(first.address(), &Security::Open, false).unwrap_err();
    assert!(refused.to_string().contains(&first.address().to_string()), "{refused}");
}

#[test]
fn a_token_is_the_same_however_an_editor_saved_it() {
    for saved in ["0123456789abcdef\n", "\u{feff}0123456789abcdef\r\n", "  0123456789abcdef "] {
        assert!(token(saved).is_ok(), "{saved:?}");
    }
}

#[test]
fn tokens_that_can_be_guessed_or_not_be_sent_are_refused() {
    for bad in ["", "0123456789abcde", "with a space in the middle", "no-ascii-at-all-ääääääää"]
    {
        let refused = token(bad).unwrap_err().to_string();
        assert!(refused.contains("openssl rand"), "{refused}");
        assert!(bad.is_empty() || !refused.contains(bad), "a secret in an error: {refused}");
    }
    let long = format!("read {} 0123456789abcdef", "n".repeat(33));
    for bad in [
        "0123456789abcdef\nreed 0123456789abcdeg",
        "0123456789abcdef\nread anu 0123456789abcde",
        "0123456789abcdef\nread anu enki 0123456789abcdeg",
        "0123456789abcdef\nread anü 0123456789abcdeg",
        &format!("0123456789abcdef\n{long}"),
        "0123456789abcdef\nread 0123456789abcdef",
    ] {
        let refused = token(bad).unwrap_err().to_string();
        assert!(refused.contains("line 2 ") && !refused.contains("01234"), "{bad}: {refused}");
    }
    let good = token("  0123456789abcdef\n").unwrap();
    assert!(!format!("{good:?}").contains("0123"));
}

#[test]
fn a_line_may_say_what_a_token_is_good_for_and_whose_it_is() {
    let lines = "0123456789abcdef\n\n read  0123456789abcdeg\r\nsubmit\tanu 0123456789abcdeh\n";
    let Security::Token(token) = token(lines).unwrap() else { panic!("it is a token") };
    let holder = |last: char| token.holder(format!("Bearer 0123456789abcde{last}").as_bytes());
    let expected = |role, name: &str| Some(Holder { role, name: name.to_owned() });
    assert_eq!(holder('f'), expected(Role::All, ""));
    assert_eq!(holder('g'), expected(Role::Read, ""));
    assert_eq!(holder('h'), expected(Role::Submit, "anu"));
    assert_eq!(holder('i'), None);
}

#[test]
fn addresses_are_a_host_and_a_port() {
    for good in ["127.0.0.1:7300", "localhost:1", "[::1]:7300", "worker-0.workers.svc:7301"] {
        assert!(is_address(good), "{good}");
    }
    let bad = [
        "",
        "localhost",
        ":7300",
        "localhost:",
        "localhost:0",
        "localhost:70000",
        "a@b:1",
        "a:1/x",
    ];
    for bad in bad {
        assert!(!is_address(bad), "{bad}");
    }
}

#[tokio::test]
async fn an_address_that_nobody_answers_at_is_named() {
    let soon = Duration::from_secs(5);
    let closed = {
        let bound = bind("127.0.0.1:0".parse().unwrap(), &Security::Open, false).unwrap();
        bound.address().to_string()
    };
    let error = connect_now(&closed, &Security::Open, soon).await.unwrap_err().to_string();
    assert!(error.contains(&closed) && error.contains("refused"), "{error}");
    let error = connect("coordinator", &Security::Open, soon).unwrap_err().to_string();
    assert!(error.contains("`coordinator` is no address; write HOST:PORT"), "{error}");
}
