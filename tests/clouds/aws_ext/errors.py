"""Error answers in the form of each service's protocol, and the code of an error in an answer.

Used by the middleware, for faults and for what moto fails to answer.
"""

import json
import re
from xml.sax.saxutils import escape

from .calls import Call

#: Services that speak AWS's JSON protocols; all others here speak XML.
JSON_SERVICES = {"kms", "ssm", "dlm", "logs", "dynamodb", "pricing", "servicequotas", "secretsmanager"}
REQUEST_ID = re.compile(rb"(<(?:requestId|RequestId|RequestID)>)[^<]*")
ERROR_CODE = re.compile(rb"<Code>([^<]+)</Code>")


class Answer:
    """A complete HTTP answer."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def name(self, request_id):
        """Gives the answer this request ID, in its headers and where XML has one, in place of moto's."""
        self.body = REQUEST_ID.sub(lambda found: found.group(1) + request_id.encode(), self.body)
        replaced = {"x-amzn-requestid", "x-amz-request-id", "content-length"}
        self.headers = [(key, value) for key, value in self.headers if key.lower() not in replaced or self.is_head(key)]
        self.headers += [("x-amzn-RequestId", request_id), ("x-amz-request-id", request_id)]
        if not any(key.lower() == "content-length" for key, _ in self.headers):
            self.headers.append(("Content-Length", str(len(self.body))))

    def is_head(self, key):
        """Whether a header is the length of a body that is not sent, as in answers to HEAD."""
        return key.lower() == "content-length" and not self.body


def error_answer(call: Call, status, code, message, request_id):
    """The answer with which AWS's service would report `code`."""
    sender = "Receiver" if status >= 500 else "Sender"
    if call.service in JSON_SERVICES:
        body = json.dumps({"__type": code, "message": message})
        kind = "application/x-amz-json-1.1"
    elif call.service == "ec2":
        body = (
            f"<Response><Errors><Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error></Errors>"
            f"<RequestID>{request_id}</RequestID></Response>"
        )
        kind = "text/xml;charset=UTF-8"
    elif call.service == "s3":
        body = (
            f"<Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
            f"<RequestId>{request_id}</RequestId></Error>"
        )
        kind = "application/xml"
    else:
        body = (
            f"<ErrorResponse><Error><Type>{sender}</Type><Code>{escape(code)}</Code>"
            f"<Message>{escape(message)}</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
        )
        kind = "text/xml"
    prolog = "" if body.startswith("{") else '<?xml version="1.0" encoding="UTF-8"?>\n'
    data = (prolog + body).encode()
    headers = [
        ("Content-Type", kind),
        ("Content-Length", str(len(data))),
        ("x-amzn-RequestId", request_id),
        ("x-amz-request-id", request_id),
    ]
    if call.service in JSON_SERVICES:
        headers.append(("x-amzn-ErrorType", code))
    return Answer(status, headers, data)


def error_code(answer):
    """The AWS error code of an answer, or None when it reports success."""
    if answer.status < 300:
        return None
    found = ERROR_CODE.search(answer.body)
    if found:
        return found.group(1).decode()
    try:
        return json.loads(answer.body)["__type"].rsplit("#", 1)[-1]
    except (ValueError, KeyError, TypeError):
        return f"HTTP{answer.status}"
