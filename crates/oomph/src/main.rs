use std::process::ExitCode;

/// Syntax trees are many small pieces, made on all cores: the system's allocator takes a quarter of the time of a check.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    oomph::run(std::env::args_os()).into()
}
