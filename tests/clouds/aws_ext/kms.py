"""KMS keys with AWS's defaults, rotation periods, checked policies and states that forbid changes; dated aliases."""

import datetime
import json

from moto.core.exceptions import JsonRESTError
from moto.kms import models, urls
from moto.kms.responses import KmsResponse

DEFAULT_ROTATION_DAYS = 365
#: Actions that a key pending deletion refuses.
ONLY_USABLE = (
    "EnableKey",
    "DisableKey",
    "EnableKeyRotation",
    "DisableKeyRotation",
    "ScheduleKeyDeletion",
    "UpdateKeyDescription",
    "CreateAlias",
    "TagResource",
    "UntagResource",
)


class Key(models.Key):
    def __init__(
        self, policy, key_usage, key_spec, description, account_id, region, multi_region=False, origin="AWS_KMS"
    ):
        super().__init__(
            policy,
            key_usage or "ENCRYPT_DECRYPT",
            key_spec,
            description,
            account_id,
            region,
            bool(multi_region),
            origin,
        )
        self.rotation_days = DEFAULT_ROTATION_DAYS
        self.rotation_start = None


class Alias(models.Alias):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.changed_at = datetime.datetime.now(datetime.UTC).timestamp()


class Response(KmsResponse):
    def call_action(self):
        self.check_state()
        return super().call_action()

    def check_state(self):
        """Raises KMSInvalidStateException for a change of a key that is pending deletion."""
        action = self._get_action()
        if action not in ONLY_USABLE:
            return
        key = self.named_key(self._get_param("TargetKeyId") or self._get_param("KeyId"))
        if key is not None and key.key_state == "PendingDeletion":
            raise JsonRESTError("KMSInvalidStateException", f"{key.arn} is pending deletion.")

    def named_key(self, name):
        return self.kms_backend.keys.get(self.kms_backend.get_key_id(name or ""))

    def create_key(self):
        self.check_policy()
        return super().create_key()

    def put_key_policy(self):
        self.check_policy()
        return super().put_key_policy()

    def check_policy(self):
        policy = self._get_param("Policy")
        if policy is None:
            return
        try:
            usable = isinstance(json.loads(policy).get("Statement"), (list, dict))
        except (ValueError, AttributeError):
            usable = False
        if not usable:
            raise JsonRESTError("MalformedPolicyDocumentException", "The policy document is not valid.")

    def enable_key_rotation(self):
        answer = super().enable_key_rotation()
        key = self.named_key(self._get_param("KeyId"))
        key.rotation_days = self._get_param("RotationPeriodInDays") or DEFAULT_ROTATION_DAYS
        key.rotation_start = datetime.datetime.now(datetime.UTC)
        return answer

    def get_key_rotation_status(self):
        status = json.loads(super().get_key_rotation_status())
        key = self.named_key(self._get_param("KeyId"))
        status["KeyId"] = key.arn
        if status["KeyRotationEnabled"]:
            status["RotationPeriodInDays"] = key.rotation_days
            status["NextRotationDate"] = (key.rotation_start + datetime.timedelta(days=key.rotation_days)).timestamp()
        return json.dumps(status)

    def list_aliases(self):
        answer = json.loads(super().list_aliases())
        dates = {
            alias.alias_name: alias.changed_at
            for key in self.kms_backend.keys.values()
            for alias in key.aliases.values()
            if hasattr(alias, "changed_at")
        }
        for alias in answer["Aliases"]:
            if alias["AliasName"] in dates:
                alias["CreationDate"] = alias["LastUpdatedDate"] = dates[alias["AliasName"]]
        return json.dumps(answer)


def install():
    """Makes moto use the classes of this file. Must run before the first KMS request."""
    models.Key = Key
    models.Alias = Alias
    urls.url_paths = {"{0}/$": Response.dispatch}
