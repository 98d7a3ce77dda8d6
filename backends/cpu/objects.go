package cpu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tensortapestry.org/tapc/backends/cpu/panels"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// objects compiles the parts of a program, its constants and the run-time library, side by side, and gives the objects. What
// was compiled before comes from the cache. The constants may be one of the files instead.
func objects(ctx context.Context, c *toolchain.Compiler, dir string, parts []part, src *Source, load panels.LoadConst, opt Options, what artifact, files *outputfile.Files) ([]string, error) {
	cache, _ := filecache.Open() // without one everything is compiled
	defer cache.Close()
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
	var units []toolchain.Unit
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
		units = append(units, toolchain.Unit{Name: u.Name, Text: u.Text, Key: rt.Digest(), Flags: slices.Concat(library, u.Flags)})
	}
	for _, p := range parts {
		flags := slices.Concat(toolchain.UsualFlags(), c.StackFlags(), p.flags, shared, opt.Flags)
		units = append(units, toolchain.Unit{Name: p.name + ".c", Text: p.text, Key: string(headers[rt.Header]) + string(headers[rt.LibraryHeader]), Flags: flags})
	}
	out := make([]string, len(units), len(units)+2)
	var separated []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0) + 1)
	switch {
	case src.program.Block.Bytes == 0:
	case opt.Weights != "":
		group.Go(func() (err error) {
			separated, err = separateObjects(ctx, c, dir, src.program.Block, load, opt.Weights, shared, files)
			return err
		})
	default:
		out = append(out, "")
		group.Go(func() (err error) {
			out[len(units)], err = constantsObject(ctx, c, dir, src.program.Block, load)
			return err
		})
	}
	for i, u := range units {
		group.Go(func() (err error) {
			out[i], err = c.Compile(ctx, cache, dir, u)
			return err
		})
	}
	err := group.Wait()
	return append(out, separated...), err
}
