// Package inspect reads what a program says of itself out of its file, without running it, and writes it down for people or as JSON.
//
// The file is trusted in nothing: it may be truncated, damaged or made to mislead. Read next: backends/cpu/note, which finds the text;
// backends/cpu/cabi, which makes it.
package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/note"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// Help is the text of --help.
const Help = `Say what a program is and what made it: the version of tapc, the command, the files
with their digests, the compiler and target, what it may do to numbers, its memory,
inputs, outputs, kernels and their configs.

It is read out of the file, which is not run: an executable, a shared library, an
object file or an archive (ELF; Mach-O of 64 bits), of which it is a note of its own.
Files with several programs in them say so of each. --json has all that a program's
--describe prints.`

// File is a file and the programs in it.
type File struct {
	Name     string
	Bytes    int64
	Kind     note.Kind
	Programs []Program
}

// Program is what one program says of itself.
type Program struct {
	Text       json.RawMessage `json:"-"` // all of it
	Name       string          `json:"program"`
	Tapc       string          `json:"tapc"`
	ABI        int             `json:"abi"`
	Made       *cabi.Made      `json:"made"`
	Allow      []string        `json:"allow"`
	Arena      int64           `json:"arena_bytes"`
	Constants  int64           `json:"constants_bytes"`
	Peak       int64           `json:"peak_bytes"`
	Thread     int64           `json:"thread_bytes"`
	Threads    int64           `json:"threads_bytes"`
	Workspaces cabi.Workspaces `json:"workspaces"`
	Interfaces                 // inputs, outputs and kernels
}

// Interfaces are the lists of a description.
type Interfaces struct {
	Inputs  []cabi.Tensor `json:"inputs"`
	Outputs []cabi.Tensor `json:"outputs"`
	Kernels []cabi.Kernel `json:"kernels"`
}

// Read reads a program's file. A file that is none, that is not whole, or that says what no tapc writes is an error with a code.
func Read(path string) (*File, error) {
	f, err := inputfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	at := diag.Location{File: path}
	found, err := note.Read(f, info.Size())
	switch {
	case errors.Is(err, note.ErrNone):
		return nil, diag.Errorf("TAP2701", "program", at, "it is %s that tapc did not make: %v", found.Kind, err)
	case err != nil:
		return nil, diag.Errorf("TAP2702", "program", at, "it can not be read as a program: %v", err)
	}
	out := &File{Name: path, Bytes: info.Size(), Kind: found.Kind}
	for _, text := range found.Texts {
		p := Program{Text: json.RawMessage(text)}
		if err := p.read(text); err != nil {
			return nil, diag.Errorf("TAP2703", "program", at, "what it says of itself is damaged: %v", err)
		}
		out.Programs = append(out.Programs, p)
	}
	return out, nil
}

func (p *Program) read(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("it is not UTF-8")
	}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return err
	}
	if p.Name == "" || p.ABI < 1 {
		return errors.New("it has no name, or no version")
	}
	return nil
}

// WriteJSON writes all that the programs say as one JSON object.
func (f *File) WriteJSON(w io.Writer) error {
	list := []json.RawMessage{}
	for _, p := range f.Programs {
		list = append(list, p.Text)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Schema   int               `json:"schema"`
		File     string            `json:"file"`
		Kind     string            `json:"kind"`
		Bytes    int64             `json:"bytes"`
		Programs []json.RawMessage `json:"programs"`
	}{note.Schema, f.Name, string(f.Kind), f.Bytes, list})
}

// plain writes text that a file supplies, so that it does nothing to a terminal.
func plain(s string) string {
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r >= 0x80 && r < 0xa0 {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}
