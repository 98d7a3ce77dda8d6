#!/usr/bin/env bash
# Runs LLVM 19's own tests of FileCheck (llvm/test/FileCheck) and of split-file against the tools of this repository,
# and prints how many pass. Nothing of LLVM is kept in the repository: the tests are taken from the Debian source
# package, by apt-get with the machine's own package sources, into a cache that is not touched again.
#
#   tools/filecheck/llvm-suite.sh [lit options]
#
# LLVM_SUITE_CACHE  where to keep the sources (default: ${TMPDIR:-/tmp}/llvm-suite)
# LLVM_TESTS        a directory llvm/test of LLVM 19 that is there already; nothing is fetched then
set -euo pipefail

repository=$(cd "$(dirname "$0")/../.." && pwd)
cache=${LLVM_SUITE_CACHE:-${TMPDIR:-/tmp}/llvm-suite}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fetch extracts the two test directories into $cache/test.
fetch() {
  mkdir -p "$cache/lists/partial" "$cache/archives/partial" "$cache/sources.d" "$cache/source"
  local file
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" > "$cache/sources.d/$(basename "$file")"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -e "$file" ] && sed -n 's/^deb /deb-src /p' "$file" > "$cache/sources.d/$(basename "$file")"
  done
  local options=(
    -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$cache/sources.d" -o "Dir::State::lists=$cache/lists"
    -o "Dir::Cache=$cache" -o "Dir::Cache::archives=$cache/archives" -o "APT::Sandbox::User=$(id -un)"
  )
  apt-get "${options[@]}" update >&2
  (cd "$cache/source" && apt-get "${options[@]}" source --download-only --only-source llvm-toolchain-19 >&2)
  mkdir -p "$cache/unpacked"
  tar -xf "$cache"/source/llvm-toolchain-19_*.orig.tar.* -C "$cache/unpacked" --strip-components=1 --wildcards \
    '*/llvm/test/FileCheck/*' '*/llvm/test/tools/split-file/*'
  mv "$cache/unpacked/llvm/test" "$cache/test"
  rm -rf "$cache/unpacked" "$cache/source" "$cache/archives" "$cache/lists"
}

tests=${LLVM_TESTS:-$cache/test}
if [ -z "${LLVM_TESTS:-}" ] && [ ! -d "$tests/FileCheck" ]; then
  fetch
fi

# The suites run on copies: the configuration, which is Python in LLVM, is given in lit.json.
mkdir -p "$work/suite" "$work/bin"
cp -r "$tests/FileCheck" "$work/suite/FileCheck"
cp -r "$tests/tools/split-file" "$work/suite/split-file"
cat > "$work/suite/FileCheck/lit.json" <<'JSON'
{"suffixes": [".txt"], "substitutions": {"%ProtectFileCheckOutput": "env -u FILECHECK_OPTS"}}
JSON
cat > "$work/suite/split-file/lit.json" <<'JSON'
{"suffixes": [".test"], "substitutions": {"%split-file": "split-file"}}
JSON

(cd "$repository" && go build -o "$work/bin/lit" ./tools/lit && go build -o "$work/bin/FileCheck" ./tools/filecheck)
unset FILECHECK_OPTS

# Once with filecheck inside of lit, and once as the program that others would call.
status=0
for suite in FileCheck split-file; do
  echo "== $suite, built in"
  "$work/bin/lit" -s -output-dir "$work/out" "$@" "$work/suite/$suite" || status=1
done
echo "== FileCheck, as a program"
"$work/bin/lit" -s -output-dir "$work/out" -tool "FileCheck=$work/bin/FileCheck" "$@" "$work/suite/FileCheck" || status=1
exit $status
