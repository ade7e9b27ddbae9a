#!/bin/sh
# Writes the allocations of a generated program to a file, for `tidepool bench --replay FILE`.
#
#   benchmarks/trace.sh PROGRAM FILE [SEED]   resnet (training steps), query (a column store) or
#                                             stream (windows over bursts); seed 1 without one
#
# Runs on a JDK 25 or newer of JAVA_HOME, the PATH or /usr/lib/jvm; MAVEN_ARGS are more options for
# the build, and with SKIP_BUILD=1 there is none.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/.mvn/jdk.sh"
find_jdk
java=$jdk/bin/java

if [ -z "${SKIP_BUILD:-}" ]; then
  maven ${MAVEN_ARGS:-} -pl benchmarks -am package
fi
"$java" -cp "$root/benchmarks/target/classes:$root/benchmarks/target/libraries/*" \
  dev.tidepool.benchmarks.trace.GenerateTrace "$@"
