#!/bin/sh
# Lines of Go and C from a scheduled kernel to the C of a CPU, at commits, without tests, test helpers and Arm:
#
#	sh tools/bench/lines.sh COMMIT...
#
# kernels: how a kernel becomes C. The packages of backends/cpu that decide, pack, write and print, backends/cnest, passes/tile, and the analyses and
# configs of schedules. programs: what is around kernels, as entry points, libraries, C compilers, descriptions in files, several devices, tables for
# several sizes, and tuning. The run-time library (backends/cpu/runtime) is neither.
set -eu
for commit in "$@"; do
	git ls-tree -r --name-only "$commit" -- backends/cpu backends/tune backends/cnest passes/tile dialects/schedule/nest dialects/schedule/alike dialects/schedule/config.go |
		grep -E '\.(go|c)$' | grep -vE '_test\.go$|/testdata/|/cputest/|/runtime/|/micro/c/(us|s|bf)dot\.c$' |
		while read -r file; do
			part=kernels
			case ${file#backends/cpu/} in
			backends/tune/* | tune/* | trial/* | template/* | devices/* | note/* | cabi/* | symbols/* | toolchain/*) part=programs ;;
			# files of the package of programs, which held kernels too once
			build.go | cpu.go | dispatch.go | elf.go | emit.go | lab.go | library.go | memory.go | objects.go | program.go | target.go | toolchain.go | versions.go)
				part=programs ;;
			*/*) ;;
			*) test -z "$(git ls-tree --name-only "$commit" backends/cpu/product)" || part=programs ;;
			esac
			echo "$part $(git show "$commit:$file" | wc -l)"
		done | awk -v commit="$commit" '{ n[$1] += $2 } END { printf "%s: kernels %d, programs %d\n", commit, n["kernels"], n["programs"] }'
done
