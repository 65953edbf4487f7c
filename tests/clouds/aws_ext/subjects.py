"""What a call is about: the instance type and the availability zone that a launch or a volume is for.

Read from the parameters, and from the launch template and the subnet that they name. Used by faults.
"""

from moto.core import DEFAULT_ACCOUNT_ID

from . import ec2


def instance_type(call):
    """The instance type that the call names, or None."""
    named = call.params.get("InstanceType")
    return named or template_data(call).get("InstanceType")


def zone(call):
    """The availability zone that the call is for, or None when it leaves the choice to AWS."""
    template = template_data(call)
    named = (
        call.params.get("Placement.AvailabilityZone")
        or call.params.get("AvailabilityZone")
        or (template.get("Placement") or {}).get("AvailabilityZone")
    )
    if named:
        return named
    subnet_id = call.params.get("SubnetId") or call.params.get("NetworkInterface.1.SubnetId")
    if not subnet_id:
        interfaces = template.get("NetworkInterfaces") or [{}]
        subnet_id = interfaces[0].get("SubnetId")
    if not subnet_id:
        return None
    for subnets in ec2.backend(DEFAULT_ACCOUNT_ID, call.region).subnets.values():
        if subnet_id in subnets:
            return subnets[subnet_id].availability_zone
    return None


def template_data(call):
    """The launch template data that a call uses; empty when it names none that exists."""
    backend = ec2.backend(DEFAULT_ACCOUNT_ID, call.region) if call.service == "ec2" else None
    if backend is None:
        return {}
    template_id = call.params.get("LaunchTemplate.LaunchTemplateId")
    name = call.params.get("LaunchTemplate.LaunchTemplateName")
    template = backend.launch_templates.get(template_id or backend.launch_template_name_to_ids.get(name))
    if template is None:
        return {}
    version = call.params.get("LaunchTemplate.Version", "$Default")
    return template.get_version(version).data
