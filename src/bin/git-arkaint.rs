fn main() -> std::process::ExitCode {
    arkaint::main()
}
