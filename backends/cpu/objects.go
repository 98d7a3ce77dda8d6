package cpu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/ir/diag"
)

// maxObjects is how many objects the cache keeps.
const maxObjects = 4096

// cacheFolder gives the folder of compiled objects, which it makes.
func cacheFolder() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "tapc", "objects")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", diag.Fault("the cache of compiled objects: %v", err)
	}
	return dir, nil
}

// unit is one file to compile, with all that decides about its object.
type unit struct {
	name  string
	text  string
	key   string // more that the text depends on, such as the headers that it includes
	flags []string
}

// objects compiles the parts of a program, its constants and the run-time library, side by side, and gives the objects. What
// was compiled before comes from the cache.
func (c *Compiler) objects(ctx context.Context, dir string, parts []part, src *Source, load LoadConst, opt Options, what artifact) ([]string, error) {
	cache, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	headers := map[string][]byte{}
	for name, text := range rt.Files() {
		if strings.HasSuffix(name, ".h") {
			headers[name] = text
		}
	}
	for name, text := range headers {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return nil, diag.Fault("%v", err)
		}
	}
	var units []unit
	shared := []string{}
	if what != executable {
		shared = []string{"-fPIC", "-fvisibility=hidden"}
	}
	library := append([]string{"-std=c11", "-pthread", fmt.Sprintf("-DTAPC_VERSION=%q", opt.Version)}, shared...)
	for _, f := range opt.Flags { // a sanitizer must see the synchronization there too
		if strings.HasPrefix(f, "-fsanitize") || strings.HasPrefix(f, "-fno-sanitize") {
			library = append(library, f)
		}
	}
	for _, u := range rt.Units(what == executable) { // first, as one of them takes longer than any part
		units = append(units, unit{name: u.Name, text: u.Text, key: rt.Digest(), flags: slices.Concat(library, u.Flags)})
	}
	for _, p := range parts {
		flags := slices.Concat(usualFlags(), c.stackFlags(), p.flags, shared, opt.Flags)
		units = append(units, unit{name: p.name + ".c", text: p.text, key: string(headers[rt.Header]), flags: flags})
	}
	out := make([]string, len(units), len(units)+2)
	var separated []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0) + 1)
	switch {
	case src.program.block.bytes == 0:
	case opt.Weights != "" && what == executable:
		group.Go(func() (err error) {
			separated, err = c.separateObjects(ctx, dir, src.program.block, load, opt.Weights)
			return err
		})
	default:
		out = append(out, "")
		group.Go(func() (err error) {
			out[len(units)], err = c.constants(ctx, dir, src.program.block, load)
			return err
		})
	}
	for i, u := range units {
		group.Go(func() (err error) {
			out[i], err = c.compile(ctx, cache, dir, u)
			return err
		})
	}
	err = group.Wait()
	return append(out, separated...), err
}

// compile gives the object of one file, from the cache or made now, as a file in the folder of the build: another build may take it out
// of the cache at any time. Its name in the cache is a digest of the text, the compiler and the flags, so it is never stale.
func (c *Compiler) compile(ctx context.Context, cache, dir string, u unit) (string, error) {
	h := sha256.New()
	for _, s := range append([]string{c.Path, c.Version, u.key, u.text, hostKey(u.flags)}, u.flags...) {
		fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	cached := filepath.Join(cache, hex.EncodeToString(h.Sum(nil)[:16])+".o")
	object := filepath.Join(dir, u.name+".o")
	now := time.Now()
	if os.Chtimes(cached, now, now) == nil && share(cached, object) == nil { // it is there, and is kept longer now
		return object, nil
	}
	source := filepath.Join(dir, u.name)
	if err := os.WriteFile(source, []byte(u.text), 0o644); err != nil {
		return "", diag.Fault("%v", err)
	}
	if err := c.run(ctx, append(slices.Clone(u.flags), "-I", dir, "-c", source, "-o", object)...); err != nil {
		return "", err
	}
	if err := store(object, cached); err != nil {
		return "", diag.Fault("the cache of compiled objects: %v", err)
	}
	prune(cache)
	return object, nil
}

// share gives a file a second name, or makes a copy of it where it can have none.
func share(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// store puts an object in the cache, whole.
func store(object, cached string) error {
	tmp, err := os.CreateTemp(filepath.Dir(cached), "new-")
	if err != nil {
		return err
	}
	tmp.Close()
	defer os.Remove(tmp.Name())
	if err := share(object, tmp.Name()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), cached)
}

// hostKey tells machines apart where a flag means this machine's processor.
func hostKey(flags []string) string {
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasSuffix(f, "=native") }) {
		return ""
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "flags") || strings.HasPrefix(line, "Features") {
			return line
		}
	}
	return ""
}

// prune removes the objects that were made first when there are too many. Failing to is no fault.
func prune(cache string) {
	entries, err := os.ReadDir(cache)
	if err != nil || len(entries) <= maxObjects {
		return
	}
	type aged struct {
		name string
		time int64
	}
	var list []aged
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			list = append(list, aged{e.Name(), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(list, func(a, b aged) int {
		if a.time != b.time {
			return int(min(1, max(-1, a.time-b.time)))
		}
		return strings.Compare(a.name, b.name)
	})
	for _, a := range list[:len(list)/4] {
		os.Remove(filepath.Join(cache, a.name))
	}
}
