// Package rt holds the C run-time library that every executable of the CPU back end is linked with.
//
// The library is C11 with POSIX threads and no other dependency: the command line, tensor files, random inputs, printing,
// benchmarks, the thread pool and the library interface. Generated code sees csrc/tapc_rt.h alone. Here in Go are the embedded
// sources and Random, the same random inputs for whoever must predict what an executable reads.
//
// It imports ir/scalar and must not import the compiler's graphs, passes or back ends. Read next: csrc/tapc_rt.h, then csrc/internal.h.
package rt

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

//go:embed csrc/*.c csrc/*.h
var sources embed.FS

// Header is the name of the one file of the library that generated code includes.
const Header = "tapc_rt.h"

// LibraryHeader is the name of the file that Header includes: what a library is to its caller.
const LibraryHeader = "tapc_library.h"

// LibraryInterface gives the declarations in LibraryHeader, without what guards and includes it.
func LibraryInterface() string {
	text := string(Files()[LibraryHeader])
	_, text, _ = strings.Cut(text, "#include <stdint.h>\n\n")
	text, _, _ = strings.Cut(text, "\n#endif")
	return text
}

// Main is the name of the file that defines main; a shared library leaves it out.
const Main = "main.c"

// Files gives every source and header of the library by its file name. The caller owns the map and the bytes.
func Files() map[string][]byte {
	files := map[string][]byte{}
	entries, err := sources.ReadDir("csrc")
	if err != nil {
		panic(fmt.Sprintf("rt: embedded sources: %v", err)) // the binary itself would be damaged
	}
	for _, e := range entries {
		data, err := sources.ReadFile(path.Join("csrc", e.Name()))
		if err != nil {
			panic(fmt.Sprintf("rt: embedded sources: %v", err))
		}
		files[e.Name()] = data
	}
	return files
}

// Sources gives the names of the files to compile, sorted: for an executable all of them, for a shared library all but
// those that only a command line needs. Each compiles on its own with -std=c11 and links with -pthread; none needs -lm.
func Sources(executable bool) []string {
	library := map[string]bool{"cgroup.c": true, "cpus.c": true, "devices.c": true, "dtype.c": true, "fault.c": true, "features.c": true, "instance.c": true, "memory.c": true, "park.c": true, "pool.c": true, "sizes.c": true, "weights.c": true}
	var names []string
	for name := range Files() {
		if strings.HasSuffix(name, ".c") && (executable || library[name]) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// A Unit is several sources of the library in one text, which compiles faster than they would apart. Names of static functions
// are therefore used once in the library.
type Unit struct {
	Name  string // of a file for it
	Text  string
	Flags []string // how much the compiler shall optimize
}

// units are the sources by what they are compiled with: those that time is spent in, those that read and write files, and what runs
// once.
var units = []struct {
	name, flag string
	sources    []string
}{
	{"rt_fast", "-O2", []string{"cgroup.c", "cpus.c", "devices.c", "dtype.c", "fault.c", "features.c", "inflate.c", "instance.c", "memory.c", "park.c", "pool.c", "random.c", "sizes.c", "weights.c", "zip.c"}},
	{"rt_files", "-O1", []string{"archive.c", "npy.c", "pack.c", "safetensors.c", "sink.c"}},
	{"rt_program", "-O0", []string{"args.c", "bench.c", "help.c", "main.c", "print.c", "room.c"}},
}

// features are the feature-test macros that the sources define, which must stand before the first header of a text.
const features = "#define _FILE_OFFSET_BITS 64\n#define _GNU_SOURCE\n"

// Units gives what to compile for an executable or a shared library.
func Units(executable bool) []Unit {
	files, needed := Files(), Sources(executable)
	var out []Unit
	for _, u := range units {
		var b strings.Builder
		for _, name := range u.sources {
			if slices.Contains(needed, name) {
				fmt.Fprintf(&b, "#line 1 %q\n%s\n", name, withoutFeatures(files[name]))
			}
		}
		if b.Len() > 0 {
			out = append(out, Unit{u.name + ".c", features + b.String(), []string{u.flag}})
		}
	}
	return out
}

// withoutFeatures empties the lines that define feature-test macros.
func withoutFeatures(source []byte) string {
	lines := strings.Split(string(source), "\n")
	for i, line := range lines {
		if line != "" && strings.Contains(features, line+"\n") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// Digest is the SHA-256 of all files and their names in hexadecimal: the key of a cache of compiled objects.
func Digest() string {
	files := Files()
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	h := sha256.New()
	for _, name := range names {
		fmt.Fprintf(h, "%s %d\n", name, len(files[name]))
		h.Write(files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}
