"""Idempotency by ClientToken, as AWS documents it for EC2: a repeated request has no second effect.

`honour_tokens` wraps every action of a response class whose input has a `ClientToken`. The same token with the same
parameters answers with the first result (live objects, so states are current); with others,
`IdempotentParameterMismatch`. A token is forgotten when the state is reset.
"""

import functools

from botocore import xform_name
from moto.core.utils import get_service_model
from moto.ec2.exceptions import EC2ClientError

#: Parameters that say how a request is sent, not what it asks for.
IGNORED = {"Action", "Version", "ClientToken", "DryRun"}


class ClientTokenBackend:
    """Adds the tokens seen so far, by action, to an EC2 backend."""

    def init_client_tokens(self):
        self.client_tokens = {}


def honour_tokens(response_class):
    """Wraps the actions of `response_class` (and of its bases) that take a client token."""
    model = get_service_model("ec2")
    for name in model.operation_names:
        shape = model.operation_model(name).input_shape
        method = getattr(response_class, xform_name(name), None)
        if method is None or shape is None or "ClientToken" not in shape.members:
            continue
        setattr(response_class, xform_name(name), idempotent(name, method))


def idempotent(action, method):
    @functools.wraps(method)
    def answer(self):
        token = self._get_param("ClientToken")
        if not token or self._get_param("DryRun", False):
            return method(self)
        request = fingerprint(self.querystring)
        seen = self.ec2_backend.client_tokens
        known = seen.get((action, token))
        if known is None:
            result = method(self)
            seen[action, token] = (request, result)
            return result
        first_request, result = known
        if first_request != request:
            raise EC2ClientError(
                "IdempotentParameterMismatch",
                "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
            )
        return result

    return answer


def fingerprint(querystring):
    """The parameters that a repeated request must share with the first, in a comparable form."""
    return {key: tuple(value) for key, value in querystring.items() if key not in IGNORED}
