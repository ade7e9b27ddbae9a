#!/usr/bin/env bash
# Builds the examples and runs one of them on the best accelerator present.
#
#   examples/run.sh NAME [SIZE]     such as: examples/run.sh Particles 1000000
#
# JAVA_HOME names a JDK 25 or newer; with SKIP_BUILD=1 there is no build.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
java=${JAVA_HOME:?set JAVA_HOME to a JDK 25 or newer}/bin/java
[ $# -gt 0 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
name=$1
shift

if [ -z "${SKIP_BUILD:-}" ]; then
  (cd "$root" && ./mvnw -q -B ${MAVEN_ARGS:-} -Dmaven.test.skip=true -pl examples -am package)
fi
path=
for module in examples memory opencl cuda; do
  path=$path:$root/$module/target/classes
done
exec "$java" --enable-native-access=ALL-UNNAMED -cp "${path#:}" "dev.tidepool.examples.$name" "$@"
