#!/usr/bin/env bash
# Sets the version of all modules, and that in the instructions: release/version.sh 0.2.0
set -euo pipefail
cd "$(dirname "$0")/.."
new=${1:?which version}
old=$(sed -n 's|^  <version>\(.*\)</version>$|\1|p' pom.xml)
[[ $new =~ ^[0-9]+\.[0-9]+\.[0-9]+(-SNAPSHOT)?$ ]] || { echo "no version: $new" >&2; exit 2; }
files=$(git grep -lF "$old" -- '*pom.xml' README.md 'docs/guide/*.md' ':!consumers/src')
pattern=${old//./\\.}
# Other projects may have the same version elsewhere in these files.
sed -i.old -e "s|<version>$pattern</version>|<version>$new</version>|" \
  -e "s|\`$pattern\`|\`$new\`|" -e "s|\(tidepool-[a-z]*[-:]\)$pattern|\1$new|g" $files
for file in $files; do
  rm "$file.old"
done
echo "$old is $new in:"
printf '  %s\n' $files
