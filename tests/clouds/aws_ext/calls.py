"""What a request asks for, read without calling moto, and the log of the calls answered so far.

`read_call` turns a WSGI environment into a `Call`; `CallLog` keeps what the admin endpoint shows. Credentials,
signatures and user data never enter either.
"""

import io
import json
import re
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from moto.core.request import Request
from moto.core.routing import NotFound, get_service_router

CREDENTIAL = re.compile(r"Credential=[^/,]+/\d+/([^/]+)/([^/]+)/aws4_request")
HIDDEN = re.compile(
    r"userdata|secret|password|keymaterial|privatekey|^x-amz-|signature|securitytoken|policydocument|plaintext", re.I
)
LONGEST_VALUE = 256
LONGEST_LOG = 200_000
#: Services whose protocol puts the action into the path.
REST_SERVICES = ("s3", "dlm")


@dataclass
class Call:
    """One API call: `params` are flat, as in AWS's query protocol (`Filter.1.Name`), and hold the hidden ones too."""

    service: str
    action: str
    region: str
    params: dict = field(default_factory=dict)
    body: bytes = b""

    def values(self, name):
        """The values of parameter `name`, of its list members (`InstanceId` also reads `InstanceId.1`), in order."""
        member = re.compile(re.escape(name) + r"(\.member)?\.\d+$")
        return [value for key, value in self.params.items() if key == name or member.match(key)]

    def shown_params(self):
        """The parameters that may be logged."""
        return {key: value[:LONGEST_VALUE] for key, value in self.params.items() if not HIDDEN.search(key)}


def read_call(environ):
    """Reads the whole request (the environment can still be given to moto afterwards) and returns its `Call`."""
    body = buffer_body(environ)
    service, region = service_and_region(environ)
    query = flat_query(environ.get("QUERY_STRING", ""))
    target = environ.get("HTTP_X_AMZ_TARGET")
    if target:
        return Call(service or target.split("_")[0].lower(), target.rsplit(".", 1)[-1], region, json_params(body), body)
    if environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        query.update(flat_query(body.decode("utf-8", "replace")))
    if "Action" in query:
        action = query.pop("Action")
        query.pop("Version", None)
        return Call(service or "sts", action, region, query, body)
    service = service or "s3"
    action, path_params = rest_action(service, environ)
    query.update(path_params)
    if service != "s3":
        query.update(json_params(body))
    return Call(service, action, region, query, body)


def flat_query(text):
    """The parameters of a query string; a name that occurs more than once is numbered."""
    pairs = parse_qsl(text, keep_blank_values=True)
    times, seen = Counter(name for name, _ in pairs), Counter()
    flat = {}
    for name, value in pairs:
        seen[name] += 1
        flat[f"{name}.{seen[name]}" if times[name] > 1 else name] = value
    return flat


def buffer_body(environ):
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        body = environ["wsgi.input"].read()
        del environ["HTTP_TRANSFER_ENCODING"]
        environ["CONTENT_LENGTH"] = str(len(body))
    else:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def service_and_region(environ):
    found = CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
    if found is None:
        return None, "us-east-1"
    return found.group(2).lower(), found.group(1)


def rest_action(service, environ):
    """The operation's name and its path parameters; the HTTP method where botocore's model knows no operation."""
    if service in REST_SERVICES:
        try:
            operation, path_params = get_service_router(service).match(Request(dict(environ)))
            return operation.name, {key: str(value) for key, value in path_params.items()}
        except NotFound:
            pass
    return environ["REQUEST_METHOD"], {}


def json_params(body):
    try:
        document = json.loads(body or b"{}")
    except ValueError:
        return {}
    flat = {}
    flatten(document, "", flat)
    return flat


def flatten(value, path, into):
    """Adds the leaves of a JSON document to `into`, keyed as the query protocol would."""
    if isinstance(value, dict):
        for key, member in value.items():
            flatten(member, f"{path}.{key}" if path else key, into)
    elif isinstance(value, list):
        for index, member in enumerate(value, 1):
            flatten(member, f"{path}.{index}", into)
    elif isinstance(value, bool):
        into[path] = str(value).lower()
    else:
        into[path] = str(value)


class CallLog:
    """Every call in the order of its arrival, and their number by service and action."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sequence = 0
        self.clear()

    def clear(self):
        self.entries = deque(maxlen=LONGEST_LOG)
        self.counts = Counter()

    def begin(self, call, at_once):
        """Adds `call`, one of `at_once` of its service under way; returns its entry, to be completed by `finish`."""
        with self.lock:
            self.sequence += 1
            entry = {
                "sequence": self.sequence,
                "time": time.time(),
                "service": call.service,
                "action": call.action,
                "region": call.region,
                "params": call.shown_params(),
                "at_once": at_once,
                "status": None,
                "error": None,
                "request_id": None,
                "faults": [],
                "milliseconds": None,
            }
            self.entries.append(entry)
            self.counts[call.service, call.action] += 1
        return entry

    def finish(self, entry, status, error, request_id):
        """Completes an entry; `status` is an HTTP status, or "dropped" when the connection was closed unanswered."""
        entry.update(status=status, error=error, request_id=request_id)
        entry["milliseconds"] = round((time.time() - entry["time"]) * 1000, 1)

    def matching(self, service, action):
        with self.lock:
            entries = list(self.entries)
        return [entry for entry in entries if service in (None, entry["service"]) and action in (None, entry["action"])]

    def counted(self):
        """{service: {action: number}}"""
        with self.lock:
            counts = dict(self.counts)
        table = {}
        for (service, action), number in sorted(counts.items()):
            table.setdefault(service, {})[action] = number
        return table
