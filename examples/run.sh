#!/bin/sh
# Builds the examples and runs one of them on the best accelerator present.
#
#   examples/run.sh NAME [SIZE]     such as: examples/run.sh Particles 1000000
#
# Runs on a JDK 25 or newer of JAVA_HOME, the PATH or /usr/lib/jvm; with SKIP_BUILD=1 nothing is built.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
name=$1
shift
programs=$root/examples/src/main/java/dev/tidepool/examples
if grep -qs 'void main' "$programs/kernels/$name.java"; then
  class=kernels.$name
elif grep -qs 'void main' "$programs/$name.java"; then
  class=$name
else
  names=$(cd "$programs" && grep -l -- 'void main' *.java kernels/*.java |
    sed 's|^kernels/||; s|\.java$||' | tr '\n' ' ')
  echo "run.sh: no example '$name'; there are $names" >&2
  exit 2
fi
. "$root/.mvn/jdk.sh"
find_jdk

if [ -z "${SKIP_BUILD:-}" ]; then
  echo "run.sh: building (about a minute the first time) ..." >&2
  maven ${MAVEN_ARGS:-} -pl examples -am package
fi
path=
for module in examples memory opencl cuda metal lz4; do
  path=$path:$root/$module/target/classes
done
# The codec of tidepool-lz4.
path=$path:$root/examples/target/lib/*
exec "$jdk/bin/java" --enable-native-access=ALL-UNNAMED -cp "${path#:}" "dev.tidepool.examples.$class" "$@"
