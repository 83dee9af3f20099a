//! Conversations with clients that are right, wrong and hostile.

use super::*;

/// What a client computes: the message with its proof, and the signature that it expects of the server.
fn client(password: &str, client_first_bare: &str, server_first: &str, channel: &[u8]) -> (String, String) {
    let salt = server_first.split(",s=").nth(1).unwrap().split(',').next().unwrap();
    let iterations: u32 = server_first.split(",i=").nth(1).unwrap().parse().unwrap();
    let nonce = server_first.strip_prefix("r=").unwrap().split(',').next().unwrap();
    let salt = BASE64.decode(salt).unwrap();
    let salted: Key =
        pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(prepared(password).as_bytes(), &salt, iterations);
    let client_key = hmac(&salted, &[b"Client Key"]);
    let stored: Key = Sha256::digest(client_key).into();
    let without_proof = format!("c={},r={nonce}", BASE64.encode(channel));
    let all = format!("{client_first_bare},{server_first},{without_proof}");
    let signature = hmac(&stored, &[all.as_bytes()]);
    let proof: Vec<u8> = client_key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
    let server = hmac(&hmac(&salted, &[b"Server Key"]), &[all.as_bytes()]);
    (format!("{without_proof},p={}", BASE64.encode(proof)), format!("v={}", BASE64.encode(server)))
}

#[test]
fn the_conversation_of_the_standard() {
    // RFC 7677, section 3.
    let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    let verifier = Verifier::salted("pencil", &salt, 4096);
    let (exchange, first) = Exchange::begin_with(
        verifier,
        MECHANISM,
        &ChannelBinding::None,
        b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
    )
    .unwrap();
    assert_eq!(
        first,
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    );
    let last = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
    assert_eq!(exchange.finish(last, "user").unwrap(), "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

#[test]
fn verifiers_are_stored_and_read() {
    // As a PostgreSQL 15 stored two passwords.
    for (stored, password) in [
        (
            "SCRAM-SHA-256$4096:4pVYMSodHNDrOXjModhngw==$Q/i/0sx4wvVP8wg+AGRLp1YDoxaKnI2nk/lqps98isg=:nmQOpu+SQcME83DzpYgTa0MBjpnxYYDYJKnesXMxfi8=",
            "pencil",
        ),
        (
            "SCRAM-SHA-256$4096:1W7qRzRGb+yqQDqL33f4Tg==$jHLZsab4ETFvpLvRXnHxIqj0Lw/c4yADxv5Ld3yjuK8=:UmmAVhmqtftsx0KoJlu7ox8ALz11ZBtm2pBpZz/eX4U=",
            "\u{2168} pass",
        ),
    ] {
        let verifier = Verifier::parse(stored).unwrap();
        assert!(verifier.matches(password) && !verifier.matches("other"));
        assert_eq!(verifier.to_string(), stored);
    }
    let verifier = Verifier::of_password("pencil", ITERATIONS).unwrap();
    let stored = verifier.to_string();
    assert!(Verifier::parse(&stored).unwrap() == verifier);
    assert!(
        verifier.matches("pencil")
            && !verifier.matches("Pencil")
            && !verifier.clone().doomed().matches("pencil")
    );
    assert!(!format!("{verifier:?}").contains(&stored[30..60]));
    // Two of one password share no salt.
    assert_ne!(stored, Verifier::of_password("pencil", ITERATIONS).unwrap().to_string());
    let keys = &stored[stored.rfind('$').unwrap()..];
    for wrong in [
        "",
        "md5abc",
        "SCRAM-SHA-256$4096",
        &format!("SCRAM-SHA-256$0:c2FsdA=={keys}"),
        &format!("SCRAM-SHA-256$+5:c2FsdA=={keys}"),
        &format!("SCRAM-SHA-256$99999999999:c2FsdA=={keys}"),
        &format!("SCRAM-SHA-256$1000001:c2FsdA=={keys}"),
        &format!("SCRAM-SHA-256$4096:{keys}"),
        &format!("SCRAM-SHA-256$4096:c2FsdA=={keys}x"),
        "SCRAM-SHA-256$4096:c2FsdA==$YQ==:YQ==",
    ] {
        assert_eq!(Verifier::parse(wrong).unwrap_err().state(), SqlState::InvalidParameterValue, "{wrong}");
    }
}

#[test]
fn passwords_are_prepared() {
    // RFC 4013: a soft hyphen is nothing, a Roman nine is its letters; what has no form stays.
    assert_eq!(
        (prepared("I\u{AD}X"), prepared("\u{2168}"), prepared("\u{7}")),
        ("IX".into(), "IX".into(), "\u{7}".into())
    );
    assert!(Verifier::of_password("\u{2168}", 2).unwrap().matches("IX"));
}

#[test]
fn wrong_passwords_and_unknown_users_fail_alike() {
    let secret = [7; 32];
    let begin = |verifier: Verifier| {
        Exchange::begin(verifier, MECHANISM, &ChannelBinding::None, b"n,,n=,r=abc").unwrap()
    };
    let verifier = Verifier::of_password("right", 10).unwrap();
    let (exchange, first) = begin(verifier.clone());
    let (last, expected) = client("right", "n=,r=abc", &first, b"n,,");
    assert_eq!(exchange.finish(last.as_bytes(), "me").unwrap(), expected);
    for doomed in [verifier.clone(), verifier.doomed(), Verifier::of_unknown_user("me", &secret, 10)] {
        let (exchange, first) = begin(doomed);
        let (last, _) = client("wrong", "n=,r=abc", &first, b"n,,");
        let error = exchange.finish(last.as_bytes(), "me").unwrap_err();
        assert_eq!(error.state(), SqlState::InvalidPassword);
        assert_eq!(error.message(), "password authentication failed for user \"me\"");
    }
    // A doomed verifier refuses the right proof, too; an unknown user has one salt.
    let right = Verifier::of_password("right", 10).unwrap().doomed();
    let (exchange, first) = begin(right);
    let (last, _) = client("right", "n=,r=abc", &first, b"n,,");
    assert!(exchange.finish(last.as_bytes(), "me").is_err());
    let salt = |user: &str| Verifier::of_unknown_user(user, &secret, 10).salt;
    assert!(salt("a") == salt("a") && salt("a") != salt("b"));
}

#[test]
fn the_channel_is_bound() {
    let tls = ChannelBinding::ServerEndPoint(vec![1, 2, 3]);
    assert_eq!(tls.mechanisms(), [MECHANISM_PLUS, MECHANISM]);
    let verifier = Verifier::of_password("x", 10).unwrap();
    let head = "p=tls-server-end-point,,";
    let first_message = format!("{head}n=,r=abc");
    let run = |channel: &[u8]| {
        let (exchange, first) =
            Exchange::begin(verifier.clone(), MECHANISM_PLUS, &tls, first_message.as_bytes()).unwrap();
        let channel = [head.as_bytes(), channel].concat();
        exchange
            .finish(client("x", "n=,r=abc", &first, &channel).0.as_bytes(), "me")
            .map_err(|error| error.state())
    };
    assert!(run(&[1, 2, 3]).is_ok());
    assert_eq!(run(&[1, 2, 4]).unwrap_err(), SqlState::InvalidAuthorization);
    let begin = |mechanism: &str, binding: &ChannelBinding, first: &str| {
        Exchange::begin(verifier.clone(), mechanism, binding, first.as_bytes())
            .map(|_| ())
            .map_err(|e| e.state())
    };
    assert!(begin(MECHANISM, &tls, "n,,n=,r=abc").is_ok());
    assert!(begin(MECHANISM, &ChannelBinding::None, "y,,n=,r=abc").is_ok());
    // A downgrade, and bindings that do not go with their mechanism.
    assert_eq!(begin(MECHANISM, &tls, "y,,n=,r=abc"), Err(SqlState::InvalidAuthorization));
    for (mechanism, binding, first) in [
        (MECHANISM_PLUS, &tls, "n,,n=,r=abc"),
        (MECHANISM_PLUS, &tls, "p=tls-unique,,n=,r=abc"),
        (MECHANISM, &tls, "p=tls-server-end-point,,n=,r=abc"),
        (MECHANISM_PLUS, &ChannelBinding::None, "p=tls-server-end-point,,n=,r=abc"),
        ("SCRAM-SHA-1", &tls, "n,,n=,r=abc"),
    ] {
        assert_eq!(begin(mechanism, binding, first), Err(SqlState::ProtocolViolation), "{first}");
    }
}

#[test]
fn messages_are_parsed_strictly() {
    let verifier = Verifier::of_password("x", 10).unwrap();
    let begin = |first: &[u8]| Exchange::begin(verifier.clone(), MECHANISM, &ChannelBinding::None, first);
    let long = format!("n,,n=,r={}", "a".repeat(MESSAGE_BYTES_MAX));
    for wrong in [
        &b""[..],
        b"n",
        b"n,",
        b"n,,",
        b"x,,n=,r=abc",
        b"n,a=me,n=,r=abc",
        b"n,,m=ext,n=,r=abc",
        b"n,,r=abc",
        b"n,,n=",
        b"n,,n=,r=",
        b"n,,n=,r=a\x7f",
        b"n,,n=,r=abc,",
        b"n,,n=,r=abc,xy",
        b"n,,n=,r=abc\0",
        b"n,,n=\xff,r=abc",
        long.as_bytes(),
    ] {
        let state = begin(wrong).map(|_| ()).unwrap_err().state();
        assert!(matches!(state, SqlState::ProtocolViolation | SqlState::FeatureNotSupported), "{wrong:?}");
    }
    assert!(begin(b"n,,n=me,r=abc,x=1").is_ok());
    let finish = |change: &dyn Fn(&str) -> String| {
        let (exchange, first) = begin(b"n,,n=,r=abc").unwrap();
        let (last, _) = client("x", "n=,r=abc", &first, b"n,,");
        exchange.finish(change(&last).as_bytes(), "me").map_err(|error| error.state())
    };
    assert!(finish(&|last| last.to_owned()).is_ok());
    for change in [
        &(|last: &str| format!("{last}x")) as &dyn Fn(&str) -> String,
        &|last| format!("{last},x=1"),
        &|last| last.replace("r=abc", "r=abd"),
        &|last| last.replace(",p=", ",q="),
        &|last| last.replace(",p=", ",p=AAAA,p="),
        &|last| last.replace("c=biws", "c=eSws"),
        &|last| last.replace("c=biws", "c=*"),
        &|last| last[..last.len() - 5].to_owned(),
        &|last| last.split(",p=").next().unwrap().to_owned(),
        &|last| last.replace(",p=", ",x=1,p="),
        &|_| String::new(),
    ] {
        assert!(finish(change).is_err());
    }
}
