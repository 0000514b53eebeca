use std::process::ExitCode;

fn main() -> ExitCode {
    oomph::run(std::env::args_os()).into()
}
