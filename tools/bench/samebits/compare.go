package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// pair is two tapc binaries; skips says that what has the same C, but for the description in it, is the same program.
type pair struct {
	tapc  [2]string
	trees [2]string    // of the commits, "" of a binary
	own   [2]*compiler // in place of how tapc builds programs
	skips bool
}

// emitted is the file that the C of a side is written to.
func (c *testCase) emitted(side int) string {
	return filepath.Join(c.dir, fmt.Sprintf("program%d.c", side))
}

// emit gives the C of both sides, or why a side refuses the graph.
func (p *pair) emit(ctx context.Context, c testCase) (code [2][]byte, refusals [2]error) {
	for i, tapc := range p.tapc {
		out := c.emitted(i)
		text, err := exec.CommandContext(ctx, tapc, append([]string{"build", c.file, "--emit=c", "-o", out, "--no-verify"}, c.Build...)...).CombinedOutput()
		if err == nil {
			code[i], err = os.ReadFile(out)
		}
		if err != nil {
			refusals[i] = fmt.Errorf("%w: %s", err, firstLine(text))
		}
	}
	return code, refusals
}

// firstLine is what a command complains of first.
func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return line
}

// note is the description in a program's C: what made it, and words about its kernels.
var note = regexp.MustCompile(`(?s)  char owner\[8\], text\[.*?\n#define program_description`)

// withoutNote gives C without the description.
func withoutNote(c []byte) []byte { return note.ReplaceAllLiteral(c, nil) }

// library gives the files of the run-time library of a side by name, as a folder of C has them. A case that the side refuses has none.
func (p *pair) library(ctx context.Context, c testCase, side int) (map[string]string, error) {
	dir := filepath.Join(c.dir, fmt.Sprint("library", side))
	if text, err := exec.CommandContext(ctx, p.tapc[side], append([]string{"build", c.file, "--emit=c", "-o", dir + "/"}, c.Build...)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, firstLine(text))
	}
	return sources(dir)
}

// sources gives the C files of a folder, without those of a program.
func sources(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.[ch]"))
	out := map[string]string{}
	for _, path := range files {
		name := filepath.Base(path)
		if name == "program.c" || name == "constants.c" || strings.HasPrefix(name, "kernels") {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out[name] = string(data)
	}
	return out, err
}

// libraries gives the run-time libraries of both sides: as one of the first fifty cases has it, or as the tree of the commit has it, which may be older
// than folders of C. That of a binary which writes none is empty.
func (p *pair) libraries(ctx context.Context, cases []testCase) (both [2]map[string]string, err error) {
	for side := range both {
		for _, c := range cases[:min(len(cases), 50)] {
			if both[side], err = p.library(ctx, c, side); err == nil {
				break
			}
		}
		if err != nil && p.trees[side] != "" {
			both[side], err = sources(filepath.Join(p.trees[side], "backends/cpu/runtime/csrc"))
		}
	}
	if len(both[0])+len(both[1]) == 0 {
		return both, errors.New("no side builds any case")
	}
	return both, nil
}

// otherFiles lists the files in which two libraries differ.
func otherFiles(old, new map[string]string) []string {
	all := maps.Clone(new)
	maps.Copy(all, old)
	maps.DeleteFunc(all, func(name, _ string) bool {
		a, inOld := old[name]
		b, inNew := new[name]
		return inOld && inNew && a == b
	})
	return slices.Sorted(maps.Keys(all))
}

// build makes the program of one side. Its file has the same name on both sides, as programs carry it.
func (p *pair) build(ctx context.Context, c testCase, side int, code []byte) (string, error) {
	dir := filepath.Join(c.dir, fmt.Sprint(side))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "program")
	var text []byte
	var err error
	if p.own[side] != nil {
		text, err = p.own[side].build(ctx, c, c.emitted(side), code, program)
	} else {
		text, err = exec.CommandContext(ctx, p.tapc[side], append([]string{"build", c.file, "--cpu=native", "-o", program}, c.Build...)...).CombinedOutput()
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(text))
	}
	return program, nil
}

// compare builds and runs a case with both. Folders are removed when they are done with.
func (p *pair) compare(ctx context.Context, c testCase) outcome {
	defer os.RemoveAll(c.dir)
	code, refusals := p.emit(ctx, c)
	switch {
	case refusals[0] != nil && refusals[1] != nil:
		return outcome{verdict: refused, err: refusals[1]}
	case refusals[0] != nil:
		return outcome{verdict: gained}
	case refusals[1] != nil:
		return outcome{verdict: differs, err: fmt.Errorf("only the new one refuses it: %w", refusals[1])}
	case p.skips && bytes.Equal(withoutNote(code[0]), withoutNote(code[1])):
		return outcome{verdict: sameC}
	}
	var out [2]map[string][]byte
	for side := range p.tapc {
		program, err := p.build(ctx, c, side, code[side])
		if err == nil && c.Inputs == nil {
			err = c.describe(ctx, program)
		}
		if err == nil {
			out[side], err = c.run(ctx, program)
		}
		if err != nil {
			return outcome{verdict: differs, err: err}
		}
	}
	var outputs []differing
	for _, name := range slices.Sorted(maps.Keys(out[0])) {
		if !bytes.Equal(out[0][name], out[1][name]) {
			by, err := apart(filepath.Join(c.dir, "0", c.Outputs[name]), filepath.Join(c.dir, "1", c.Outputs[name]))
			if err != nil {
				return outcome{verdict: differs, err: err}
			}
			if by != "" {
				outputs = append(outputs, differing{name, by, c.above(name)})
			}
		}
	}
	if len(outputs) > 0 {
		return outcome{verdict: differs, outputs: outputs}
	}
	return outcome{verdict: sameBit}
}

// together compares cases as one program. Where a side cannot build or run it, halves of the cases are compared, and at last each alone.
func (p *pair) together(ctx context.Context, list []testCase) []outcome {
	if len(list) == 1 {
		return []outcome{p.compare(ctx, list[0])}
	}
	dir, err := os.MkdirTemp(filepath.Dir(list[0].dir), "joined")
	var of outcome
	if err == nil {
		var one testCase
		if one, err = join(dir, list); err == nil {
			of = p.compare(ctx, one)
		}
	}
	out := make([]outcome, len(list))
	switch {
	case err == nil && (of.verdict == sameC || of.verdict == sameBit || len(of.outputs) > 0):
		for i, c := range list {
			out[i].verdict = of.verdict
			if of.verdict != differs {
				continue
			}
			out[i].verdict = sameBit
			for _, o := range of.outputs {
				if name, ok := strings.CutPrefix(o.name, joined(i, "")); ok {
					out[i].verdict, out[i].outputs = differs, append(out[i].outputs, differing{name, o.by, o.kernels})
				}
			}
			os.RemoveAll(c.dir)
		}
		return out
	case ctx.Err() != nil:
		return out
	}
	half := len(list) / 2
	return append(p.together(ctx, list[:half]), p.together(ctx, list[half:])...)
}

// run gives the bytes of the files that a program writes.
func (c *testCase) run(ctx context.Context, program string) (map[string][]byte, error) {
	args := []string{"--threads=2"}
	for name, file := range c.Inputs {
		args = append(args, "--input="+name+"="+filepath.Join(c.dir, file))
	}
	for name, file := range c.Outputs {
		args = append(args, "--output="+name+"="+filepath.Join(filepath.Dir(program), file))
	}
	if text, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(text))
	}
	out := map[string][]byte{}
	for name, file := range c.Outputs {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(program), file))
		if err != nil {
			return nil, err
		}
		out[name] = data
	}
	return out, nil
}

// describe makes random inputs for a model from what its program says of itself.
func (c *testCase) describe(ctx context.Context, program string) error {
	text, err := exec.CommandContext(ctx, program, "--describe").Output()
	if err != nil {
		return err
	}
	type tensor struct {
		Name  string  `json:"name"`
		DType string  `json:"dtype"`
		Shape []int64 `json:"shape"`
	}
	var says struct {
		Inputs  []tensor `json:"inputs"`
		Outputs []tensor `json:"outputs"`
	}
	if err := json.Unmarshal(text, &says); err != nil {
		return fmt.Errorf("%s --describe: %w", program, err)
	}
	c.Inputs, c.Outputs = map[string]string{}, map[string]string{}
	rnd := rand.New(rand.NewPCG(1, 0x7a70))
	for i, in := range says.Inputs {
		t, err := scalar.ParseDType(in.DType)
		if err != nil {
			return fmt.Errorf("input %s: %w", in.Name, err)
		}
		n := int64(1)
		for _, d := range in.Shape {
			n *= d
		}
		c.Inputs[in.Name] = fmt.Sprintf("in%d.npy", i)
		data := tensorfile.Tensor{DType: t, Shape: in.Shape, Data: sample.Values(rnd, t, int(n))}
		if err := tensorfile.WriteNPY(filepath.Join(c.dir, c.Inputs[in.Name]), data); err != nil {
			return err
		}
	}
	for i, out := range says.Outputs {
		c.Outputs[out.Name] = fmt.Sprintf("out%d.npy", i)
	}
	return nil
}
