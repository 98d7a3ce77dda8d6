package cpu

import (
	"fmt"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// single writes the whole program for one target in one file.
func (p *program) single(t isa.Target) (string, error) {
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
	err = p.main(&out, "run", false)
	return out.String(), err
}

// main writes the tables of inputs and outputs, and the program's description. separate: constants are in a file beside the program.
func (p *program) main(out *strings.Builder, run string, separate bool) error {
	p.table(out, "inputs", p.Inputs)
	p.table(out, "outputs", p.Outputs)
	p.stepTable(out)
	description, err := p.describe()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "static const char program_name[] = %s;\nstatic const char program_description[] = %s;\n\n", cString(p.name), cLongString(description))
	weights := ""
	if separate && p.Block.Bytes > 0 {
		out.WriteString("extern const tapc_weights tapc_program_weights __attribute__((visibility(\"hidden\")));\n")
		weights = "  .weights = &tapc_program_weights,\n"
	}
	fmt.Fprintf(out, "const tapc_program tapc_main_program = {\n  .name = program_name,\n  .describe = program_description,\n  .n_inputs = %d,\n  .n_outputs = %d,\n  .n_steps = %d,\n",
		len(p.Inputs), len(p.Outputs), len(p.steps))
	for _, t := range []struct {
		name string
		n    int
	}{{"inputs", len(p.Inputs)}, {"outputs", len(p.Outputs)}, {"steps", len(p.steps)}} {
		if t.n > 0 {
			fmt.Fprintf(out, "  .%s = %s,\n", t.name, t.name)
		}
	}
	fmt.Fprintf(out, "  .arena_bytes = %d,\n  .share_bytes = %d,\n  .peak_bytes = %d,\n  .thread_bytes = %d,\n  .constants_bytes = %d,\n  .run = %s,\n%s};\n", p.ArenaBytes(), p.Thread, p.peakBytes(),
		p.threadBytes(), p.Block.Bytes, run, weights)
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
		if b := p.Buffers[to]; b != nil {
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

// describe gives what --describe prints.
func (p *program) describe() (string, error) {
	d := p.description()
	return d.JSON()
}

// description is what the program says of itself.
func (p *program) description() *cabi.Description {
	d := &cabi.Description{Program: p.name, Tapc: p.version, Target: "c", Source: cnest.BaseName(p.g.File), Graph: p.g.GraphUUID().String(),
		Inputs: p.describeAll(p.Inputs), Outputs: p.describeAll(p.Outputs), Memory: cabi.Memory{Arena: p.ArenaBytes(), Constants: p.Block.Bytes,
			Peak: p.peakBytes(), ArenaThread: p.Thread, Thread: p.threadBytes()}, Allow: schedule.Allowed(p.g).Words()}
	for _, id := range p.steps {
		if k, ok := p.g.Node(id).Body.(*schedule.Kernel); ok {
			d.Kernels = append(d.Kernels, cabi.Kernel{Name: k.Name, Applications: len(k.Applications), Loops: loopTexts(k), Allow: k.Allow.Words()})
		}
	}
	return d
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

func (p *program) describeAll(list []tensorops.Named) []cabi.Tensor {
	out := []cabi.Tensor{}
	for _, x := range list {
		t := tensorops.TensorOf(p.g, x.Tensor)
		size, _ := t.Range.Size()
		out = append(out, cabi.Tensor{Name: x.Name, DType: t.DType, Range: cabi.Box{Start: notNil(t.Range.Start), End: notNil(t.Range.End)}, Shape: notNil(t.Range.Shape()), Bytes: size * int64(t.Type().Size())})
	}
	return out
}

func notNil(list []int64) []int64 {
	if list == nil {
		return []int64{}
	}
	return list
}
