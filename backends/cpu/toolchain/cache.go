package toolchain

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/ir/diag"
)

// Unit is one file to compile, with all that decides about its object.
type Unit struct {
	Name  string
	Text  string
	Key   string // more that the text depends on, such as the headers that it includes
	Flags []string
}

// Compile gives the object of one file, from the cache or made now, as a file in the folder of the build.
func (c *Compiler) Compile(ctx context.Context, cache *filecache.Cache, dir string, u Unit) (string, error) {
	object := filepath.Join(dir, u.Name+".o")
	key, lasts := c.keyOf(u)
	if lasts {
		if data, ok := cache.Get(key); ok {
			if err := os.WriteFile(object, data, 0o600); err != nil {
				return "", diag.Fault("%v", err)
			}
			return object, nil
		}
	}
	source := filepath.Join(dir, u.Name)
	if err := os.WriteFile(source, []byte(u.Text), 0o644); err != nil {
		return "", diag.Fault("%v", err)
	}
	if err := c.Run(ctx, dir, append(slices.Clone(u.Flags), "-I", dir, "-c", source, "-o", object)...); err != nil {
		return "", err
	}
	data, err := os.ReadFile(object)
	if err != nil || len(data) == 0 {
		return "", diag.Usage("%s, which should compile C, wrote no object file: expected a C compiler", c.Path)
	}
	if lasts {
		cache.Put(key, data)
	}
	return object, nil
}

// keyOf digests all that decides about the object of a file: the compiler, what it takes from the environment and from the machine, the
// flags and the text. An object does not last whose flags may name files, which change.
func (c *Compiler) keyOf(u Unit) (key filecache.Key, lasts bool) {
	flags := slices.Concat(c.Args, u.Flags)
	host, lasts := hostKey(flags)
	lasts = lasts && !slices.ContainsFunc(flags, func(f string) bool { return !selfContained(f) })
	parts := []string{"tapc object 3", c.identity(), u.Key, u.Text, host}
	for _, name := range compilerEnvironment {
		parts = append(parts, name+"="+os.Getenv(name))
	}
	h := sha256.New()
	for _, s := range append(parts, flags...) {
		fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	return filecache.Key(h.Sum(nil)), lasts
}

// compilerEnvironment are the variables from which compilers take flags, headers and parts of themselves.
var compilerEnvironment = []string{"CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH", "SDKROOT"}

// identity tells compilers apart: by what they say of themselves, what they compile for, by place, and by the file there.
func (c *Compiler) identity() string {
	path, err := filepath.EvalSymlinks(c.Path)
	if err != nil {
		path = c.Path
	}
	info, err := os.Stat(path)
	if err != nil {
		return path + "\n" + c.Machine.Triple + "\n" + c.says
	}
	return fmt.Sprintf("%s %d %d\n%s\n%s", path, info.Size(), info.ModTime().UnixNano(), c.Machine.Triple, c.says)
}

// selfContained says whether a flag means the same as long as the compiler is the same.
func selfContained(flag string) bool {
	switch {
	case strings.HasPrefix(flag, "-fplugin"), strings.HasPrefix(flag, "-fprofile"), strings.HasPrefix(flag, "-fauto-profile"), strings.ContainsAny(flag, `/@`):
		return false
	}
	return flag == "-pthread" || flag == "-w" || slices.ContainsFunc([]string{"-O", "-D", "-U", "-f", "-g", "-m", "-std=", "--target=", "-Wno-", "-Wall", "-Wextra", "-Werror"},
		func(prefix string) bool { return strings.HasPrefix(flag, prefix) })
}

// Digest tells apart what writes other code of one text: compilers, what they take from the environment and from the machine, and flags. It lasts as long as
// the files that these may name do not change.
func (c *Compiler) Digest(flags []string) (digest string, lasts bool) {
	key, lasts := c.keyOf(Unit{Flags: flags})
	return fmt.Sprintf("%x", key), lasts
}

// hostKey tells machines apart where a flag means this machine's processor; it does not where the system does not say what that is.
func hostKey(flags []string) (key string, known bool) {
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasSuffix(f, "=native") }) {
		return "", true
	}
	return Processor()
}

// Processor gives what decides about code for this machine's processor, in lines; known says whether the system tells.
func Processor() (key string, known bool) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", false
	}
	first, _, _ := strings.Cut(string(text), "\n\n") // one processor
	var b strings.Builder
	for line := range strings.Lines(first) {
		name, _, _ := strings.Cut(line, ":")
		if slices.Contains(hostLines, strings.TrimSpace(name)) {
			b.WriteString(line)
		}
	}
	return b.String(), b.Len() > 0
}

// hostLines are what decides about code for a processor.
var hostLines = []string{"vendor_id", "cpu family", "model", "stepping", "cache size", "flags", "Features", "CPU implementer", "CPU architecture",
	"CPU variant", "CPU part", "CPU revision"}
