#!/usr/bin/env bash
# Builds everything that a release publishes, signed, into target/release:
#
#   repository/   what is deployed, as a Maven repository
#   api/          the Javadoc of tidepool-memory, to be put on a server
#   bundle.zip    the repository, as Maven Central takes it
#
# Further arguments go to Maven. gpg signs with the default key of GNUPGHOME.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/target/release
rm -rf "$out"
mkdir -p "$out"

# Clean: Javadoc and jars keep entries of deleted classes otherwise.
./mvnw --batch-mode -Prelease -DskipTests clean deploy \
  -DaltDeploymentRepository="release::file://$out/repository" "$@"

# Central makes its own list of versions.
version=$(sed -n 's|^  <version>\(.*\)</version>$|\1|p' pom.xml)
java=${JAVA_HOME:+$JAVA_HOME/bin/}
mkdir "$out/api"
(cd "$out/api" && "${java}jar" --extract --file "$(ls "$out"/repository/dev/tidepool/tidepool-memory/*/*-javadoc.jar)" && rm -r META-INF)
(cd "$out/repository" && find . -type f ! -name 'maven-metadata*' -print | sort |
  xargs "${java}jar" --create --no-manifest --file "$out/bundle.zip")
unsigned=()
[[ " $* " != *" -Dgpg.skip "* ]] || unsigned=(--unsigned)
"${java}java" release/CheckRelease.java "$out/repository" "$version" "${unsigned[@]}"
