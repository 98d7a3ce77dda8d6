#!/bin/sh
# Installs a CUDA compiler (nvcc, ptxas, headers) for one user: no root, no GPU, no driver.
# It takes pinned Python wheels from the package index that pip is configured with, checks
# their hashes, and unpacks them into $TAPC_CUDA_HOME, or the cache folder where that is unset.
# usage: tools/cuda/install.sh [--minimal] [--force]
#   --minimal  leave out NVRTC and the disassemblers (halves the download)
#   --force    replace an installation that is already there
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dest=${TAPC_CUDA_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/tapc/cuda}
minimal=no force=no
for arg in "$@"; do
	case $arg in
	--minimal) minimal=yes ;;
	--force) force=yes ;;
	*) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done

die() { echo "tools/cuda/install.sh: $*" >&2; exit 1; }

case $(uname -sm) in
"Linux x86_64" | "Linux aarch64") ;;
*) die "no pinned CUDA wheels for $(uname -sm); set TAPC_CUDA_HOME to a CUDA 12 or 13 toolkit" ;;
esac

# What was installed is kept beside it as a copy of the lists, so a changed pin is noticed.
complete() {
	[ -x "$dest/bin/nvcc" ] && cmp -s "$here/compiler.txt" "$dest/.tapc-compiler" &&
		{ [ $minimal = yes ] || cmp -s "$here/extras.txt" "$dest/.tapc-extras"; }
}
if complete && [ $force = no ]; then
	echo "$dest: already installed (--force replaces it)"
	exit 0
fi
if [ -e "$dest" ] && [ ! -e "$dest/.tapc-compiler" ] && [ -n "$(ls -A "$dest")" ]; then
	die "$dest is not empty and was not made by this script; set TAPC_CUDA_HOME to another folder"
fi
python3 -m pip --version >/dev/null 2>&1 || die "needs python3 with pip"

umask 022 # tapc runs only what nobody else can write
mkdir -p "$(dirname "$dest")"
work=$(mktemp -d "$dest.partial.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

set -- -r "$here/compiler.txt"
[ $minimal = yes ] || set -- "$@" -r "$here/extras.txt"
python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes \
	--dest "$work/wheels" "$@" || die "the download failed"

# The wheels hold one tree, nvidia/cu13/{bin,include,lib,nvvm}; unpacking also restores the modes that zip keeps.
python3 - "$work" <<'PY'
import os, sys, zipfile
work = sys.argv[1]
for name in sorted(os.listdir(work + "/wheels")):
    with zipfile.ZipFile(os.path.join(work, "wheels", name)) as z:
        for item in z.infolist():
            path = z.extract(item, work + "/tree")
            mode = item.external_attr >> 16
            if mode and not item.is_dir():
                os.chmod(path, (mode & 0o755) | (0o755 if mode & 0o100 else 0o644))
PY
root=$work/tree/nvidia/cu13
[ -x "$root/bin/nvcc" ] || die "the wheels hold no nvidia/cu13/bin/nvcc; their layout has changed"
rm -rf "$root/.metadata"
cp "$here/compiler.txt" "$root/.tapc-compiler"
[ $minimal = yes ] || cp "$here/extras.txt" "$root/.tapc-extras"

rm -rf "$dest"
mv "$root" "$dest"
"$dest/bin/nvcc" --version | sed -n 's/^Cuda compilation tools, /nvcc /p'
echo "installed in $dest"
