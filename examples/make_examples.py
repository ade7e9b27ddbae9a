"""Makes places.csv, latitude.npy and longitude.npy from the IANA time zone database.

    python3 make_examples.py [/usr/share/zoneinfo/zone1970.tab]

Needs NumPy. The table is in the public domain; README.md says more.
"""

import csv
import pathlib
import re
import sys

import numpy as np


def degrees(text):
    """'+5130', '-0000731', '+404251': sign, degrees, minutes and perhaps seconds (ISO 6709)."""
    sign = -1 if text[0] == "-" else 1
    digits = text[1:]
    width = 2 if len(digits) in (4, 6) else 3
    whole, minutes, seconds = digits[:width], digits[width:width + 2], digits[width + 2:] or "0"
    return sign * (int(whole) + int(minutes) / 60 + int(seconds) / 3600)


table = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/zoneinfo/zone1970.tab")
here = pathlib.Path(__file__).parent
rows = []
for line in table.read_text(encoding="utf-8").splitlines():
    if line and not line.startswith("#"):
        coordinates, zone = line.split("\t")[1:3]
        latitude, longitude = re.fullmatch(r"([+-]\d+)([+-]\d+)", coordinates).groups()
        rows.append((zone, degrees(latitude), degrees(longitude)))
rows.sort()

with open(here / "places.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("zone", "latitude", "longitude"))
    writer.writerows((zone, f"{lat:.6f}", f"{lon:.6f}") for zone, lat, lon in rows)
np.save(here / "latitude.npy", np.array([row[1] for row in rows], dtype=np.float32))
np.save(here / "longitude.npy", np.array([row[2] for row in rows], dtype=np.float32))
