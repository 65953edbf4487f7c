//! State: the model, Terraform's file format version 4, the journal, locking and backends.
