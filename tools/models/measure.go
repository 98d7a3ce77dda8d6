package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	_ "embed"

	"tensortapestry.org/tapc/cmd/tapc/compare"
	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/internal/outputfile"
)

// finding is what became of a model.
type finding struct {
	Key        string          `json:"key"` // of the package, the flags and the inputs: what was found holds for these alone
	SHA256     string          `json:"sha256"`
	Parameters int64           `json:"parameters"` // bytes
	Program    int64           `json:"program"`    // bytes of the executable
	Refused    string          `json:"refused,omitempty"`
	Parts      bool            `json:"parts"`
	Own        float64         `json:"own,omitempty"` // of one that parts: how far ONNX Runtime's results move with its inputs, see stability.py
	Report     *compare.Report `json:"report,omitempty"`
}

// row is a model with what became of it.
type row struct {
	of *Package
	Model
	finding
}

// model fetches, describes, builds and compares one model.
func (s *settings) model(ctx context.Context, p *Package, m *Model) (*finding, error) {
	file, err := s.fetch(ctx, p, m)
	if err != nil {
		return nil, err
	}
	f := &finding{Key: key(p, m)}
	if f.SHA256, err = sum(file); err != nil {
		return nil, err
	}
	if err := s.describe(ctx, file, f); err != nil {
		return nil, err
	}
	program := filepath.Join(s.cache, "program")
	if _, err := command(ctx, s.tapc, slices.Concat([]string{"build", file, "-o", program, "--progress=none"}, m.Flags)...); err != nil {
		f.Refused = reason(err)
		return f, s.keep(m, f)
	}
	info, err := os.Stat(program)
	if err != nil {
		return nil, err
	}
	f.Program = info.Size()
	if err := s.compare(ctx, file, m, f); err != nil {
		return nil, err
	}
	return f, s.keep(m, f)
}

func key(p *Package, m *Model) string {
	text, _ := json.Marshal([]any{p.SHA256, m.Path, m.Flags, m.Inputs})
	return string(text)
}

func sum(file string) (string, error) {
	data, err := os.ReadFile(file)
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:]), err
}

// describe asks tapc info.
func (s *settings) describe(ctx context.Context, file string, f *finding) error {
	out, err := command(ctx, s.tapc, "info", "--json", file)
	if err != nil {
		return err
	}
	var x struct{ Parameters struct{ Bytes int64 } }
	err = json.Unmarshal(out, &x)
	f.Parameters = x.Parameters.Bytes
	return err
}

// compare asks tapc compare. Its status is 1 where values part, and it says so all the same.
func (s *settings) compare(ctx context.Context, file string, m *Model, f *finding) error {
	var files []string
	args := slices.Concat([]string{"compare", file, "--against=" + compare.Peer, "--python=" + s.python, "--json", "--progress=none", fmt.Sprintf("--rounds=%d", s.rounds)}, m.Flags)
	for name, what := range m.Inputs {
		path := filepath.Join(s.cache, "input-"+m.Name+".npy")
		data, err := picture(what)
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			return err
		}
		files = append(files, name+"="+path)
		args = append(args, "--input", name+"="+path)
	}
	out, err := command(ctx, s.tapc, args...)
	if err != nil && len(out) == 0 {
		return err
	}
	f.Report = new(compare.Report)
	if err := json.Unmarshal(out, f.Report); err != nil {
		return err
	}
	if f.Parts = !f.Report.Values.Agree(); f.Parts {
		if err := s.stability(ctx, file, m, files, f); err != nil {
			return err
		}
	}
	if old, err := s.found(m.Name); err == nil && old.Key == f.Key && old.Report != nil && s.rounds == 0 {
		f.Report.Speed, f.Report.Startup, f.Report.Memory = old.Report.Speed, old.Report.Startup, old.Report.Memory
	}
	return nil
}

//go:embed stability.py
var stability string

// stability asks how far ONNX Runtime's results move when its inputs move by a millionth of themselves.
func (s *settings) stability(ctx context.Context, file string, m *Model, inputs []string, f *finding) error {
	args := []string{"-W", "ignore", "-c", stability, file}
	for i, flag := range m.Flags {
		if flag == "--dim" {
			args = append(args, m.Flags[i+1])
		}
	}
	out, err := command(ctx, s.python, append(args, inputs...)...)
	if err == nil {
		f.Own, err = strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	}
	return err
}

func (s *settings) keep(m *Model, f *finding) error {
	dir := filepath.Join(s.cache, "found")
	text, err := json.MarshalIndent(f, "", " ")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	return outputfile.Replace(filepath.Join(dir, m.Name+".json"), 0o600, func(w *os.File) error { _, err := w.Write(text); return err })
}

func (s *settings) found(name string) (*finding, error) {
	text, err := os.ReadFile(filepath.Join(s.cache, "found", name+".json"))
	if err != nil {
		return nil, err
	}
	f := new(finding)
	return f, json.Unmarshal(text, f)
}

// known gives all models with what was found, now or before.
func (s *settings) known(list []Package) ([]row, error) {
	var rows []row
	for i := range list {
		for _, m := range list[i].Models {
			f, err := s.found(m.Name)
			if err == nil && f.Key != key(&list[i], &m) {
				err = errors.New("it was looked at with other flags")
			}
			if err != nil {
				return nil, fmt.Errorf("no page: nothing is known of %s: %w", m.Name, err)
			}
			rows = append(rows, row{&list[i], m, *f})
		}
	}
	return rows, nil
}

// command runs a program and gives what it prints.
func command(ctx context.Context, name string, args ...string) ([]byte, error) {
	var out, said bytes.Buffer
	cmd := childproc.Command(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err := childproc.Run(ctx, cmd)
	var e *exec.ExitError
	if errors.As(err, &e) && said.Len() > 0 {
		err = errors.New(strings.TrimSpace(said.String()))
	}
	return out.Bytes(), err
}

// reason is what an error of tapc says, without its place in the file.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if _, after, ok := strings.Cut(line, " error: "); ok {
		return after
	}
	return line
}

func (f *finding) summary() string {
	switch {
	case f.Refused != "":
		return "refused: " + f.Refused
	case f.Parts:
		return "PARTS"
	case f.Report.Speed == nil:
		return fmt.Sprintf("agrees within %.1g", worst(f.Report).Scaled)
	}
	return fmt.Sprintf("agrees within %.1g, %.2f of the time", worst(f.Report).Scaled, f.Report.Speed.Ratio.Median)
}

// worst is the output with the greatest error.
func worst(r *compare.Report) compare.Agreement {
	return slices.MaxFunc(r.Values.Outputs, func(a, b compare.Agreement) int {
		switch {
		case a.Scaled < b.Scaled:
			return -1
		case a.Scaled > b.Scaled:
			return 1
		}
		return 0
	})
}
