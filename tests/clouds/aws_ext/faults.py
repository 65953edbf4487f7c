"""Faults that a test asks for: errors, dropped connections, latency and stale reads, by call.

The middleware asks `Faults.take` for those that apply to a call. What a fault does to the call is the middleware's.
"""

import fnmatch
import itertools
import threading
import time
from dataclasses import dataclass, field

from . import subjects

KINDS = ("error", "drop_before", "drop_after", "latency", "stale_reads")


class BadFault(ValueError):
    """A fault's description that cannot be used; the text says why."""


@dataclass
class Fault:
    """One rule. Every given condition must hold for a call; `times` counts the calls that it has been applied to.

    For `error` and the drops, `seconds` is how long the rule stays in force; for `latency` it is the delay; for
    `stale_reads` the time that a new object stays invisible (and `times` the number of reads).
    """

    kind: str
    id: int = 0
    service: str = "*"
    action: str = "*"
    match: dict = field(default_factory=dict)
    zone: str | None = None
    instance_type: str | None = None
    code: str = "InternalError"
    message: str = "An internal error has occurred."
    status: int = 500
    times: int | None = None
    skip: int = 0
    seconds: float | None = None
    applied: int = 0
    added: float = field(default_factory=time.monotonic, repr=False)

    def over(self):
        """Whether the rule has nothing left to do."""
        if self.kind == "stale_reads":
            return False
        if self.times is not None and self.applied >= self.times:
            return True
        return self.kind != "latency" and self.seconds is not None and time.monotonic() - self.added > self.seconds

    def concerns(self, call):
        if not (fnmatch.fnmatch(call.service, self.service) and fnmatch.fnmatch(call.action, self.action)):
            return False
        for name, pattern in self.match.items():
            if not any(fnmatch.fnmatch(value, str(pattern)) for value in call.values(name)):
                return False
        if self.instance_type and self.instance_type != subjects.instance_type(call):
            return False
        return not self.zone or self.zone == subjects.zone(call)

    def shown(self):
        shown = {key: value for key, value in vars(self).items() if key != "added"}
        return {**shown, "over": self.over()}


def parse(document):
    """A `Fault` from the admin endpoint's JSON. Raises `BadFault`."""
    if not isinstance(document, dict):
        raise BadFault("a fault is a JSON object")
    known = set(Fault.__dataclass_fields__) - {"id", "applied", "added"}
    unknown = set(document) - known
    if unknown:
        raise BadFault(f"unknown fields: {', '.join(sorted(unknown))}")
    if document.get("kind") not in KINDS:
        raise BadFault(f"kind must be one of {', '.join(KINDS)}")
    if document["kind"] == "latency" and document.get("seconds") is None:
        raise BadFault("latency needs seconds")
    if document["kind"] == "stale_reads" and document.get("seconds") is None and document.get("times") is None:
        raise BadFault("stale_reads needs times or seconds")
    return Fault(**document)


class Faults:
    """The rules in force."""

    def __init__(self):
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.rules = []

    def add(self, fault):
        with self.lock:
            fault.id = next(self.numbers)
            self.rules.append(fault)

    def remove(self, fault_id=None):
        with self.lock:
            self.rules = [rule for rule in self.rules if fault_id is not None and rule.id != fault_id]

    def all(self):
        with self.lock:
            return list(self.rules)

    def take(self, call, *kinds):
        """The rules of `kinds` that apply to this call; each is counted as applied once."""
        taken = []
        with self.lock:
            for rule in self.rules:
                if rule.kind not in kinds or rule.over() or not rule.concerns(call):
                    continue
                if rule.skip > 0:
                    rule.skip -= 1
                    continue
                rule.applied += 1
                taken.append(rule)
        return taken
