"""The admin endpoint under `/_admin/`: faults, limits, spot interruptions, and what was called.

JSON in, JSON out; `README.md` documents each path. Called by the middleware.
"""

import json
import time
from urllib.parse import parse_qsl

from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.base_backend import BackendDict
from moto.core.model_instances import reset_model_data
from moto.s3.models import s3_backends

from . import dlm, ec2, faults
from .errors import Answer
from .limits import LIMITS, Bucket


class Refused(Exception):
    """A request that the endpoint cannot serve: (HTTP status, reason)."""


class Admin:
    def __init__(self, middleware):
        self.middleware = middleware
        self.routes = {
            ("POST", "faults"): self.add_fault,
            ("GET", "faults"): self.list_faults,
            ("DELETE", "faults"): self.remove_faults,
            ("GET", "calls"): self.list_calls,
            ("DELETE", "calls"): self.clear_calls,
            ("GET", "counts"): self.count_calls,
            ("POST", "capacity"): self.set_capacity,
            ("POST", "quota"): self.set_quota,
            ("POST", "throttle"): self.set_rate,
            ("POST", "spot-interrupt"): self.interrupt_spot,
            ("POST", "reset"): self.reset,
        }

    def answer(self, environ):
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"].removeprefix("/_admin/").strip("/")
        query = dict(parse_qsl(environ.get("QUERY_STRING", "")))
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        try:
            status, document = 200, self.route(method, path, query, body)
        except Refused as refused:
            status, document = refused.args[0], {"error": refused.args[1]}
        except faults.BadFault as bad:
            status, document = 400, {"error": str(bad)}
        data = json.dumps(document).encode()
        return Answer(status, [("Content-Type", "application/json"), ("Content-Length", str(len(data)))], data)

    def route(self, method, path, query, body):
        handler = self.routes.get((method, path))
        if handler is None:
            known = ", ".join(f"{known_method} {known_path}" for known_method, known_path in self.routes)
            raise Refused(404, f"no {method} {path} here; there are {known}")
        try:
            document = json.loads(body or b"{}")
        except ValueError as error:
            raise Refused(400, f"the body is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise Refused(400, "the body must be a JSON object")
        try:
            return handler(query, document)
        except KeyError as missing:
            raise Refused(400, f"missing field {missing}") from missing
        except (TypeError, ValueError) as error:
            raise Refused(400, str(error)) from error

    def add_fault(self, _query, document):
        fault = faults.parse(document)
        self.middleware.faults.add(fault)
        return fault.shown()

    def list_faults(self, _query, _document):
        return {"faults": [fault.shown() for fault in self.middleware.faults.all()]}

    def remove_faults(self, query, _document):
        self.middleware.faults.remove(int(query["id"]) if "id" in query else None)
        self.middleware.staleness.clear()
        return {}

    def list_calls(self, query, _document):
        calls = self.middleware.log.matching(query.get("service"), query.get("action"))
        since = int(query.get("since", 0))
        return {"calls": [call for call in calls if call["sequence"] > since]}

    def clear_calls(self, _query, _document):
        self.middleware.log.clear()
        return {}

    def count_calls(self, _query, _document):
        return {"counts": self.middleware.log.counted()}

    def set_capacity(self, _query, document):
        zone, available = document["zone"], document.get("available")
        if available is None:
            LIMITS.capacity.pop((document["instance_type"], zone), None)
        else:
            LIMITS.capacity[document["instance_type"], zone] = int(available)
        return {"capacity": [[*key, left] for key, left in LIMITS.capacity.items()]}

    def set_quota(self, _query, document):
        if document.get("vcpus") is None:
            LIMITS.quotas.pop(document["code"], None)
        else:
            LIMITS.quotas[document["code"]] = int(document["vcpus"])
        return {"quotas": LIMITS.quotas}

    def set_rate(self, _query, document):
        service, rate, at_once = document["service"], document.get("rate_per_second"), document.get("at_once")
        if rate is None:
            LIMITS.rates.pop(service, None)
        else:
            LIMITS.rates[service] = Bucket(float(rate))
        if at_once is None:
            LIMITS.at_once.pop(service, None)
        else:
            LIMITS.at_once[service] = int(at_once)
        rates = {service: bucket.rate for service, bucket in LIMITS.rates.items()}
        return {"rates": rates, "at_once": LIMITS.at_once}

    def interrupt_spot(self, _query, document):
        region = document.get("region", "us-east-1")
        with self.middleware.lock:
            backend = ec2.backend(DEFAULT_ACCOUNT_ID, region)
            request = backend.interrupt_spot_instance(
                document["instance_id"], float(document.get("warning_seconds", 0)), document.get("status_code")
            )
        if request is None:
            raise Refused(404, f"{document['instance_id']} is not a running spot instance in {region}")
        return {"spot_instance_request_id": request.id, "time": time.time()}

    def reset(self, _query, _document):
        with self.middleware.lock:
            forget_everything()
        LIMITS.clear()
        self.middleware.faults.remove()
        self.middleware.staleness.clear()
        self.middleware.log.clear()
        return {}


def forget_everything():
    """Empties all of moto. Its own reset also rebuilds each backend, only to throw it away."""
    for _account, _partition, backend in s3_backends.iter_backends():
        backend.reset()
    for backends in list(BackendDict._instances):
        backends.clear()
    BackendDict._instances.clear()
    reset_model_data()
    dlm.clear()
