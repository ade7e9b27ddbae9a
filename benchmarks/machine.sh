# Sourced by the scripts that say what they measured on.

cores() { getconf _NPROCESSORS_ONLN; }

# The load of the last 1, 5 and 15 minutes; Linux separates them by commas.
load() { LC_ALL=C uptime | sed 's/.*load averages\{0,1\}: *//; s/,//g'; }
