//! Amazon EC2: networks and machines.

pub mod ami_data;
pub mod ami_from_instance;
pub mod capacity;
pub mod ebs_snapshot;
pub mod ebs_volume;
pub mod instance;
pub mod instance_type_data;
pub mod key_pair;
pub mod launch_template;
pub mod offerings_data;
pub mod placement_group;
pub mod requirements;
pub mod spot_price_data;
pub mod util;
pub mod volume_attachment;
pub mod vpc;
