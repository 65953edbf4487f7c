//! The blocks that say which capacity reservations instances may use, shared by instances and launch templates, and their
//! forms at the API.

use super::net::filled;
use aws_sdk_ec2::types as ec2;
use gpuform_provider_sdk::prelude::*;

/// Which capacity reservations instances may use.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct CapacityReservation {
    /// `open`, `none` or `capacity-reservations-only`.
    #[attr(optional, validate = one_of(["open", "none", "capacity-reservations-only"]))]
    pub capacity_reservation_preference: Attr<String>,
    /// One reservation or group of reservations.
    #[block]
    pub capacity_reservation_target: Option<CapacityReservationTarget>,
}

/// A capacity reservation.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct CapacityReservationTarget {
    /// The reservation's ID.
    #[attr(optional)]
    pub capacity_reservation_id: Attr<String>,
    /// The ARN of a resource group of reservations.
    #[attr(optional)]
    pub capacity_reservation_resource_group_arn: Attr<String>,
}

impl CapacityReservation {
    /// The preference and the target as requests have them.
    pub fn to_api(&self) -> (Option<ec2::CapacityReservationPreference>, Option<ec2::CapacityReservationTarget>) {
        let target = self.capacity_reservation_target.as_ref().map(|t| {
            ec2::CapacityReservationTarget::builder()
                .set_capacity_reservation_id(filled(&t.capacity_reservation_id))
                .set_capacity_reservation_resource_group_arn(filled(&t.capacity_reservation_resource_group_arn))
                .build()
        });
        (super::util::choice(&self.capacity_reservation_preference), target)
    }

    /// The block for what an answer says.
    pub fn from_api(
        preference: Option<&ec2::CapacityReservationPreference>,
        target: Option<&ec2::CapacityReservationTargetResponse>,
    ) -> CapacityReservation {
        CapacityReservation {
            capacity_reservation_preference: preference.map(|p| p.as_str()).into(),
            capacity_reservation_target: target.map(|t| CapacityReservationTarget {
                capacity_reservation_id: t.capacity_reservation_id().into(),
                capacity_reservation_resource_group_arn: t.capacity_reservation_resource_group_arn().into(),
            }),
        }
    }
}
