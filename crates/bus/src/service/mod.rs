//! The bus on the network.
