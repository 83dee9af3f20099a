//! Files in object stores, in Hadoop clusters and behind HTTP: `s3://`, `gs://`, `az://`, `hdfs://`, `http://`, `https://`.
//!
//! `object_store` speaks the stores' protocols, signs, and tries again what may succeed a second time. It is
//! asynchronous, the engine is not: one small runtime serves all requests of the process, and the thread that needs the
//! bytes waits for them, looking now and then whether its statement has been stopped (`wait`). What a Parquet unit will
//! need is therefore asked for at once, pieces close to each other as one request, several requests side by side; the
//! unit holds what came for as long as it lives (`Pieces`).

pub(crate) mod abreast;
mod address;
mod database;
mod fault;
mod file;
mod hdfs;
mod secret_files;
mod secrets;
mod settings;
mod store;
mod stores;
mod upload;
mod wait;

pub use address::{is_remote, name_of};
pub use database::RemoteFiles;
pub(crate) use fault::from_io;
pub use file::{Pieces, RemoteFile};
pub use secrets::{Conflict, ShownSecret, create_secret, drop_secret, secrets, which_secret};
pub use settings::SETTINGS;
pub use store::{exists_below, list};
pub use stores::Stores;
pub use upload::Upload;
