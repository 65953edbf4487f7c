//! The provisioners `file` and `remote-exec`, against an SSH server on loopback.

use crate::demo::{Work, text};
use crate::ssh_server::{Server, key, private_text, public_text};
use std::sync::atomic::Ordering;

/// A configuration with one object whose provisioners reach the server; `more` goes into the connection.
fn work(server: &Server, more: &str, provisioners: &str) -> Work {
    let work = Work::new(&format!(
        r#"variable "secret" {{
  default   = "hush"
  sensitive = true
}}
resource "terraform_data" "a" {{
  input = "in"
  connection {{
    host        = "127.0.0.1"
    port        = {}
    private_key = file("key")
    script_path = "script-%RAND%"
    timeout     = "2s"
    {more}
  }}
  {provisioners}
}}
"#,
        server.port
    ));
    work.write("key", &private_text(&key(2)));
    work.write("other", &private_text(&key(3)));
    work
}

fn exec(body: &str) -> String {
    format!("provisioner \"remote-exec\" {{\n{body}\n}}\n")
}

/// Applies; gives whether it went well, and all that was printed in one line.
fn apply(work: &Work, command: &str) -> (bool, String) {
    let out = work.run(&[command, "-auto-approve"]);
    let all = text(&out.stdout) + &text(&out.stderr);
    (out.status.success(), all.replace("│", " ").split_whitespace().collect::<Vec<_>>().join(" "))
}

fn is_tainted(work: &Work) -> bool {
    work.read("terraform.tfstate").contains("\"tainted\"")
}

#[test]
fn files_and_directories_arrive_and_scripts_run() {
    for sftp in [true, false] {
        let server = Server::start(sftp);
        let provisioners = r#"
  provisioner "file" {
    content     = "hello ${self.input}\n"
    destination = "greeting"
  }
  provisioner "file" {
    source      = "tree"
    destination = "there"
  }
  provisioner "file" {
    source      = "tree/"
    destination = "new/contents"
  }
  provisioner "file" {
    source      = "tree/one"
    destination = "there/"
  }
  provisioner "remote-exec" {
    inline = ["cat greeting", "echo it\\'s \"${self.input}\" >&2", "echo ran > ran"]
  }
  provisioner "remote-exec" {
    scripts = ["first.sh", "second.sh"]
  }
"#;
        let work = work(&server, &format!("host_key = {:?}", public_text(&key(1))), provisioners);
        std::fs::create_dir_all(work.path("tree/deep")).unwrap();
        work.write("tree/one", "1");
        work.write("tree/deep/two", "2");
        work.write("first.sh", "echo first\n");
        work.write("second.sh", "#!/bin/sh\necho second \"$HOME\"\n");
        std::fs::create_dir(server.path("there")).unwrap();
        let (ok, shown) = apply(&work, "apply");
        assert!(ok, "{shown}");
        assert_eq!(server.read("greeting"), "hello in\n");
        assert_eq!((server.read("there/tree/one"), server.read("there/tree/deep/two")), ("1".into(), "2".into()));
        assert_eq!((server.read("new/contents/deep/two"), server.read("there/one")), ("2".into(), "1".into()));
        assert_eq!(server.read("ran"), "ran\n");
        for line in
            ["(remote-exec): hello in", "(remote-exec): it's in", "(remote-exec): first", "(remote-exec): second /"]
        {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        let left: Vec<_> = std::fs::read_dir(server.home.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert!(!left.iter().any(|n| n.to_string_lossy().starts_with("script-")), "{left:?}");
    }
}

#[test]
fn a_script_that_fails_taints_the_object_unless_that_is_allowed() {
    let server = Server::start(true);
    let allowed = exec("inline = [\"echo before; exit 3\"]\non_failure = continue");
    let provisioners = format!("{allowed}{}{}", exec("inline = [\"exit 4\"]"), exec("inline = [\"echo never\"]"));
    let work = work(&server, "", &provisioners);
    let (ok, shown) = apply(&work, "apply");
    assert!(!ok && is_tainted(&work), "{shown}");
    assert!(shown.contains("(remote-exec): before") && !shown.contains("never"), "{shown}");
    assert!(
        shown.contains("Warning: remote-exec provisioner error") && shown.contains("ended with exit status 3"),
        "{shown}"
    );
    assert!(
        shown.contains("Error: remote-exec provisioner error") && shown.contains("ended with exit status 4"),
        "{shown}"
    );
}

#[test]
fn secrets_do_not_show_in_the_output() {
    let server = Server::start(true);
    let work = work(&server, "", &exec("inline = [\"echo ${var.secret} | tee told\", \"exit 1\"]"));
    let (ok, shown) = apply(&work, "apply");
    assert!(!ok && shown.contains("output suppressed") && !shown.contains("hush"), "{shown}");
    assert_eq!(server.read("told"), "hush\n");
}

#[test]
fn another_host_key_ends_it_at_once() {
    let server = Server::start(true);
    let work = work(&server, &format!("host_key = {:?}", public_text(&key(3))), &exec("inline = [\"echo ran > ran\"]"));
    let (ok, shown) = apply(&work, "apply");
    assert!(!ok && shown.contains("shows another key (SHA256:"), "{shown}");
    assert!(is_tainted(&work) && !server.path("ran").exists());
}

#[test]
fn a_host_that_does_not_let_us_in_is_asked_until_the_time_is_up() {
    let server = Server::start(true);
    let command = exec("inline = [\"echo ran\"]");
    for (more, replaced, problem) in [
        ("", "file(\"key\") => file(\"other\")", "does not accept the login as \"root\" (tried: private key)"),
        ("password = \"wrong\"", "file(\"key\") => null", "does not accept the login as \"root\" (tried: password)"),
        ("", "file(\"key\") => \"nonsense\"", "\"private_key\" holds no private key"),
        ("type = \"winrm\"", " => ", "Connections of type \"winrm\" are not supported"),
    ] {
        let work = work(&server, more, &command);
        let (from, to) = replaced.split_once(" => ").unwrap();
        work.write("main.tf", &work.read("main.tf").replacen(from, to, 1));
        let (ok, shown) = apply(&work, "apply");
        assert!(!ok && shown.contains(problem) && is_tainted(&work), "{problem}: {shown}");
    }
    let work = work(&server, "user = \"me\"\npassword = \"open\"", &command);
    work.write("main.tf", &work.read("main.tf").replace("file(\"key\")", "null"));
    assert!(apply(&work, "apply").0);
    let port = server.port;
    drop(server);
    let (ok, shown) = apply(&work, "destroy");
    assert!(ok, "{shown}");
    let (ok, shown) = apply(&work, "apply");
    assert!(!ok && shown.contains(&format!("127.0.0.1:{port} could not be reached within 2s")), "{shown}");
    assert!(shown.contains("Connection refused"), "{shown}");
}

#[test]
fn a_bastion_host_passes_the_connection_on() {
    let (bastion, server) = (Server::start(false), Server::start(true));
    let more = format!(
        "bastion_host = \"127.0.0.1\"\nbastion_port = {}\nbastion_host_key = {:?}",
        bastion.port,
        public_text(&key(1))
    );
    let work = work(&server, &more, &exec("inline = [\"echo through\"]"));
    let (ok, shown) = apply(&work, "apply");
    assert!(ok && shown.contains("(remote-exec): through"), "{shown}");
    assert_eq!(bastion.tunnels.load(Ordering::SeqCst), 1);
    assert_eq!((bastion.commands.load(Ordering::SeqCst), server.commands.load(Ordering::SeqCst)), (0, 1));
}

#[test]
fn provisioners_for_destruction_run_before_it() {
    let server = Server::start(true);
    let work = work(&server, "", &exec("when = destroy\ninline = [\"echo bye ${self.input} > bye\"]"));
    assert!(apply(&work, "apply").0 && !server.path("bye").exists());
    let (ok, shown) = apply(&work, "destroy");
    assert!(ok, "{shown}");
    assert_eq!(server.read("bye"), "bye in\n");
}

#[test]
fn what_is_written_wrongly_is_found_by_validation() {
    let server = Server::start(true);
    for (body, problem) in [
        ("provisioner \"file\" {\n destination = \"x\"\n}", "Must provide one of 'source' or 'content'"),
        ("provisioner \"file\" {\n destination = \"x\"\n source = \"a\"\n content = \"b\"\n}", "Cannot set both"),
        ("provisioner \"remote-exec\" {\n}", "Invalid remote-exec provisioner configuration"),
        ("provisioner \"remote-exec\" {\n inline = [\"a\"]\n connection {\n  foo = 1\n }\n}", "Unsupported argument"),
        ("provisioner \"other\" {\n}", "There is no provisioner \"other\""),
    ] {
        let work = work(&server, "", body);
        let errors = work.fails(&["validate"]);
        assert!(errors.contains(problem), "{problem}: {errors}");
    }
}
