"""S3 buckets with AWS's defaults, whole lifecycle rules, intelligent-tiering configurations, checked policies.

Lifecycle and intelligent-tiering documents are kept as AWS's model describes them, so that a client reads back what
it wrote; moto keeps only a part of the first and nothing of the second.
"""

import json

from moto.core.parse import PROTOCOL_PARSERS
from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import get_service_model
from moto.s3 import models, responses
from moto.s3.exceptions import S3ClientError
from moto.s3.models import FakeBucket, PublicAccessBlock, S3Backend, s3_backends
from moto.s3.responses import S3Response

DEFAULT_ENCRYPTION = {
    "Rule": {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": "false"}
}
DEFAULT_MINIMUM_SIZE = "all_storage_classes_128K"
TIERS = {"ARCHIVE_ACCESS": (90, 730), "DEEP_ARCHIVE_ACCESS": (180, 730)}


class Bucket(FakeBucket):
    """A bucket as AWS makes it since 2023: encrypted, private, without ACLs."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.encryption = DEFAULT_ENCRYPTION
        self.public_access_block = PublicAccessBlock(True, True, True, True)
        self.ownership_rule = "BucketOwnerEnforced"
        self.lifecycle = None
        self.tiering = {}


class Backend(S3Backend):
    # Moto finds a service's URLs by the module name of its backend.
    __module__ = S3Backend.__module__

    def delete_bucket_encryption(self, bucket_name):
        self.get_bucket(bucket_name).encryption = DEFAULT_ENCRYPTION

    def put_bucket_policy(self, bucket_name, policy):
        bucket = self.get_bucket(bucket_name)
        statements = policy_statements(policy)
        if (
            bucket.public_access_block
            and bucket.public_access_block.block_public_policy
            and any(map(is_public, statements))
        ):
            raise error(
                403,
                "AccessDenied",
                f"User: arn:aws:iam::{self.account_id}:root is not authorized to perform: s3:PutBucketPolicy on "
                f'resource: "arn:aws:s3:::{bucket_name}" because public policies are prevented by the '
                "BlockPublicPolicy setting in S3 Block Public Access.",
            )
        bucket.policy = policy


def error(status, code, message):
    refused = S3ClientError(code, message)
    refused.http_status = status
    return refused


def policy_statements(policy):
    """The statements of a bucket policy. Raises MalformedPolicy."""
    try:
        document = json.loads(policy)
        statements = document["Statement"]
    except (ValueError, KeyError, TypeError) as problem:
        raise error(
            400,
            "MalformedPolicy",
            "Policies must be valid JSON and the first byte must be '{'"
            if isinstance(problem, ValueError)
            else "Missing required field Statement",
        ) from problem
    statements = statements if isinstance(statements, list) else [statements]
    for statement in statements:
        for member in ("Effect", "Principal", "Action", "Resource"):
            if member not in statement and f"Not{member}" not in statement:
                raise error(400, "MalformedPolicy", f"Missing required field {member}")
    return statements


def is_public(statement):
    principal = statement.get("Principal")
    everyone = principal == "*" or (
        isinstance(principal, dict) and "*" in (principal.get("AWS"), *(principal.get("AWS") or []))
    )
    return statement.get("Effect") == "Allow" and everyone and not statement.get("Condition")


class Response(S3Response):
    def _bucket_response_get(self, bucket_name, querystring):
        if "intelligent-tiering" in querystring:
            return self.get_tiering(querystring)
        if "requestPayment" in querystring:
            return self.answer("GetBucketRequestPayment", {"Payer": self.backend.get_bucket(bucket_name).payer})
        return super()._bucket_response_get(bucket_name, querystring)

    def _bucket_response_put(self, request, bucket_name, querystring):
        if "intelligent-tiering" in querystring:
            return self.put_tiering(request)
        if "lifecycle" in querystring:
            return self.put_lifecycle(request)
        return super()._bucket_response_put(request, bucket_name, querystring)

    def _bucket_response_delete(self, bucket_name, querystring):
        if "intelligent-tiering" in querystring:
            if self.backend.get_bucket(bucket_name).tiering.pop(querystring["id"][0], None) is None:
                raise no_such_configuration()
            return 204, {}, ""
        if "lifecycle" in querystring:
            self.backend.get_bucket(bucket_name).lifecycle = None
        return super()._bucket_response_delete(bucket_name, querystring)

    def put_tiering(self, request):
        bucket = self.backend.get_bucket(self.bucket_name)
        configuration = self.parsed("PutBucketIntelligentTieringConfiguration", request)[
            "IntelligentTieringConfiguration"
        ]
        for tiering in configuration.get("Tierings", []):
            least, most = TIERS.get(tiering["AccessTier"], (1, 0))
            if not least <= tiering["Days"] <= most:
                raise error(
                    400, "InvalidArgument", f"Days must be between {least} and {most} for {tiering['AccessTier']}"
                )
        bucket.tiering[configuration["Id"]] = configuration
        return self.answer("PutBucketIntelligentTieringConfiguration", None)

    def get_tiering(self, querystring):
        bucket = self.backend.get_bucket(self.bucket_name)
        if "id" not in querystring:
            configurations = [bucket.tiering[key] for key in sorted(bucket.tiering)]
            return self.answer(
                "ListBucketIntelligentTieringConfigurations",
                {"IsTruncated": False, "IntelligentTieringConfigurationList": configurations},
            )
        configuration = bucket.tiering.get(querystring["id"][0])
        if configuration is None:
            raise no_such_configuration()
        return self.answer(
            "GetBucketIntelligentTieringConfiguration", {"IntelligentTieringConfiguration": configuration}
        )

    def put_lifecycle(self, request):
        """Moto's own rules are set too: other parts of moto read them."""
        super()._bucket_response_put(request, self.bucket_name, {"lifecycle": [""]})
        asked = self.parsed("PutBucketLifecycleConfiguration", request)
        minimum = asked.get("TransitionDefaultMinimumObjectSize") or DEFAULT_MINIMUM_SIZE
        rules = asked["LifecycleConfiguration"].get("Rules", [])
        for index, rule in enumerate(rules):
            rule.setdefault("ID", f"rule-{index + 1}")
        bucket = self.backend.get_bucket(self.bucket_name)
        bucket.lifecycle = {"Rules": rules, "TransitionDefaultMinimumObjectSize": minimum}
        return self.answer("PutBucketLifecycleConfiguration", {"TransitionDefaultMinimumObjectSize": minimum})

    def get_bucket_lifecycle(self):
        lifecycle = self.backend.get_bucket(self.bucket_name).lifecycle
        if lifecycle is None:
            return super().get_bucket_lifecycle()
        return self.answer("GetBucketLifecycleConfiguration", lifecycle)

    def get_bucket_versioning(self):
        """Moto calls the element after the action; boto3 does not look, other SDKs do."""
        status, headers, body = super().get_bucket_versioning()
        return status, headers, body.replace("GetBucketVersioningResponse", "VersioningConfiguration")

    def get_bucket_policy(self):
        status, headers, policy = super().get_bucket_policy()
        return status, {**headers, "content-type": "application/json"}, policy

    def parsed(self, action, request):
        """The request as AWS's model of `action` describes it."""
        operation = get_service_model("s3").operation_model(action)
        parser = PROTOCOL_PARSERS["rest-xml"](operation, map_type=dict)
        return parser.parse(
            {
                "method": request.method,
                "values": request.values,
                "headers": request.headers,
                "body": self.body,
                "url_path": request.path,
                "url_params": {"Bucket": self.bucket_name},
            }
        )

    def answer(self, action, result):
        self.data["Action"] = action
        return self.serialized(EmptyResult() if result is None else ActionResult(result))


def no_such_configuration():
    return error(404, "NoSuchConfiguration", "The specified configuration does not exist.")


def install():
    """Makes moto use the classes of this file. Must run before the first S3 request."""
    models.FakeBucket = Bucket
    s3_backends.backend = Backend
    # Moto reloads its URL table, which takes the class from here, whenever it is asked for.
    responses.S3Response = Response
