#!/bin/sh
# Builds tapc-cuda, the program that runs launch plans on a GPU, with its CUDA body.
# Needs go, gcc and CUDA's headers; no GPU and no driver. It links against a stand-in for the driver's
# library; where the program runs, the loader finds the real libcuda.so.1.
# usage: tools/cuda/build.sh OUTPUT [go build flags...]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
output=$1
shift
case $output in /*) ;; *) output=$PWD/$output ;; esac

cache=${XDG_CACHE_HOME:-$HOME/.cache}/tapc
include=
on_path=$(command -v nvcc || true)
for home in "${TAPC_CUDA_HOME:-}" "${on_path%/bin/nvcc}" /usr/local/cuda "$cache/cuda" /usr; do
	if [ -n "$home" ] && [ -e "$home/include/cuda.h" ]; then
		include=$home/include
		break
	fi
done
[ -n "$include" ] || {
	echo "tools/cuda/build.sh: no cuda.h found: run tools/cuda/install.sh, or set TAPC_CUDA_HOME to a CUDA toolkit" >&2
	exit 1
}

# A fixed place, so that go's build cache knows the flags again.
stub=$cache/cuda-stub
mkdir -p "$stub"
work=$(mktemp -d "$stub/new.XXXXXX")
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=c11 -O1 -shared -fPIC -fvisibility=hidden -Wl,-soname,libcuda.so.1 \
	-o "$work/libcuda.so" "$root/internal/cudashim/fake/src/libcuda.c" -ldl -lpthread
mv "$work/libcuda.so" "$stub/libcuda.so"

cd "$root"
# -w: the binding uses texture references, which CUDA 12 declares deprecated.
CGO_ENABLED=1 \
	CGO_CFLAGS="-O2 -w -I$root/internal/cudashim -I$include" \
	CGO_LDFLAGS="-L$stub" \
	go build -tags cuda -o "$output" "$@" ./cmd/tapc-cuda
