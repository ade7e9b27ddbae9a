// How the machine is set up: by default, by the environment, and by the tidepool_sim_ functions.
#pragma once

namespace sim {

// Makes the devices, unless that was done: one, or what TIDEPOOL_SIM says.
void configure_once();

}  // namespace sim
