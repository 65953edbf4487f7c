"""Data Lifecycle Manager: snapshot lifecycle policies, create to delete, with tags. No snapshot is ever made.

Moto has no such service, so the middleware calls `answer` for it instead of moto.
"""

import datetime
import json
import secrets
from urllib.parse import unquote

from moto.core import DEFAULT_ACCOUNT_ID

from .errors import Answer, error_answer

#: {region: {policy ID: policy as GetLifecyclePolicy shows it}}
POLICIES = {}


class NotFound(Exception):
    """The policy that a request names does not exist; the argument is its ID."""


def clear():
    POLICIES.clear()


def answer(call, request_id):
    """Answers a DLM call."""
    actions = {
        "CreateLifecyclePolicy": create,
        "GetLifecyclePolicy": lambda policies, call, _: {"Policy": existing(policies, call.params["policyId"])},
        "GetLifecyclePolicies": summaries,
        "UpdateLifecyclePolicy": update,
        "DeleteLifecyclePolicy": delete,
        "TagResource": tag,
        "UntagResource": untag,
        "ListTagsForResource": lambda policies, call, _: {"Tags": by_arn(policies, call)["Tags"]},
    }
    if call.action not in actions:
        return error_answer(
            call, 400, "InvalidRequestException", f"{call.action} is not served by this test cloud.", request_id
        )
    document = json.loads(call.body) if call.body else {}
    try:
        result = actions[call.action](POLICIES.setdefault(call.region, {}), call, document)
    except NotFound as missing:
        return error_answer(call, 404, "ResourceNotFoundException", f"Policy {missing} was not found.", request_id)
    except KeyError as missing:
        return error_answer(call, 400, "InvalidRequestException", f"The request must contain {missing}.", request_id)
    return Answer(200, [("Content-Type", "application/json")], json.dumps(result).encode())


def now():
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def create(policies, call, document):
    policy_id = f"policy-0{secrets.token_hex(8)}"
    policies[policy_id] = {
        "PolicyId": policy_id,
        "PolicyArn": f"arn:aws:dlm:{call.region}:{DEFAULT_ACCOUNT_ID}:policy/{policy_id}",
        "Description": document["Description"],
        "ExecutionRoleArn": document["ExecutionRoleArn"],
        "State": document["State"],
        "StatusMessage": document["State"],
        "PolicyDetails": {"PolicyType": "EBS_SNAPSHOT_MANAGEMENT", **document.get("PolicyDetails", {})},
        "Tags": document.get("Tags", {}),
        "DateCreated": now(),
        "DateModified": now(),
        "DefaultPolicy": False,
    }
    return {"PolicyId": policy_id}


def existing(policies, policy_id):
    if policy_id not in policies:
        raise NotFound(policy_id)
    return policies[policy_id]


def by_arn(policies, call):
    return existing(policies, unquote(call.params["resourceArn"]).rsplit("/", 1)[-1])


def summaries(policies, call, _document):
    wanted = call.values("policyIds")
    shown = ("PolicyId", "Description", "State", "Tags", "DefaultPolicy")
    chosen = [
        policy
        for policy in policies.values()
        if (not wanted or policy["PolicyId"] in wanted) and call.params.get("state", policy["State"]) == policy["State"]
    ]
    return {
        "Policies": [
            {**{key: policy[key] for key in shown}, "PolicyType": policy["PolicyDetails"]["PolicyType"]}
            for policy in chosen
        ]
    }


def update(policies, call, document):
    policy = existing(policies, call.params["policyId"])
    for key in ("Description", "ExecutionRoleArn", "State"):
        policy[key] = document.get(key, policy[key])
    if "PolicyDetails" in document:
        policy["PolicyDetails"] = {"PolicyType": policy["PolicyDetails"]["PolicyType"], **document["PolicyDetails"]}
    policy["DateModified"] = now()
    return {}


def delete(policies, call, _document):
    existing(policies, call.params["policyId"])
    del policies[call.params["policyId"]]
    return {}


def tag(policies, call, document):
    by_arn(policies, call)["Tags"].update(document["Tags"])
    return {}


def untag(policies, call, _document):
    tags = by_arn(policies, call)["Tags"]
    for key in call.values("tagKeys"):
        tags.pop(key, None)
    return {}
