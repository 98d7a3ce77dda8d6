package cpu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/panels"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// objects compiles the kernels of a program, its constants, the run-time library, and the program, which says how large the kernels became, side by side, and gives the objects. What
// was compiled before comes from the cache. The constants may be one of the files instead.
func objects(ctx context.Context, c *toolchain.Compiler, dir string, kernels written, src *Source, load panels.LoadConst, opt Options, what artifact, files *outputfile.Files) ([]string, error) {
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
	first := len(units) // of the kernels
	of := func(p part) toolchain.Unit {
		flags := slices.Concat(toolchain.UsualFlags(), c.StackFlags(), p.flags, shared, opt.Flags)
		return toolchain.Unit{Name: p.name + ".c", Text: p.text, Key: string(headers[rt.Header]) + string(headers[rt.LibraryHeader]), Flags: flags}
	}
	for _, p := range kernels.parts {
		units = append(units, of(p))
	}
	out := make([]string, len(units)+1, len(units)+3)
	program := func() error {
		weigh(kernels.parts, out[first:])
		text, err := src.whole(kernels.calls, what, opt.Weights != "")
		if err == nil {
			out[len(units)], err = c.Compile(ctx, cache, dir, of(part{name: "program", text: text}))
		}
		return err
	}
	var left atomic.Int64
	left.Add(int64(len(kernels.parts)))
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
			out[len(units)+1], err = constantsObject(ctx, c, dir, src.program.Block, load)
			return err
		})
	}
	for i, u := range units {
		group.Go(func() (err error) {
			if out[i], err = c.Compile(ctx, cache, dir, u); err == nil && i >= first && left.Add(-1) == 0 {
				err = program()
			}
			return err
		})
	}
	err := group.Wait()
	return append(out, separated...), err
}

// weigh reads how large the kernels of programs became from their objects, so that the programs state it. Where that is not known, an estimate stays.
func weigh(parts []part, objects []string) {
	of, fused := map[*program][]cabi.Code{}, map[*program]bool{}
	for i, x := range parts {
		object, ok := toolchain.ReadObject(objects[i])
		if !ok {
			return
		}
		calls := slices.ContainsFunc(object.Calls, func(name string) bool { return name == "fma" || name == "fmaf" })
		for _, p := range x.programs {
			at := slices.IndexFunc(of[p], func(c cabi.Code) bool { return c.Processor == x.target })
			if at < 0 {
				at, of[p] = len(of[p]), append(of[p], cabi.Code{Processor: x.target})
			}
			of[p][at].Bytes += object.Bytes
			fused[p] = fused[p] || calls
		}
	}
	for p, code := range of {
		p.sizes, p.Process.Fused, p.Process.Code = code, fused[p], 0
		for _, c := range code {
			p.Process.Code = max(p.Process.Code, c.Bytes)
		}
	}
}
