#!/usr/bin/env bash
# Builds the last commit twice, in folders of different names, and compares the jars byte by byte.
# Further arguments go to Maven.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse HEAD)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for copy in one another; do
  git clone --quiet --no-checkout . "$work/$copy"
  (
    cd "$work/$copy"
    git checkout --quiet --detach "$commit"
    ./mvnw --batch-mode -Prelease -DskipTests -Dgpg.skip -Dtidepool.url=https://example.org/tidepool \
      deploy -DaltDeploymentRepository="release::file://$work/$copy.repository" "$@"
  ) >"$work/$copy.log" 2>&1 || { tail -40 "$work/$copy.log" >&2; exit 1; }
  # Snapshots are named after the time of the deployment.
  (
    cd "$work/$copy.repository"
    find . \( -name '*.jar' -o -name '*-cyclonedx.*' \) ! -name '*.md5' ! -name '*.sha*' -exec sha256sum {} + |
      sed 's/-[0-9]\{8\}\.[0-9]\{6\}-[0-9]*/-SNAPSHOT/' | sort -k 2
  ) >"$work/$copy.sums"
done
if ! diff "$work/one.sums" "$work/another.sums"; then
  echo "these files differ between two builds" >&2
  exit 1
fi
echo "$(wc -l <"$work/one.sums") files are the same in both builds"
