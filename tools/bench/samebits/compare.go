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
	skips bool
}

// emit gives the C of both sides, or why a side refuses the graph.
func (p *pair) emit(ctx context.Context, c testCase) (code [2][]byte, refusals [2]error) {
	for i, tapc := range p.tapc {
		out := filepath.Join(c.dir, fmt.Sprintf("program%d.c", i))
		text, err := exec.CommandContext(ctx, tapc, append([]string{"build", c.file, "--emit=c", "-o", out}, c.Build...)...).CombinedOutput()
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
	files, err := filepath.Glob(filepath.Join(dir, "*.[ch]"))
	out := map[string]string{}
	for _, path := range files {
		name := filepath.Base(path)
		if name == "program.c" || strings.HasPrefix(name, "kernels") {
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

// otherLibrary lists the files in which the run-time libraries of the sides differ: all of them where a side writes no folder
// of C for any of the first fifty cases.
func (p *pair) otherLibrary(ctx context.Context, cases []testCase) ([]string, error) {
	var all map[string]string // of a side that writes folders
	for _, c := range cases[:min(len(cases), 50)] {
		old, err := p.library(ctx, c, 0)
		new, err2 := p.library(ctx, c, 1)
		if err != nil || err2 != nil {
			for _, files := range []map[string]string{old, new} {
				if len(files) > 0 {
					all = files
				}
			}
			continue
		}
		var names []string
		for name := range new {
			if new[name] != old[name] {
				names = append(names, name)
			}
		}
		for name := range old {
			if _, ok := new[name]; !ok {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names, nil
	}
	if len(all) == 0 {
		return nil, errors.New("no side builds any case")
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// build makes the program of one side. Its file has the same name on both sides, as programs carry it.
func (p *pair) build(ctx context.Context, c testCase, side int) (string, error) {
	dir := filepath.Join(c.dir, fmt.Sprint(side))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "program")
	text, err := exec.CommandContext(ctx, p.tapc[side], append([]string{"build", c.file, "--cpu=native", "-o", program}, c.Build...)...).CombinedOutput()
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
		return outcome{refused, refusals[1]}
	case refusals[0] != nil:
		return outcome{gained, nil}
	case refusals[1] != nil:
		return outcome{differs, fmt.Errorf("only the new one refuses it: %w", refusals[1])}
	case p.skips && bytes.Equal(withoutNote(code[0]), withoutNote(code[1])):
		return outcome{sameC, nil}
	}
	var out [2]map[string][]byte
	for side := range p.tapc {
		program, err := p.build(ctx, c, side)
		if err == nil && c.Inputs == nil {
			err = c.describe(ctx, program)
		}
		if err == nil {
			out[side], err = c.run(ctx, program)
		}
		if err != nil {
			return outcome{differs, err}
		}
	}
	for name, old := range out[0] {
		if !bytes.Equal(old, out[1][name]) {
			return outcome{differs, fmt.Errorf("%s: %w", name, errDiffers)}
		}
	}
	return outcome{sameBit, nil}
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
