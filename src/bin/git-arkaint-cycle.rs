fn main() -> std::process::ExitCode {
    arkaint::exec_verb("cycle")
}
