"""Serves an AWS API on loopback for gpuform's tests and quickstart.

The API is moto's own server with the actions and attributes of `aws_ext` added, behind a middleware that injects
faults and records calls (`/_admin/`). This file only starts and stops the process; `README.md` describes both.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(description="An AWS API on 127.0.0.1 for tests.")
    parser.add_argument("--port", type=int, default=0, help="port to bind; 0 lets the system choose")
    parser.add_argument("--port-file", type=Path, help="file that receives the port once the server is ready")
    parser.add_argument(
        "--seed-region", default="us-east-1", help="region whose EC2 state is prepared before the ready line"
    )
    parser.add_argument(
        "--die-with-parent", action="store_true", help="exit when the process that started this one ends"
    )
    parser.add_argument(
        "--settle",
        type=float,
        default=0.2,
        metavar="SECONDS",
        help="time that instances, volumes, NAT gateways and the like spend in each transitional state",
    )
    parser.add_argument("--log", action="store_true", help="write one line per call to stderr")
    return parser.parse_args(argv)


def exit_with_parent(parent):
    """Ends the process soon after `parent`, the process id that started it, is gone.

    Polling is used because Linux's parent-death signal also fires when only the starting *thread* ends.
    """
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


def write_atomically(path, text):
    """Writes `text` so that a reader sees either no file or the whole of it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(temporary, path)


def forget_user_settings():
    """Keeps the user's AWS profile, credentials and moto settings out: boto3 and moto would read them."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "MOTO_"))]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull


def main():
    arguments = parse_arguments()
    forget_user_settings()
    if arguments.die_with_parent:
        threading.Thread(target=exit_with_parent, args=(os.getppid(),), daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))

    from aws_ext import serve

    server = serve.create_server(arguments.port, arguments.seed_region, arguments.settle, arguments.log)
    if arguments.port_file:
        write_atomically(arguments.port_file, f"{server.server_port}\n")
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    main()
