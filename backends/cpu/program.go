package cpu

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// single writes the whole program for one target in one file.
func (p *program) single(t Target) (string, error) {
	e, err := p.emit(t, "")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	flags := ""
	if len(t.Flags) > 0 {
		flags = "\n// Compile it with " + strings.Join(t.Flags, " ")
	}
	fmt.Fprintf(&out, header, p.name, p.version, flags)
	out.WriteString(e.prelude())
	for _, k := range e.codes {
		out.WriteString(k.String())
	}
	if err := e.run(&out, "static ", "run"); err != nil {
		return "", err
	}
	err = p.main(&out, "run")
	return out.String(), err
}

// main writes the tables of inputs and outputs, and the program's description.
func (p *program) main(out *strings.Builder, run string) error {
	p.table(out, "inputs", p.Inputs)
	p.table(out, "outputs", p.Outputs)
	p.stepTable(out)
	description, err := p.describe()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "const tapc_program tapc_main_program = {\n  .name = %s,\n  .describe = %s,\n  .n_inputs = %d,\n  .n_outputs = %d,\n  .n_steps = %d,\n",
		cString(p.name), cLongString(description), len(p.Inputs), len(p.Outputs), len(p.steps))
	for _, t := range []struct {
		name string
		n    int
	}{{"inputs", len(p.Inputs)}, {"outputs", len(p.Outputs)}, {"steps", len(p.steps)}} {
		if t.n > 0 {
			fmt.Fprintf(out, "  .%s = %s,\n", t.name, t.name)
		}
	}
	fmt.Fprintf(out, "  .arena_bytes = %d,\n  .share_bytes = %d,\n  .peak_bytes = %d,\n  .thread_bytes = %d,\n  .constants_bytes = %d,\n  .run = %s,\n};\n", p.arenaBytes(), p.thread, p.peakBytes(),
		p.threadBytes(), p.block.bytes, run)
	return nil
}

func cString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c >= 0x7f || c == '?':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// cLongString writes a text as one literal a line, so that none is longer than compilers like.
func cLongString(s string) string {
	var lines []string
	for _, l := range strings.SplitAfter(s, "\n") {
		for ; len(l) > 400; l = l[400:] {
			lines = append(lines, cString(l[:400]))
		}
		if l != "" {
			lines = append(lines, cString(l))
		}
	}
	return "\n    " + strings.Join(lines, "\n    ")
}

func (p *program) table(out *strings.Builder, name string, list []tensorops.Named) {
	if len(list) == 0 {
		return
	}
	limits := p.Limits(p.g)
	fmt.Fprintf(out, "static const tapc_tensor %s[] = {\n", name)
	for _, x := range list {
		t := tensorops.TensorOf(p.g, x.Tensor)
		size, _ := t.Range.Size()
		fmt.Fprintf(out, "  {%s, %d, %d, ", cString(x.Name), int(t.Type()), t.Range.Rank())
		if t.Range.Rank() == 0 {
			out.WriteString("0, 0")
		} else {
			fmt.Fprintf(out, "(const int64_t[]){%s}, (const int64_t[]){%s}", numbers(t.Range.Start), numbers(t.Range.Shape()))
		}
		fmt.Fprintf(out, ", %d, %d},\n", size*int64(t.Type().Size()), limits[x.Tensor])
	}
	out.WriteString("};\n\n")
}

// stepTable writes what each step does: the kernel and the shape of what it writes.
func (p *program) stepTable(out *strings.Builder) {
	if len(p.steps) == 0 {
		return
	}
	out.WriteString("static const char *const steps[] = {\n")
	for _, id := range p.steps {
		name, to := "copy", ir.NoNode
		switch b := p.g.Node(id).Body.(type) {
		case *schedule.Kernel:
			name = b.Name
			for _, o := range b.Operands {
				if o.Mode == schedule.Write {
					to = o.Buffer
				}
			}
		case *schedule.Transfer:
			to = b.To
		}
		if b := p.buffers[to]; b != nil {
			name += fmt.Sprintf(" -> %s %v", b.DType, b.Range.Shape())
		}
		fmt.Fprintf(out, "  %s,\n", cString(name))
	}
	out.WriteString("};\n\n")
}

func numbers(list []int64) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprintf("INT64_C(%d)", n)
	}
	return strings.Join(words, ", ")
}

type describedTensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Range jsonBox `json:"range"`
	Shape []int64 `json:"shape"`
	Bytes int64   `json:"bytes"`
}

type jsonBox struct {
	Start []int64 `json:"start"`
	End   []int64 `json:"end"`
}

type describedKernel struct {
	Name         string   `json:"name"`
	Applications int      `json:"applications"`
	Loops        []string `json:"loops"`
	Allow        []string `json:"allow,omitempty"`
}

// memory is what a program has in memory: its arena and constants, all of it at most with one thread, and what each further
// thread takes.
type memory struct{ arena, constants, peak, thread int64 }

// description is what --describe prints.
type description struct {
	Program, Tapc, Target, Source, Graph string
	memory
	Allow           []string // permissions
	Inputs, Outputs []describedTensor
	Kernels         []describedKernel
}

// describe gives what --describe prints.
func (p *program) describe() (string, error) {
	d := description{Program: p.name, Tapc: p.version, Target: "c", Source: cnest.BaseName(p.g.File), Graph: p.g.GraphUUID().String(),
		Inputs: p.describeAll(p.Inputs), Outputs: p.describeAll(p.Outputs), memory: memory{p.arenaBytes(), p.block.bytes,
			p.peakBytes(), p.threadBytes()}, Allow: schedule.Allowed(p.g).Words()}
	for _, id := range p.steps {
		if k, ok := p.g.Node(id).Body.(*schedule.Kernel); ok {
			d.Kernels = append(d.Kernels, describedKernel{Name: k.Name, Applications: len(k.Applications), Loops: loopTexts(k), Allow: k.Allow.Words()})
		}
	}
	return indented(d)
}

// indented writes a description with a line for every tensor and kernel.
func indented(d description) (string, error) {
	var b strings.Builder
	field := func(name string, v any) error {
		text, err := json.Marshal(v)
		if b.Len() == 0 {
			b.WriteString("{\n")
		} else {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "  %q: %s", name, text)
		return err
	}
	list := func(name string, n int, item func(i int) any) error {
		fmt.Fprintf(&b, ",\n  %q: [", name)
		for i := range n {
			text, err := json.Marshal(item(i))
			if err != nil {
				return err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n    %s", text)
		}
		b.WriteString("\n  ]")
		return nil
	}
	err := errors.Join(field("program", d.Program), field("tapc", d.Tapc), field("target", d.Target), field("source", d.Source),
		field("graph", d.Graph), field("allow", d.Allow), field("arena_bytes", d.arena), field("constants_bytes", d.constants), field("peak_bytes", d.peak), field("thread_bytes", d.thread),
		list("inputs", len(d.Inputs), func(i int) any { return d.Inputs[i] }),
		list("outputs", len(d.Outputs), func(i int) any { return d.Outputs[i] }),
		list("kernels", len(d.Kernels), func(i int) any { return d.Kernels[i] }))
	return b.String() + "\n}\n", err
}

func loopTexts(k *schedule.Kernel) []string {
	out := []string{}
	for _, l := range k.Loops {
		text := l.Name + " " + strconv.FormatInt(l.Start, 10) + ".." + strconv.FormatInt(l.End, 10)
		for _, level := range l.Levels {
			text += fmt.Sprintf(" %s:%d", level.Bind, level.Tile)
		}
		out = append(out, text)
	}
	return out
}

func (p *program) describeAll(list []tensorops.Named) []describedTensor {
	out := []describedTensor{}
	for _, x := range list {
		t := tensorops.TensorOf(p.g, x.Tensor)
		size, _ := t.Range.Size()
		out = append(out, describedTensor{x.Name, t.DType, jsonBox{notNil(t.Range.Start), notNil(t.Range.End)}, notNil(t.Range.Shape()), size * int64(t.Type().Size())})
	}
	return out
}

func notNil(list []int64) []int64 {
	if list == nil {
		return []int64{}
	}
	return list
}
