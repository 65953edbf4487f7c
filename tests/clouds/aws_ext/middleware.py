"""The WSGI layer in front of moto: one call at a time reaches moto, faults are applied, everything is logged.

Requests under `/_admin/` go to `admin`; all others are AWS calls. Moto's models are not safe for concurrent use,
which is why calls (not latency, not drops) are serialised.
"""

import socket
import sys
import threading
import time
import traceback
import uuid

from . import dlm
from .admin import Admin
from .calls import CallLog, read_call
from .errors import Answer, error_answer, error_code
from .faults import Faults
from .limits import LIMITS
from .staleness import Staleness


class Dropped(ConnectionError):
    """The connection was closed on purpose; werkzeug then writes nothing."""


class Middleware:
    def __init__(self, application, verbose):
        self.application = application
        self.verbose = verbose
        self.lock = threading.RLock()
        self.log = CallLog()
        self.faults = Faults()
        self.staleness = Staleness()
        self.admin = Admin(self)

    def __call__(self, environ, start_response):
        if environ.get("PATH_INFO", "").startswith("/_admin/"):
            answer = self.admin.answer(environ)
        else:
            answer = self.answer(environ)
        start_response(f"{answer.status} {'OK' if answer.status < 300 else 'Error'}", answer.headers)
        return [answer.body]

    def answer(self, environ):
        """Answers an AWS call, with its faults. Raises `Dropped` after closing the connection."""
        call = read_call(environ)
        entry = self.log.begin(call, LIMITS.begins(call.service))
        try:
            return self.serve(environ, call, entry)
        finally:
            LIMITS.ends(call.service)

    def serve(self, environ, call, entry):
        request_id = str(uuid.uuid4())
        for fault in self.apply(entry, call, "latency"):
            time.sleep(fault.seconds)
        if self.apply(entry, call, "drop_before"):
            self.drop(environ, entry, None)
        concerning = self.staleness.concerning(call)
        answer = self.refusal(entry, call, concerning, request_id)
        if answer is None:
            answer = self.pass_on(environ, call, request_id)
            self.staleness.strip(concerning, answer)
            for fault in self.apply(entry, call, "stale_reads"):
                self.staleness.created(call, answer, fault)
        answer.name(request_id)
        if environ["REQUEST_METHOD"] == "HEAD":
            answer.body = b""
        if self.apply(entry, call, "drop_after"):
            self.drop(environ, entry, error_code(answer))
        self.log.finish(entry, answer.status, error_code(answer), request_id)
        if self.verbose:
            print(f"{call.service} {call.action} {answer.status} {entry['error'] or ''}", file=sys.stderr)
        return answer

    def apply(self, entry, call, kind):
        taken = self.faults.take(call, kind)
        entry["faults"] += [fault.id for fault in taken]
        return taken

    def refusal(self, entry, call, concerning, request_id):
        """The error with which the call is refused before moto sees it, if any."""
        throttled = LIMITS.throttled(call, entry["at_once"])
        if throttled:
            return error_answer(call, *throttled, request_id)
        for fault in self.apply(entry, call, "error"):
            return error_answer(call, fault.status, fault.code, fault.message, request_id)
        stale = self.staleness.refusal(call, concerning)
        return error_answer(call, *stale, request_id) if stale else None

    def pass_on(self, environ, call, request_id):
        """Moto's answer; what moto does not implement becomes the error that AWS gives for an unknown action.

        A bug in moto or here is answered as a failure of the service, which clients may retry, and shown on stderr.
        """
        try:
            with self.lock:
                if call.service == "dlm":
                    return dlm.answer(call, request_id)
                return run(self.application, environ)
        except NotImplementedError as error:
            return error_answer(
                call, 400, "InvalidAction", f"{call.action} is not served by this test cloud: {error}", request_id
            )
        except Exception as error:
            traceback.print_exc()
            return error_answer(call, 500, "InternalError", f"{type(error).__name__}: {error}", request_id)

    def drop(self, environ, entry, error):
        self.log.finish(entry, "dropped", error, None)
        connection = environ["werkzeug.socket"]
        connection.shutdown(socket.SHUT_RDWR)
        raise Dropped()


def run(application, environ):
    """Runs a WSGI application to its end."""
    started = {}

    def start_response(status, headers, _error=None):
        started["status"] = int(status.split(" ", 1)[0])
        started["headers"] = headers

    parts = application(environ, start_response)
    try:
        body = b"".join(parts)
    finally:
        if hasattr(parts, "close"):
            parts.close()
    return Answer(started["status"], started["headers"], body)
