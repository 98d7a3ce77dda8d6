// Package rebuild builds a program again from what it says made it, and compares the two.
//
// A program's record is the word of whoever made the file: nothing that it says starts a program or writes a file. Read next: words.go, which
// checks the command; cmd/tapc/recorded, which makes records.
package rebuild

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/cmd/tapc/inspect"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// Job is one use of the command.
type Job struct {
	Program string
	From    string                                                        // the folder of the inputs
	Output  string                                                        // what is built; "" keeps nothing
	Own     []string                                                      // flags that start programs, which the user gives again
	Build   func(ctx context.Context, folder string, args []string) error // runs tapc in a folder
	Print   io.Writer
}

// Run builds and compares. Programs that differ are an error if what is built is not kept.
func (j *Job) Run(ctx context.Context) error {
	f, err := inspect.Read(j.Program)
	if err != nil {
		return err
	}
	made, err := j.made(f)
	if err != nil {
		return err
	}
	words, beside, err := j.words(made)
	if err != nil {
		return err
	}
	if err := j.sameInputs(made.Inputs); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tapc-")
	if err != nil {
		return diag.Fault("%w", err)
	}
	defer os.RemoveAll(dir)
	out := j.Output
	if out == "" {
		out = filepath.Join(dir, filepath.Base(j.Program))
		if beside != "" {
			out = filepath.Join(dir, beside)
		}
	}
	if out, err = filepath.Abs(out); err != nil {
		return diag.Fault("%w", err)
	}
	if err := j.Build(ctx, j.From, append(words, "--reproducer-dir=", "--output="+out)); err != nil {
		return err
	}
	return j.compare(f, out, beside)
}

// made gives the record of the one program in a file.
func (j *Job) made(f *inspect.File) (*cabi.Made, error) {
	switch {
	case len(f.Programs) != 1:
		return nil, j.unfit("it has %d programs in it", len(f.Programs))
	case f.Programs[0].Made == nil:
		return nil, j.unfit("it was made for one run, and says of no command")
	case f.Programs[0].Made.Output == "c":
		return nil, j.unfit("tapc wrote C, which somebody compiled")
	}
	return f.Programs[0].Made, nil
}

func (j *Job) unfit(format string, args ...any) error {
	return diag.Errorf("TAP2704", "program", diag.Location{File: j.Program}, "it can not be built again: "+format, args...)
}

// sameInputs holds the files in the folder to the digests of the record; the error has all that differ.
func (j *Job) sameInputs(list []backends.Input) error {
	var bad diag.List
	for _, x := range list {
		path := filepath.Join(j.From, filepath.FromSlash(x.Name))
		if x.SHA256 == "" {
			bad = append(bad, diag.Errorf("TAP2706", "program", diag.Location{File: path}, "the program was made from what could be read only once, as a pipe"))
			continue
		}
		got, err := digest(path)
		if err != nil {
			bad = append(bad, diag.Errorf("TAP2706", "program", diag.Location{File: path}, "a file that the program was made from can not be read: %v", err).
				WithHint("--from names the folder of the files that a program was made from"))
		} else if got != x.SHA256 {
			bad = append(bad, diag.Errorf("TAP2706", "program", diag.Location{File: path}, "it is not the file that the program was made from").
				Want(fmt.Sprintf("%d bytes with SHA-256 %.100s", x.Bytes, x.SHA256), got))
		}
	}
	return bad.Err()
}

func digest(path string) (string, error) {
	f, err := inputfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// compare says whether what was built is what was there, and if it is not why, as far as the two say that.
func (j *Job) compare(old *inspect.File, out, beside string) error {
	at, err := difference(j.Program, out)
	if _, none := os.Stat(out + cabi.WeightsSuffix); err == nil && at < 0 && beside != "" && none == nil { // a program without constants has no such file
		at, err = difference(filepath.Join(filepath.Dir(j.Program), beside+cabi.WeightsSuffix), out+cabi.WeightsSuffix)
	}
	if err != nil {
		return err
	}
	if at < 0 {
		fmt.Fprintf(j.Print, "%s: built again, the same %d bytes\n", j.Program, old.Bytes)
		return nil
	}
	d := diag.Errorf("TAP2707", "program", diag.Location{File: j.Program}, "built again it has other bytes, from byte %d on", at)
	if now, err := inspect.Read(out); err == nil && len(now.Programs) == 1 {
		for _, line := range reasons(&old.Programs[0], &now.Programs[0]) {
			d = d.WithNote(diag.Location{}, "%s", line)
		}
	}
	if j.Output != "" {
		fmt.Fprintln(j.Print, d.Error())
		for _, n := range d.Notes {
			fmt.Fprintf(j.Print, "  %s\n", n.Message)
		}
		return nil
	}
	return d
}

// reasons says in what the records differ.
func reasons(old, now *inspect.Program) (lines []string) {
	for _, x := range []struct{ what, old, now string }{
		{"the version of tapc", old.Tapc, now.Tapc},
		{"the revision of tapc", old.Made.Revision, now.Made.Revision},
		{"the compiler", old.Made.Compiler, now.Made.Compiler},
		{"the target", old.Made.Machine, now.Made.Machine},
		{"the processors", fmt.Sprint(old.Made.Processors), fmt.Sprint(now.Made.Processors)},
		{"the command", fmt.Sprintf("%q", old.Made.Command), fmt.Sprintf("%q", now.Made.Command)},
	} {
		if x.old != x.now {
			lines = append(lines, fmt.Sprintf("%s: then %q, now %q", x.what, x.old, x.now))
		}
	}
	if len(lines) == 0 {
		lines = []string{"version, compiler, target and command are the same: this machine's processor, its libraries or the file itself are not"}
	}
	return lines
}

// difference gives the first byte in which two files differ, or -1.
func difference(a, b string) (int64, error) {
	var readers [2]*bufio.Reader
	for i, path := range []string{a, b} {
		f, err := inputfile.Open(path)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		readers[i] = bufio.NewReaderSize(f, 1<<20)
	}
	x, y := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := int64(0); ; {
		n, errX := io.ReadFull(readers[0], x)
		m, errY := io.ReadFull(readers[1], y)
		if !bytes.Equal(x[:n], y[:m]) {
			for i := range min(n, m) {
				if x[i] != y[i] {
					return at + int64(i), nil
				}
			}
			return at + int64(min(n, m)), nil
		}
		if at += int64(n); errX != nil || errY != nil {
			return -1, nil
		}
	}
}
