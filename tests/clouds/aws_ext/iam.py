"""IAM: policies that cannot be deleted while used, trust policies that must be valid, tags of instance profiles.

AWS's managed policies are there, so that they can be attached; they are loaded by the first IAM call.
"""

import functools
import json

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.iam import urls
from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.exceptions import DeleteConflictException
from moto.iam.models import AWSManagedPolicy
from moto.iam.responses import IamResponse


class MalformedPolicyDocument(ServiceException):
    code = "MalformedPolicyDocument"


@functools.cache
def managed_policies():
    return json.loads(aws_managed_policies_data)


class Response(IamResponse):
    def call_action(self):
        backend = self.backend
        if not backend.aws_managed_policies:
            backend.aws_managed_policies = [
                AWSManagedPolicy.from_data(name, backend.account_id, backend.region_name, policy)
                for name, policy in managed_policies().items()
            ]
            backend.managed_policies.update((policy.arn, policy) for policy in backend.aws_managed_policies)
        return super().call_action()

    def delete_policy(self):
        policy = self.backend.get_policy(self._get_param("PolicyArn"))
        if policy.attachment_count:
            raise DeleteConflictException("Cannot delete a policy attached to entities.")
        if len(policy.versions) > 1:
            raise DeleteConflictException(
                "This policy has more than one version. Before you delete a policy, you must delete the "
                "policy's versions. The default version is deleted with the policy."
            )
        return super().delete_policy()

    def attach_role_policy(self):
        """Attaching again what is attached changes nothing; moto would count it twice."""
        arn, role = self._get_param("PolicyArn"), self._get_param("RoleName")
        if arn in self.backend.get_role(role).managed_policies:
            self.backend.detach_role_policy(arn, role)
        return super().attach_role_policy()

    def create_role(self):
        check_trust_policy(self._get_param("AssumeRolePolicyDocument"))
        return super().create_role()

    def update_assume_role_policy(self):
        check_trust_policy(self._get_param("PolicyDocument"))
        return super().update_assume_role_policy()

    def list_instance_profile_tags(self):
        profile = self.backend.get_instance_profile(self._get_param("InstanceProfileName"))
        tags = [tag if isinstance(tag, dict) else {"Key": tag, "Value": profile.tags[tag]} for tag in profile.tags]
        return ActionResult({"Tags": tags, "IsTruncated": False})


def check_trust_policy(document):
    """Raises MalformedPolicyDocument when the document could not be a role's trust policy."""
    try:
        statements = json.loads(document)["Statement"]
    except (ValueError, KeyError, TypeError) as problem:
        raise MalformedPolicyDocument(
            "This policy contains invalid Json" if isinstance(problem, ValueError) else "Syntax errors in policy."
        ) from problem
    for statement in statements if isinstance(statements, list) else [statements]:
        if "Resource" in statement or "NotResource" in statement:
            raise MalformedPolicyDocument("Has prohibited field Resource")
        if "Principal" not in statement and "NotPrincipal" not in statement:
            raise MalformedPolicyDocument("Missing required field Principal")
        if "Action" not in statement and "NotAction" not in statement:
            raise MalformedPolicyDocument("Missing required field Action")


def install():
    """Makes moto use the classes of this file. Must run before the first IAM request."""
    urls.url_paths = {"{0}/$": Response.dispatch}
