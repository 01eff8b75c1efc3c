mod exec;

fn main() -> std::process::ExitCode {
    exec::verb("boot")
}
