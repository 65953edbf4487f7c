//! The "cloud": one file of JSON per object, client tokens, and faults on demand. What the switches mean is said in
//! `main.rs`.

use crate::{Config, ModuleSettings};
use gpuform_provider_sdk::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

pub struct Store {
    folder: PathBuf,
    delay: Duration,
    pub default_labels: BTreeMap<String, String>,
    faults: Vec<Fault>,
    log: Option<PathBuf>,
    login: Option<String>,
    ignore_tokens: bool,
}

struct Fault {
    operation: String,
    name: String,
    after: bool,
    exit: bool,
}

/// An object as it lies in the store.
pub struct Stored<T> {
    pub id: String,
    pub object: T,
}

impl Store {
    pub fn open(config: &Config) -> Result<Store> {
        let variable = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let folder = config.store.cloned().or_else(|| variable("DEMO_STORE")).ok_or_else(|| {
            Error::new("No store").detail("Set `store` or the variable DEMO_STORE to a folder.").at("store")
        })?;
        let milliseconds = config.delay_ms.cloned().or_else(|| variable("DEMO_DELAY_MS")?.parse().ok()).unwrap_or(0);
        let faults = |name, exit| {
            let all = variable(name).unwrap_or_default();
            all.split(',').filter_map(|f| Fault::parse(f, exit)).collect::<Vec<_>>()
        };
        let store = Store {
            folder: folder.into(),
            delay: Duration::from_millis(u64::try_from(milliseconds).unwrap_or_default()),
            default_labels: config.default_labels.or_default(),
            faults: faults("DEMO_FAIL", false).into_iter().chain(faults("DEMO_EXIT", true)).collect(),
            log: variable("DEMO_LOG").map(PathBuf::from),
            login: config.login.cloned(),
            ignore_tokens: variable("DEMO_IGNORE_TOKENS").is_some(),
        };
        std::fs::create_dir_all(store.folder.join("tokens")).map_err(|e| store.broken(&e))?;
        Ok(store)
    }

    /// Makes an object, or returns the one already made with this token.
    pub async fn create<T>(&self, kind: &str, name: &str, token: &str, object: T) -> Result<Stored<T>>
    where
        T: Serialize + DeserializeOwned,
    {
        self.before("create", name).await?;
        let (id, object) = match self.find(kind, token)? {
            Some(found) if !self.ignore_tokens => (found.id, found.object),
            _ => {
                let id = format!("{kind}-{}", uuid::Uuid::new_v4().simple());
                // The token first: an object never exists without it, at whatever moment the process ends.
                std::fs::write(self.folder.join("tokens").join(token), &id).map_err(|e| self.broken(&e))?;
                self.write(kind, &id, &object)?;
                self.record("create", kind, &id, name, token)?;
                (id, object)
            }
        };
        self.after("create", name)?;
        Ok(Stored { id, object })
    }

    /// The object that was made with a token.
    pub fn find<T: DeserializeOwned>(&self, kind: &str, token: &str) -> Result<Option<Stored<T>>> {
        let Ok(id) = std::fs::read_to_string(self.folder.join("tokens").join(token)) else { return Ok(None) };
        Ok(self.load(kind, &id)?.map(|object| Stored { id, object }))
    }

    pub async fn get<T: DeserializeOwned>(&self, kind: &str, id: &str, name: &str) -> Result<Option<T>> {
        self.before("read", name).await?;
        self.load(kind, id)
    }

    /// All objects of a kind.
    pub async fn list<T: DeserializeOwned>(&self, kind: &str) -> Result<Vec<Stored<T>>> {
        self.before("list", kind).await?;
        let entries = std::fs::read_dir(&self.folder).map_err(|e| self.broken(&e))?;
        let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
        let ids = names.filter_map(|n| Some(n.strip_suffix(".json")?.to_owned())).filter(|id| id.starts_with(kind));
        ids.filter_map(|id| self.load(kind, &id).map(|o| Some(Stored { id, object: o? })).transpose()).collect()
    }

    pub async fn put<T: Serialize>(&self, kind: &str, id: &str, name: &str, object: &T) -> Result<()> {
        self.before("update", name).await?;
        self.write(kind, id, object)?;
        self.record("update", kind, id, name, "")?;
        self.after("update", name)
    }

    pub async fn delete(&self, kind: &str, id: &str, name: &str) -> Result<()> {
        self.before("delete", name).await?;
        match std::fs::remove_file(self.file(id)) {
            Ok(()) => self.record("delete", kind, id, name, "")?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::not_found(format!("There is no {kind} {id}")));
            }
            Err(e) => return Err(self.broken(&e)),
        }
        self.after("delete", name)
    }

    async fn before(&self, operation: &str, name: &str) -> Result<()> {
        tokio::time::sleep(self.delay).await;
        self.strike(operation, name, false)
    }

    fn after(&self, operation: &str, name: &str) -> Result<()> {
        self.strike(operation, name, true)
    }

    fn strike(&self, operation: &str, name: &str, after: bool) -> Result<()> {
        match self.faults.iter().find(|f| f.after == after && f.hits(operation, name)) {
            Some(fault) if fault.exit => std::process::exit(9),
            Some(_) => Err(Error::new(format!("The {operation} of {name:?} failed"))
                .detail("DEMO_FAIL asks for it.")
                .code("RequestedFailure")),
            None => Ok(()),
        }
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn load<T: DeserializeOwned>(&self, kind: &str, id: &str) -> Result<Option<T>> {
        if !id.starts_with(kind) || id.contains('/') {
            return Ok(None);
        }
        match std::fs::read(self.file(id)) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|e| self.broken(&e)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.broken(&e)),
        }
    }

    fn write<T: Serialize>(&self, kind: &str, id: &str, object: &T) -> Result<()> {
        let text = serde_json::to_vec_pretty(object).map_err(|e| self.broken(&e))?;
        let new = self.folder.join(format!("{kind}.{}.new", uuid::Uuid::new_v4().simple()));
        std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, self.file(id))).map_err(|e| self.broken(&e))
    }

    /// Notes what the module of an object has set, where it has.
    pub fn record_settings(&self, operation: &str, name: &str, settings: Option<ModuleSettings>) -> Result<()> {
        let Some(settings) = settings else { return Ok(()) };
        let line = serde_json::json!({
            "operation": format!("settings:{operation}"), "name": name,
            "module": settings.module.cloned(), "labels": settings.labels.cloned(),
        });
        self.log(&line)
    }

    fn record(&self, operation: &str, kind: &str, id: &str, name: &str, token: &str) -> Result<()> {
        let line = serde_json::json!({
            "operation": operation, "type": kind, "id": id, "name": name, "token": token, "login": self.login,
            "pid": std::process::id(),
        });
        self.log(&line)
    }

    fn log(&self, line: &serde_json::Value) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(log).map_err(|e| self.broken(&e))?;
        // One write per line, so that lines of several processes do not mix.
        file.write_all(format!("{line}\n").as_bytes()).map_err(|e| self.broken(&e))
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> Error {
        Error::new("The store does not work").detail(format!("{}: {error}", self.folder.display()))
    }
}

impl Fault {
    fn parse(text: &str, exit: bool) -> Option<Fault> {
        let mut parts = text.trim().split(':');
        let (operation, name) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(Fault { operation, name, after: parts.next() == Some("after"), exit })
    }

    fn hits(&self, operation: &str, name: &str) -> bool {
        (self.operation == "*" || self.operation == operation) && (self.name == "*" || self.name == name)
    }
}
