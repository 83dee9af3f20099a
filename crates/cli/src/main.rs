//! The program `quickstep`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

fn main() -> ExitCode {
    ExitCode::from(cli::command(std::env::args_os()))
}
