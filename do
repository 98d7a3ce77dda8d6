#!/usr/bin/env bash
# The entry command of whoever changes tapc. CONTRIBUTING.md says when to use which.
#
#   ./do check          everything that CI checks
#   ./do quick          what a change most likely breaks: less than 3 minutes on two cores
#   ./do docs           write every generated file
#   ./do docs --check   say which generated files are not current, and change none
#   ./do bless [NAME]   write the expected outputs of lit and golden tests, or of lit tests with NAME in their names, from what tapc gives now
#
# "check" is "lint" and then "tests"; .ci/run calls these two, with everything installed that tests need.
# Tests that lack something are skipped, and listed at the end with their reasons.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$*"; }

# Generated files: what is written, and by which command. `go generate ./...` is part of it.
generated='
docs/constraints.md|go generate ./dialects/schedule/constraints
docs/rewrites.md|go generate ./passes/simplify
docs/cli.md docs/passes.md docs/kernels.md docs/search.md|go run ./cmd/tapc docs docs
docs/onnx.md|go run ./tools/onnx/operators docs/onnx.md
docs/vocabularies.md|go run ./tools/vocabulary docs/vocabularies.md
examples|go run ./tools/examples -o examples
ir/wire/tapc.proto|go generate ./ir/wire
plugins/proto/plugin.pb.go plugins/proto/plugin_grpc.pb.go|go generate ./plugins/proto
'

# Expected outputs of golden tests: the packages whose tests write them with -update.
golden='./backends/cpu/cputest ./ir/dot ./passes/fuse ./passes/tile ./tools/onnx/conformance ./tools/glossary ./view/svg'

docs() {
  local files command old bad=0
  while IFS='|' read -r files command; do
    [ -n "$files" ] || continue
    if [ "${1:-}" != --check ]; then
      echo "$command"
      $command
      continue
    fi
    old=$(mktemp -d)
    tar -cf "$old/before.tar" $files
    $command >"$old/log" 2>&1 || { cat "$old/log"; bad=1; }
    tar -df "$old/before.tar" >"$old/log" 2>&1 || true # its status is 1 for other times of files too
    if grep -q 'Contents differ\|Size differs\|No such file' "$old/log"; then
      echo "not current: $files; ./do docs writes it"
      bad=1
    fi
    tar -xf "$old/before.tar"
    rm -rf "$old"
  done <<<"$generated"
  return "$bad"
}

bless() {
  LIT_REWRITE=1 LIT_FILTER=${1:-} go test -count=1 ./lit-tests
  [ $# -gt 0 ] || go test -count=1 $golden -update
  git status --short
}

format() {
  local bad
  bad=$(git ls-files '*.go' | xargs gofmt -l)
  [ -z "$bad" ] || { echo "not gofmt-ed: $bad"; return 1; }
}

# report shows the output of go test -json as go test does, and lists what was skipped.
report() { go run ./tools/testreport; }

quick() {
  step "format, build, vet"
  format
  go vet ./...
  step "tests, the short way"
  go test -vet=off -short -json ./... | report
}

lint() {
  step "format"
  format
  step "build and vet"
  go build ./...
  go vet ./...
  CGO_ENABLED=0 GOFLAGS=-trimpath go build -o /dev/null ./cmd/tapc # as tools/release does, whose test finds what was compiled
  go mod verify >/dev/null
  step "staticcheck"
  go tool -modfile=tools/staticcheck/go.mod staticcheck ./...
  step "generated files"
  docs --check
  step "nightly"
  tools/nightly/age
}

# tests leaves vet to lint, which looks at more, and debug information to who debugs: linking takes two thirds of the time without. The race detector looks at what has goroutines.
tests() {
  # Slow suites take turns from commit to commit; a failure names the command that repeats it.
  TAPC_ROTATION=$(git rev-list --count HEAD)
  export TAPC_ROTATION
  local raced rest
  raced=$(go list ./plugins/... ./tools/lit/...) # tested with the race detector alone, which takes hardly longer
  rest=$(go list ./... | grep -vxF "$raced")
  step "race (rotation $TAPC_ROTATION)"
  go test -vet=off -ldflags=-w -race -short -count=1 -json ./ir/check ./passes/pipeline/... ./backends/constants | report
  go test -vet=off -ldflags=-w -race -short -count=1 -run=Workers -json ./search ./search/layouts | report
  go test -vet=off -ldflags=-w -race -json $raced | report
  step "tests (rotation $TAPC_ROTATION)"
  go test -vet=off -ldflags=-w -json $rest | report
}

check() {
  lint
  tests
}

case "${1:-}" in
  check | quick | docs | bless | lint | tests) "$@" ;;
  *)
    sed -n "2,12s/^# \\{0,1\\}//p" do >&2
    exit 2
    ;;
esac
