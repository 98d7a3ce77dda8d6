package cpu

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/note"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/moves"
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
	err = p.main(&out, false)
	return out.String(), err
}

// main writes the tables of inputs and outputs, and the program with its description. separate: constants are in a file beside the program.
func (p *program) main(out *strings.Builder, separate bool) error {
	tables(out, p, named(""))
	d := p.description()
	err := texts(out, d)
	record(out, fields(p, d.Memory, named("")), mapped(out, p, separate))
	return err
}

// mapped gives the field of a program whose constants are in a file beside it, if they are, and declares what it has the address of.
func mapped(out *strings.Builder, p *program, separate bool) string {
	if !separate || p.Block.Bytes == 0 {
		return ""
	}
	out.WriteString("extern const tapc_weights tapc_program_weights __attribute__((visibility(\"hidden\")));\n")
	return "  .weights = &tapc_program_weights,\n"
}

// texts writes the program's name and description.
func texts(out *strings.Builder, d *cabi.Description) error {
	description, err := d.JSON()
	fmt.Fprintf(out, "static const char program_name[] = %s;\n%s\n", cexpr.String(d.Program), note.C(description))
	return err
}

// tables writes those of inputs, outputs and steps.
func tables(out *strings.Builder, p *program, n names) {
	p.table(out, n.inputs, p.Inputs, p.Sources)
	p.table(out, n.outputs, p.Outputs, p.Sinks)
	p.stepTable(out, n.steps)
	out.WriteString(p.devices.Tables(n.prefix))
}

// record writes the program, with fields of its greatest version, and last fields.
func record(out *strings.Builder, fields, last string) {
	out.WriteString("const tapc_program tapc_main_program = {\n  .describe = program_description,\n" + fields + last + "};\n")
}

// names are those of the tables of a version, and of the function that runs it.
type names struct{ inputs, outputs, steps, run, prefix string }

// named gives names with a prefix.
func named(prefix string) names {
	return names{prefix + "inputs", prefix + "outputs", prefix + "steps", prefix + "run", prefix}
}

// fields writes those of a tapc_program.
func fields(p *program, m cabi.Memory, names names) string {
	out := fmt.Sprintf("  .name = program_name,\n  .n_inputs = %d,\n  .n_outputs = %d,\n  .n_steps = %d,\n", len(p.Inputs), len(p.Outputs), len(p.steps))
	for _, t := range []struct {
		field, name string
		n           int
	}{{"inputs", names.inputs, len(p.Inputs)}, {"outputs", names.outputs, len(p.Outputs)}, {"steps", names.steps, len(p.steps)}} {
		if t.n > 0 {
			out += fmt.Sprintf("  .%s = %s,\n", t.field, t.name)
		}
	}
	return out + fmt.Sprintf("  .arena_bytes = %d,\n  .share_bytes = %d,\n%s  .peak_bytes = %d,\n  .thread_bytes = %d,\n  .threads_bytes = %d,\n  .constants_bytes = %d,\n  .run = %s,\n", m.Arena, m.Thread.Arena, m.Thread.Workspaces.Fields(), m.Peak,
		m.Thread.Bytes, cabi.ThreadsBytes, m.Constants, names.run) + m.Groups.Fields() + p.devices.Fields(names.prefix)
}

func (p *program) table(out *strings.Builder, name string, list []tensorops.Named, files map[int]tensorops.Resource) {
	if len(list) == 0 {
		return
	}
	limits := p.Limits(p.g)
	fmt.Fprintf(out, "static const tapc_tensor %s[] = {\n", name)
	for i, x := range p.describeAll(list, files) {
		t := list[i].Tensor
		over := 0
		if s, ok := p.SharedAs(t); ok && p.Outputs[s.Output].Tensor == t {
			over = s.Input + 1
		}
		fmt.Fprintf(out, "  {%s, %d, %d, %s, %s, %d, %d, %s, %d%s},\n", cexpr.String(x.Name), int(tensorops.TensorOf(p.g, t).Type()), len(x.Shape), numbers(x.Range.Start), numbers(x.Shape),
			x.Bytes, limits[t], numbers(x.Strides), over, fileFields(x.File))
	}
	out.WriteString("};\n\n")
}

// fileFields gives those of a tensor in a file.
func fileFields(f *cabi.File) string {
	if f == nil {
		return ", 0"
	}
	key, offset := "0", int64(-1)
	if f.Key != "" {
		key = cexpr.String(f.Key)
	}
	if f.Offset != nil {
		offset = *f.Offset
	}
	return fmt.Sprintf(", &(const tapc_file){%s, %s, %d}", cexpr.String(f.Path), key, offset)
}

// numbers writes a list in C: 0 if it is empty.
func numbers(list []int64) string {
	if len(list) == 0 {
		return "0"
	}
	return fmt.Sprintf("(const int64_t[]){%s}", cexpr.Numbers(list))
}

// stepTable writes what each step does: the kernel and the shape of what it writes.
func (p *program) stepTable(out *strings.Builder, table string) {
	if len(p.steps) == 0 {
		return
	}
	fmt.Fprintf(out, "static const char *const %s[] = {\n", table)
	for i, id := range p.steps {
		name, to := "", ir.NoNode
		switch b := p.g.Node(id).Body.(type) {
		case *schedule.Kernel:
			name = b.Name
			for _, o := range b.Operands {
				if o.Mode == schedule.Write {
					to = o.Buffer
				}
			}
		case *schedule.Transfer:
			name, to = p.devices.Transfer(p.g, i, b), b.To
		}
		if b := p.Buffers[to]; b != nil {
			name += fmt.Sprintf(" -> %s %v", b.DType, b.Range.Shape())
		}
		fmt.Fprintf(out, "  %s,\n", cexpr.String(name))
	}
	out.WriteString("};\n\n")
}

// madeBy gives what is said of how the program was made.
func (p *program) madeBy() *cabi.Made { return p.made }

// description is what the program says of itself.
func (p *program) description() *cabi.Description {
	d := &cabi.Description{Program: p.name, Tapc: p.version, Target: "c", Origin: cabi.Origin{Source: cnest.BaseName(p.g.File), Graph: p.g.GraphUUID().String(), Made: p.made},
		Inputs: p.describeAll(p.Inputs, p.Sources), Outputs: p.describeAll(p.Outputs, p.Sinks), Memory: cabi.Memory{Arena: p.ArenaBytes(), Constants: p.Block.Bytes, Code: p.sizes,
			Peak: p.peakBytes(), Thread: cabi.Thread{Arena: p.Thread, Bytes: p.threadBytes(), Workspaces: p.Process.Workspaces}, Groups: p.groups()}, Allow: schedule.Allowed(p.g).Words()}
	for i, id := range p.steps {
		if k, ok := p.g.Node(id).Body.(*schedule.Kernel); ok {
			x := cabi.Kernel{Name: k.Name, Device: p.devices.On(i), Applications: len(k.Applications), Copied: moves.Of(k), Loops: loopTexts(k), Allow: k.Allow.Words()}
			if x.Kept = k.KeepsAll(p.Buffers); x.Kept {
				x.Copied = 0
			}
			for i := range k.Configs {
				text := k.Configs[i].Target + ": " + k.Configs[i].String()
				if w := k.Configs[i].Workspaces; len(w) > 0 {
					text += "; " + schedule.WorkspaceText(w)
				}
				x.Configs = append(x.Configs, text)
			}
			d.Kernels = append(d.Kernels, x)
		}
	}
	return d
}

func loopTexts(k *schedule.Kernel) []string {
	out := []string{}
	for _, l := range k.Loops {
		out = append(out, fmt.Sprintf("%s %d..%d", l.Name, l.Start, l.End))
	}
	return out
}

func (p *program) describeAll(list []tensorops.Named, files map[int]tensorops.Resource) []cabi.Tensor {
	out := []cabi.Tensor{}
	for i, x := range list {
		t := tensorops.TensorOf(p.g, x.Tensor)
		size, _ := t.Range.Size()
		y := cabi.Tensor{Name: x.Name, DType: t.DType, Range: cabi.Box{Start: notNil(t.Range.Start), End: notNil(t.Range.End)}, Shape: notNil(t.Range.Shape()), Bytes: size * int64(t.Type().Size())}
		if s, ok := p.SharedAs(x.Tensor); ok {
			beside := p.Outputs[s.Output]
			if beside.Tensor == x.Tensor {
				beside = p.Inputs[s.Input]
			}
			y.Lie(notNil(s.Room), beside.Name, int64(t.Type().Size()))
		}
		if r, ok := files[i]; ok {
			y.Lies(r)
		}
		out = append(out, y)
	}
	return out
}

func notNil(list []int64) []int64 {
	if list == nil {
		return []int64{}
	}
	return list
}

// sharedNames lists what has memory in common, for messages.
func (p *program) sharedNames() string {
	var out []string
	for _, s := range p.Shared {
		out = append(out, fmt.Sprintf("%s over %s in %v", p.Outputs[s.Output].Name, p.Inputs[s.Input].Name, s.Room))
	}
	return strings.Join(out, ", ")
}
