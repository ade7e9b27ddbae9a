#!/bin/sh
# Builds the benchmarks and runs them with JMH in rounds; prints tables in Markdown.
#
#   benchmarks/run.sh [ROUNDS [CLASS...]]     3 rounds of all classes, about two hours
#
# The whole commands are in eval.sh. Runs on a JDK 25 or newer of JAVA_HOME, the PATH or /usr/lib/jvm;
# MAVEN_ARGS are more options for the build, and with SKIP_BUILD=1 there is none.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/.mvn/jdk.sh"
. "$root/benchmarks/machine.sh"
find_jdk
java=$jdk/bin/java
rounds=${1:-3}
[ $# -eq 0 ] || shift

if [ -z "${SKIP_BUILD:-}" ]; then
  maven ${MAVEN_ARGS:-} -pl benchmarks -am package
fi
echo "$(date -u +%F) $(uname -r), $(cores) cores, load before: $(load)"
"$java" -version 2>&1 | tail -n 1
echo
# What JMH itself says about Unsafe and native access is no news here.
"$java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
  -cp "$root/benchmarks/target/classes:$root/benchmarks/target/libraries/*" \
  dev.tidepool.benchmarks.Rounds "$rounds" "$@"
echo
echo "load after: $(load)"
