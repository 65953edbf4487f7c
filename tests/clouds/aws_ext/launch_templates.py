"""Launch templates: data kept as it was sent, versions that can be deleted, AWS's NotFound errors."""

import base64

from moto.core.responses import ActionResult
from moto.core.types import Base64EncodedString
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import launch_templates as moto_templates
from moto.ec2.utils import parse_user_data


class LaunchTemplate(moto_templates.LaunchTemplate):
    """A template whose version numbers are never used twice, also when versions are deleted."""

    highest_number = 0

    def create_version(self, data, description):
        self.highest_number += 1
        version = moto_templates.LaunchTemplateVersion(self, self.highest_number, data, description)
        self.versions.append(version)
        return version

    def get_version(self, num):
        wanted = {"$latest": self.versions[-1].number, "$default": self.default_version_number}.get(
            str(num).lower(), num
        )
        for version in self.versions:
            if str(version.number) == str(wanted):
                return version
        raise EC2ClientError(
            "InvalidLaunchTemplateId.VersionNotFound",
            f"Could not find launch template version {num} for launch template {self.id}.",
        )

    def default_version(self):
        return self.get_version("$Default")


class LaunchTemplateBackend:
    def find_launch_template(self, template_id, name):
        """The template named by ID or by name. Raises AWS's NotFound error for either."""
        return self.get_launch_template(template_id) if template_id else self.get_launch_template_by_name(name)

    def describe_launch_templates(self, template_names=None, template_ids=None, filters=None):
        for template_id in template_ids or []:
            self.get_launch_template(template_id)
        for name in template_names or []:
            self.get_launch_template_by_name(name)
        return super().describe_launch_templates(template_names, template_ids, filters)

    def delete_launch_template(self, name, tid):
        return super().delete_launch_template(None, self.find_launch_template(tid, name).id)

    def launch_template_data(self, specification):
        """(data, version) that a LaunchTemplateSpecification of a launch means."""
        template = self.find_launch_template(
            specification.get("LaunchTemplateId"), specification.get("LaunchTemplateName")
        )
        version = template.get_version(specification.get("Version") or "$Default")
        return version.data, version


def user_data(value):
    """User data in moto's form, from base64 text, from decoded bytes, or from that form."""
    if isinstance(value, bytes):
        return Base64EncodedString(base64.b64encode(value).decode())
    return value if value is None or isinstance(value, Base64EncodedString) else parse_user_data(value)


class LaunchTemplateResponse:
    def create_launch_template(self):
        self.error_on_dryrun()
        template = self.ec2_backend.create_launch_template(
            self._get_param("LaunchTemplateName"),
            self._get_param("VersionDescription"),
            self.template_data(),
            self._parse_tag_specification(),
        )
        return ActionResult({"LaunchTemplate": self.shown_template(template)})

    def create_launch_template_version(self):
        self.error_on_dryrun()
        template = self.named_template()
        source = self._get_param("SourceVersion")
        data = dict(template.get_version(source).data) if source else {}
        data.update(self.template_data())
        version = template.create_version(data, self._get_param("VersionDescription"))
        return ActionResult({"LaunchTemplateVersion": self.shown_version(template, version)})

    def delete_launch_template(self):
        self.error_on_dryrun()
        template = self.ec2_backend.delete_launch_template(
            self._get_param("LaunchTemplateName"), self._get_param("LaunchTemplateId")
        )
        return ActionResult({"LaunchTemplate": self.shown_template(template)})

    def describe_launch_templates(self):
        templates = self.ec2_backend.describe_launch_templates(
            self._get_param("LaunchTemplateNames", []),
            self._get_param("LaunchTemplateIds", []),
            self._filters_from_querystring(),
        )
        return ActionResult({"LaunchTemplates": [self.shown_template(template) for template in templates]})

    def modify_launch_template(self):
        self.error_on_dryrun()
        template = self.named_template()
        template.default_version_number = template.get_version(self._get_param("DefaultVersion")).number
        return ActionResult({"LaunchTemplate": self.shown_template(template)})

    def describe_launch_template_versions(self):
        template_id, name = self._get_param("LaunchTemplateId"), self._get_param("LaunchTemplateName")
        if not template_id and not name:
            return super().describe_launch_template_versions()
        template = self.named_template()
        wanted = self._get_param("Versions", [])
        versions = [template.get_version(number) for number in wanted] if wanted else template.versions
        least, most = self._get_int_param("MinVersion"), self._get_int_param("MaxVersion")
        versions = [version for version in versions if (least or 1) <= version.number <= (most or version.number)]
        return ActionResult({"LaunchTemplateVersions": [self.shown_version(template, version) for version in versions]})

    def delete_launch_template_versions(self):
        template = self.named_template()
        deleted, failed = [], []
        for number in self._get_param("Versions", []):
            shown = {"LaunchTemplateId": template.id, "LaunchTemplateName": template.name, "VersionNumber": int(number)}
            version = next((version for version in template.versions if version.number == int(number)), None)
            if version is None:
                failed.append(
                    {
                        **shown,
                        "ResponseError": {
                            "Code": "launchTemplateVersionDoesNotExist",
                            "Message": f"The launch template version {number} does not exist.",
                        },
                    }
                )
            elif int(number) == template.default_version_number:
                raise EC2ClientError(
                    "OperationNotPermitted", "You cannot delete the default version of a launch template."
                )
            else:
                template.versions.remove(version)
                deleted.append(shown)
        return ActionResult(
            {
                "SuccessfullyDeletedLaunchTemplateVersions": deleted,
                "UnsuccessfullyDeletedLaunchTemplateVersions": failed,
            }
        )

    def named_template(self):
        return self.ec2_backend.find_launch_template(
            self._get_param("LaunchTemplateId"), self._get_param("LaunchTemplateName")
        )

    def template_data(self):
        data = dict(self.params["LaunchTemplateData"]) if "LaunchTemplateData" in self.params else {}
        if data.get("UserData"):
            data["UserData"] = user_data(data["UserData"])
        return data

    def shown_template(self, template):
        return {
            "CreateTime": template.create_time,
            "CreatedBy": f"arn:{self.partition}:iam::{self.current_account}:root",
            "DefaultVersionNumber": template.default_version_number,
            "LatestVersionNumber": template.latest_version_number,
            "LaunchTemplateId": template.id,
            "LaunchTemplateName": template.name,
            "Tags": template.get_tags(),
        }

    def shown_version(self, template, version):
        return {
            "CreateTime": version.create_time,
            "CreatedBy": f"arn:{self.partition}:iam::{self.current_account}:root",
            "DefaultVersion": template.is_default(version),
            "LaunchTemplateData": version.data,
            "LaunchTemplateId": template.id,
            "LaunchTemplateName": template.name,
            "VersionDescription": version.description,
            "VersionNumber": version.number,
        }


def install():
    """Puts this file's model into moto's module, where its backend makes it."""
    moto_templates.LaunchTemplate = LaunchTemplate
