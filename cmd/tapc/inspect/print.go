package inspect

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/internal/shellwords"
)

// outputs says what the values of --emit are.
var outputs = map[string]string{"exe": "an executable", "lib": "a library", "obj": "an object file", "c": "C"}

// Write writes what is known for people.
func (f *File) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s: %s of %d bytes\n", f.Name, f.Kind, f.Bytes)
	for i := range f.Programs {
		f.Programs[i].write(t)
	}
	return t.Flush()
}

func (p *Program) write(w io.Writer) {
	by := "tapc " + p.Tapc
	if p.Made != nil && p.Made.Revision != "" {
		by += ", revision " + p.Made.Revision
	}
	fmt.Fprintf(w, "program %s\n  made by\t%s\n", plain(p.Name), plain(by))
	if p.Made == nil {
		fmt.Fprintf(w, "  command\tnot recorded: it was made for one run\n")
	} else {
		p.made(w)
	}
	allow := "nothing beyond the definition"
	if len(p.Allow) > 0 {
		allow = strings.Join(p.Allow, ", ")
	}
	fmt.Fprintf(w, "  permissions\t%s\n", plain(allow))
	fmt.Fprintf(w, "  memory\tat most %d bytes with one thread, %d more with several and %d for each further one%s; constants %d, scratch %d\n", p.Peak, p.Threads, p.Thread, p.workspaces(), p.Constants, p.Arena)
	tensors(w, "inputs", p.Inputs)
	tensors(w, "outputs", p.Outputs)
	p.kernels(w)
}

// made writes the record of the build.
func (p *Program) made(w io.Writer) {
	m := p.Made
	words := []string{"tapc"}
	for _, word := range m.Command {
		words = append(words, plain(shellwords.Quote(word)))
	}
	as := outputs[m.Output]
	if as == "" {
		as = plain(m.Output)
	}
	fmt.Fprintf(w, "  command\t%s\n  built as\t%s\n", strings.Join(words, " "), as)
	if m.Compiler != "" {
		fmt.Fprintf(w, "  compiler\t%s\n  target\t%s, processors %s\n", plain(m.Compiler), plain(m.Machine), plain(strings.Join(m.Processors, ", ")))
	}
	for _, x := range m.Inputs {
		digest := "no digest: it could be read only once"
		if x.SHA256 != "" {
			digest = "sha256 " + x.SHA256
		}
		fmt.Fprintf(w, "  made from\t%s, %d bytes, %s\n", plain(x.Name), x.Bytes, plain(digest))
	}
}

func tensors(w io.Writer, what string, list []cabi.Tensor) {
	for _, x := range list {
		shared := ""
		if x.Beside != "" {
			shared = fmt.Sprintf(", in one memory of %v with %s", x.Room, plain(x.Beside))
		}
		fmt.Fprintf(w, "  %s\t%s %s %v%s\n", what, plain(x.Name), plain(x.DType), x.Shape, shared)
	}
}

// kernels counts them, and writes the configs that they have.
func (p *Program) kernels(w io.Writer) {
	fmt.Fprintf(w, "  kernels\t%d\n", len(p.Kernels))
	for _, k := range p.Kernels {
		for _, c := range k.Configs {
			fmt.Fprintf(w, "  config\t%s: %s\n", plain(k.Name), plain(c))
		}
	}
}

// workspaces says what threads besides the first have for kernels.
func (p *Program) workspaces() (text string) {
	for _, x := range p.Workspaces {
		if text += fmt.Sprintf(", with %d of a kernel", x.Bytes); x.Tasks < cabi.AnyTasks {
			text += fmt.Sprintf(" for up to %d of them", x.Tasks-1)
		}
	}
	return text
}
