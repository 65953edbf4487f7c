use super::super::lock;
use super::*;
use crate::addr::{AbsProviderConfig, Module, Provider};
use crate::state::{ObjectState, OutputValue, State};
use gpuform_schema::Value;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

fn local(folder: &Path) -> Local {
    Local::new(LocalSettings { folder: folder.into(), ..LocalSettings::default() })
}

fn state(output: &str) -> State {
    let mut s = State::default();
    s.outputs.insert("o".into(), OutputValue { value: Value::string(output), sensitive: false });
    s
}

/// Writes a state with this output after what is there.
async fn write(backend: &Local, workspace: &str, output: &str) -> Snapshot {
    let before = backend.read(workspace).await.unwrap();
    let snapshot = Snapshot::next(&state(output), before.as_ref()).unwrap().expect("it differs");
    backend.write(workspace, &snapshot).await.unwrap();
    snapshot
}

fn output(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let state = file::read(&bytes, "test").unwrap()?;
    state.outputs["o"].value.as_str().map(str::to_owned)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn info() -> LockInfo {
    LockInfo::new("OperationTypeApply", "me@here")
}

#[tokio::test]
async fn a_state_is_written_with_a_growing_serial_and_one_lineage() {
    let dir = tempfile::tempdir().unwrap();
    let backend = local(dir.path());
    assert!(backend.read("default").await.unwrap().is_none());
    let first = write(&backend, "default", "a").await.stored;
    let second = write(&backend, "default", "b").await.stored;
    assert_eq!((first.state.serial, second.state.serial), (1, 2));
    assert_eq!(first.state.lineage, second.state.lineage);
    assert_eq!(backend.read("default").await.unwrap().as_ref(), Some(&second));
    assert!(Snapshot::next(&state("b"), Some(&second)).unwrap().is_none(), "nothing changed");
}

#[tokio::test]
async fn the_backup_is_the_state_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("terraform.tfstate.backup");
    write(&local(dir.path()), "default", "a").await;
    assert_eq!(names(dir.path()), ["terraform.tfstate"], "there was nothing to keep");
    let run = local(dir.path());
    write(&run, "default", "b").await;
    write(&run, "default", "c").await;
    assert_eq!(output(&backup).as_deref(), Some("a"));
    write(&local(dir.path()), "default", "d").await;
    assert_eq!(output(&backup).as_deref(), Some("c"));
}

#[tokio::test]
async fn paths_may_be_given_for_everything() {
    let dir = tempfile::tempdir().unwrap();
    let settings = |backup: &str| LocalSettings {
        folder: dir.path().into(),
        path: Some("sub/my.tfstate".into()),
        backup: Backup::option(backup),
        ..LocalSettings::default()
    };
    let (my, out) = (dir.path().join("sub/my.tfstate"), dir.path().join("out.tfstate"));
    write(&Local::new(settings("-")), "default", "a").await;
    write(&Local::new(settings("-")), "default", "b").await;
    assert_eq!(names(&dir.path().join("sub")), ["my.tfstate"]);
    write(&Local::new(settings("kept")), "default", "c").await;
    assert_eq!(output(&dir.path().join("kept")).as_deref(), Some("b"));
    // -state-out: reads one file, writes another.
    let run = Local::new(LocalSettings { state_out: Some("out.tfstate".into()), ..settings("") });
    write(&run, "default", "d").await;
    assert_eq!((output(&my).as_deref(), output(&out).as_deref()), (Some("c"), Some("d")));
    // -state names one file for every workspace.
    let run = Local::new(LocalSettings { state: Some("out.tfstate".into()), ..settings("") });
    write(&run, "other", "e").await;
    assert_eq!(output(&out).as_deref(), Some("e"));
    let run = Local::new(LocalSettings { backup: Backup::Timestamped, ..settings("") });
    write(&run, "default", "f").await;
    let kept = names(&dir.path().join("sub"));
    assert!(kept.len() == 2 && kept[1].starts_with("my.tfstate.1") && kept[1].ends_with(".backup"), "{kept:?}");
}

#[tokio::test]
async fn workspaces_have_their_own_states() {
    let dir = tempfile::tempdir().unwrap();
    let backend = local(dir.path());
    assert_eq!(backend.workspaces().await.unwrap(), ["default"]);
    backend.create_workspace("prod").await.unwrap();
    backend.create_workspace("dev").await.unwrap();
    write(&backend, "prod", "p").await;
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "dev", "prod"]);
    assert_eq!(output(&dir.path().join("terraform.tfstate.d/prod/terraform.tfstate")).as_deref(), Some("p"));
    assert!(backend.read("dev").await.unwrap().is_none());
    backend.delete_workspace("prod").await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["default", "dev"]);
    for bad in ["default", "", "..", ".", "a/b", "dev/"] {
        assert!(backend.delete_workspace(bad).await.is_err(), "{bad}");
    }
}

#[tokio::test]
async fn mode_and_symbolic_links_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("elsewhere/real.tfstate");
    let link = dir.path().join("terraform.tfstate");
    std::os::unix::fs::symlink("elsewhere/real.tfstate", &link).unwrap();
    write(&local(dir.path()), "default", "a").await;
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    write(&local(dir.path()), "default", "b").await;
    assert!(link.is_symlink());
    assert_eq!(output(&real).as_deref(), Some("b"));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[tokio::test]
async fn a_lock_excludes_others_and_says_who_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (local(dir.path()), local(dir.path()));
    let ours = info();
    a.try_lock("default", &ours).await.unwrap();
    assert_eq!(names(dir.path()), [".terraform.tfstate.lock.info", "terraform.tfstate"]);
    let text = std::fs::read_to_string(dir.path().join(".terraform.tfstate.lock.info")).unwrap();
    assert!(text.starts_with(&format!("{{\"ID\":\"{}\",\"Operation\":\"OperationTypeApply\",\"Info\":\"\",", ours.id)));

    let e: Failure = b.try_lock("default", &info()).await.unwrap_err().into();
    assert_eq!(e.summary, "Error acquiring the state lock");
    assert!(e.detail.contains(&format!("ID:        {}", ours.id)) && e.detail.contains("me@here"), "{e}");
    assert!(b.unlock("default", &ours.id).await.is_err());
    assert!(b.force_unlock("default", "x").await.unwrap_err().detail.contains(&ours.id));
    assert!(b.force_unlock("default", &ours.id).await.unwrap_err().detail.contains("still going on"));

    // The state that is written meanwhile is locked as well, from the first moment on.
    write(&a, "default", "a").await;
    assert!(b.try_lock("default", &info()).await.is_err());
    a.unlock("default", &ours.id).await.unwrap();
    b.try_lock("default", &info()).await.unwrap();
    assert_eq!(output(&dir.path().join("terraform.tfstate")).as_deref(), Some("a"));
}

#[tokio::test]
async fn a_lock_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let a = local(dir.path());
    let ours = info();
    a.try_lock("default", &ours).await.unwrap();
    a.unlock("default", &ours.id).await.unwrap();
    assert!(names(dir.path()).is_empty());
    // A run that died leaves its information, but no lock.
    a.try_lock("default", &ours).await.unwrap();
    drop(a);
    let b = local(dir.path());
    b.force_unlock("default", &ours.id).await.unwrap();
    assert!(names(dir.path()).is_empty());
    assert!(b.force_unlock("default", &ours.id).await.unwrap_err().detail.contains("not locked"));
}

#[tokio::test]
async fn waiting_ends_with_the_lock_or_the_time() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (Arc::new(local(dir.path())), local(dir.path()));
    let ours = info();
    a.try_lock("default", &ours).await.unwrap();
    let mut waited = false;
    let timeout = Duration::from_millis(120);
    assert!(lock(&b, "default", &info(), timeout, || waited = true).await.is_err());
    assert!(waited);
    let other = a.clone();
    let release = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        write(&other, "default", "new").await;
        other.unlock("default", &ours.id).await.unwrap();
    });
    let theirs = info();
    lock(&b, "default", &theirs, Duration::from_secs(20), || ()).await.unwrap();
    release.await.unwrap();
    // What is locked is the file that was put in place while waiting.
    assert!(is_at(&b.locks()["default"].file, &dir.path().join("terraform.tfstate")).unwrap());
    assert!(a.try_lock("default", &info()).await.is_err());
}

#[tokio::test]
async fn a_program_that_waits_for_the_replaced_file_finds_no_state_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("terraform.tfstate");
    write(&local(dir.path()), "default", "a").await;
    let run = local(dir.path());
    run.try_lock("default", &info()).await.unwrap();
    let mut waiting = File::open(&path).unwrap();
    let other_name = dir.path().join("copy");
    write(&run, "default", "b").await;
    let mut text = Vec::new();
    io::Read::read_to_end(&mut waiting, &mut text).unwrap();
    assert_eq!(text, REPLACED);
    // A file that has another name as well keeps its content.
    std::fs::hard_link(&path, &other_name).unwrap();
    write(&run, "default", "c").await;
    assert_eq!((output(&other_name).as_deref(), output(&path).as_deref()), (Some("b"), Some("c")));
}

#[tokio::test]
async fn what_cannot_be_written_leaves_the_old_state() {
    let dir = tempfile::tempdir().unwrap();
    write(&local(dir.path()), "default", "a").await;
    // The backup cannot be made: the state is not touched.
    std::fs::write(dir.path().join("file"), "").unwrap();
    let run = Local::new(LocalSettings {
        folder: dir.path().into(),
        backup: Backup::Path("file/backup".into()),
        ..LocalSettings::default()
    });
    let next = Snapshot::next(&state("b"), run.read("default").await.unwrap().as_ref()).unwrap().unwrap();
    let e = run.write("default", &next).await.unwrap_err();
    assert!(e.summary == "Failed to back up the state" && e.detail.contains("file/backup"), "{e}");
    assert_eq!(output(&dir.path().join("terraform.tfstate")).as_deref(), Some("a"));
    // Then it is kept in the working directory.
    let d = super::super::save_errored(dir.path(), &next, &e);
    assert!(d.detail.contains("gpuform state push") && d.detail.contains("errored.tfstate"), "{d}");
    assert_eq!(output(&dir.path().join("errored.tfstate")).as_deref(), Some("b"));

    // A folder in the way of the backup is found before anything is done.
    assert!(run.ready("default").is_ok());
    std::fs::create_dir(dir.path().join("terraform.tfstate.backup")).unwrap();
    let e = local(dir.path()).ready("default").unwrap_err();
    assert!(e.summary == "Failed to back up the state" && e.detail.contains("terraform.tfstate.backup"), "{e}");

    let nowhere = local(&dir.path().join("file"));
    assert!(nowhere.write("default", &next).await.unwrap_err().detail.contains("is a file, not a folder"));
    let e: Failure = nowhere.try_lock("default", &info()).await.unwrap_err().into();
    assert!(e.summary.contains("lock") && e.detail.contains("is a file, not a folder"), "{e}");
    assert!(nowhere.read("default").await.is_err());
}

#[tokio::test]
async fn a_full_disk_leaves_the_old_state_and_no_rubbish() {
    let dir = tempfile::tempdir().unwrap();
    // Needs a file system of a fixed size; only the superuser can make one.
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(dir.path())
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|s| s.success()) {
        return;
    }
    write(&local(dir.path()), "default", "a").await;
    let run = local(dir.path());
    let big = Snapshot::next(&state(&"x".repeat(100_000)), run.read("default").await.unwrap().as_ref());
    let outcome = run.write("default", &big.unwrap().unwrap()).await;
    let (kept, left) = (output(&dir.path().join("terraform.tfstate")), names(dir.path()));
    let unmounted = std::process::Command::new("umount").arg(dir.path()).status().unwrap();
    assert!(unmounted.success());
    let e = outcome.unwrap_err();
    assert!(e.detail.contains("Free some space"), "{e}");
    assert_eq!(kept.as_deref(), Some("a"));
    assert_eq!(left, ["terraform.tfstate", "terraform.tfstate.backup"]);
}

#[tokio::test]
async fn a_garbled_state_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("terraform.tfstate");
    std::fs::write(&path, "{\"version\": 4, \"ser").unwrap();
    let e = local(dir.path()).read("default").await.unwrap_err();
    assert!(e.detail.contains("terraform.tfstate is not valid JSON") && e.detail.contains(".backup"), "{e}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"version\": 4, \"ser");
}

#[tokio::test]
async fn addresses_survive_the_way_through_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let backend = local(dir.path());
    let provider = AbsProviderConfig {
        module: Module::root(),
        provider: Provider::implied("x"),
        alias: None,
        key: crate::addr::InstanceKey::None,
    };
    let mut s = state("a");
    let addr = "module.a[\"b \\\"c\"].x.y[\"$${d}\"]".parse().unwrap();
    s.set(&addr, Arc::new(ObjectState::new(1, "{\"id\":1}")), &provider);
    backend.write("default", &Snapshot::exactly(s).unwrap()).await.unwrap();
    assert!(backend.read("default").await.unwrap().unwrap().state.get(&addr).is_some());
}

fn terraform(folder: &Path) -> std::process::Command {
    let mut c = std::process::Command::new("terraform");
    c.current_dir(folder).env("CHECKPOINT_DISABLE", "1").env_remove("TF_CLI_CONFIG_FILE");
    c.args(["apply", "-auto-approve", "-no-color", "-input=false"]);
    c
}

#[tokio::test]
async fn terraform_and_we_exclude_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let config = "resource \"terraform_data\" \"a\" {\n  input = \"a\"\n  provisioner \"local-exec\" {\n    \
                  command = \"touch running; while [ ! -e go ]; do sleep 0.05; done\"\n  }\n}\n";
    std::fs::write(dir.path().join("main.tf"), config).unwrap();
    let ours = local(dir.path());
    let lock = info();
    ours.try_lock("default", &lock).await.unwrap();
    // Where there is no Terraform there is nothing to show.
    let Ok(refused) = terraform(dir.path()).output() else { return };
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("Error acquiring the state lock") && text.contains(&lock.id));

    // Terraform waits for a file that we replace: it must not go on with what was in it.
    write(&ours, "default", "a").await;
    let waiting = terraform(dir.path())
        .arg("-lock-timeout=60s")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    write(&ours, "default", "b").await;
    ours.unlock("default", &lock.id).await.unwrap();
    let text = String::from_utf8_lossy(&waiting.wait_with_output().unwrap().stderr).replace("\n", " ");
    assert!(text.contains("run it again"), "{text}");
    assert_eq!(output(&dir.path().join("terraform.tfstate")).as_deref(), Some("b"));

    // Terraform has the lock.
    let running = terraform(dir.path()).stdout(std::process::Stdio::null()).spawn().unwrap();
    while !dir.path().join("running").exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let held = ours.try_lock("default", &info()).await;
    std::fs::write(dir.path().join("go"), "").unwrap();
    assert!(matches!(held, Err(LockError::Held(Some(i))) if i.operation == "OperationTypeApply"));
    assert!(running.wait_with_output().unwrap().status.success());
    ours.try_lock("default", &info()).await.unwrap();
    let state = ours.read("default").await.unwrap().unwrap().state;
    assert_eq!((state.resource_count(), state.outputs.len()), (1, 0));
}
