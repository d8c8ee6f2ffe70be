"""The command line: one file a command, no logic; every command has text, JSON and the same exit codes."""
