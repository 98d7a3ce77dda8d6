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
	"sort"
	"strings"
)

//go:embed csrc/*.c csrc/*.h
var sources embed.FS

// Header is the name of the one file of the library that generated code includes.
const Header = "tapc_rt.h"

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
	library := map[string]bool{"cpus.c": true, "fault.c": true, "instance.c": true, "memory.c": true, "pool.c": true}
	var names []string
	for name := range Files() {
		if strings.HasSuffix(name, ".c") && (executable || library[name]) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
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
