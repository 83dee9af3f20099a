"""The command `quickstep` of the package: shell, scripts, benchmarks and server in one."""

import signal
import sys


def main() -> None:
    """Runs the command line of this process, and ends it with the command's status."""
    # An interrupt is the command's; Python's own handler would wait for the interpreter, which waits for the command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from quickstep import _native

    sys.exit(_native.command(sys.argv))


if __name__ == "__main__":
    main()
