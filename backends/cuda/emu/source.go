package emu

import (
	"fmt"
	"slices"
	"strings"
)

// SourceError is a construct in a text that cannot be emulated.
type SourceError struct {
	Line    int // from 1
	Message string
}

// Error gives the line and the construct.
func (e *SourceError) Error() string { return fmt.Sprintf("kernel.cu:%d: %s", e.Line, e.Message) }

// kernel is a __global__ function that can be launched by name.
type kernel struct {
	name   string
	bounds string // the text of its launch bounds; empty for none
}

// translate makes the C++ translation unit of a CUDA text. Four things change, none of them a line
// number: #include lines move to the front, so that the rest can stand in an unnamed namespace, whose
// functions need no declaration and clash with no library's; extern __shared__ arrays become pointers
// to the block's dynamic shared memory; static before __shared__ goes, because __shared__ implies it;
// and after each declaration of shared variables the emulation is told of them.
func translate(source string) (unit string, kernels []kernel, err error) {
	t := translation{text: []byte(source), tokens: scan(source)}
	if err := t.walk(); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	b.WriteString("#include \"tapc_emu/runner.h\"\n")
	for _, line := range t.includes() {
		b.WriteString(line + "\n")
	}
	b.WriteString("#include \"tapc_emu_cuda.h\"\nnamespace {\n#line 1 \"kernel.cu\"\n")
	b.Write(t.text)
	b.WriteString("\n}  // namespace\n#line 1 \"entries.cpp\"\n#undef asm\nconst tapc_emu::Entry tapc_emu_entries[] = {\n")
	for _, k := range t.kernels {
		fmt.Fprintf(&b, "  TAPC_EMU_ENTRY(%s, %s),\n", k.name, k.bounds)
	}
	b.WriteString("  {nullptr, nullptr, 0, nullptr, nullptr},\n};\n#ifndef TAPC_EMU_SHARED\n" +
		"int main(int count, char** arguments) { return tapc_emu::run(count, arguments); }\n#endif\n")
	return b.String(), t.kernels, nil
}

type translation struct {
	text    []byte // changed in place, or by edits that keep its lines
	tokens  []token
	kernels []kernel
	edits   []edit
	held    int // shared variables so far
}

// edit replaces a part of the text.
type edit struct {
	begin, end int
	text       string
}

// includes blanks the #include lines and returns them, in order.
func (t *translation) includes() []string {
	lines := strings.Split(string(t.text), "\n")
	var found []string
	for i, line := range lines {
		rest, directive := strings.CutPrefix(strings.TrimSpace(line), "#")
		if directive && strings.HasPrefix(strings.TrimSpace(rest), "include") {
			found = append(found, strings.TrimSpace(line))
			lines[i] = ""
		}
	}
	t.text = []byte(strings.Join(lines, "\n"))
	return found
}

func (t *translation) at(i int) string {
	if i < 0 || i >= len(t.tokens) {
		return ""
	}
	return t.tokens[i].text
}

func (t *translation) fail(i int, format string, args ...any) error {
	offset := len(t.text)
	if i < len(t.tokens) {
		offset = t.tokens[i].begin
	}
	return &SourceError{Line: 1 + strings.Count(string(t.text[:offset]), "\n"), Message: fmt.Sprintf(format, args...)}
}

func (t *translation) walk() error {
	template := false
	for i := range t.tokens {
		var err error
		switch t.at(i) {
		case "template":
			template = true
		case "{", ";":
			template = false
		case "__global__":
			if !template {
				err = t.addKernel(i)
			}
		case "__shared__":
			err = t.sharedVariable(i)
		case "<":
			if t.at(i+1) == "<" && t.at(i+2) == "<" {
				err = t.fail(i, "a launch with <<<...>>> is host code, which is not emulated")
			}
		}
		if err != nil {
			return err
		}
	}
	return t.apply()
}

// apply makes the edits, last first, so that earlier offsets stay true.
func (t *translation) apply() error {
	for _, e := range slices.Backward(t.edits) {
		lost := strings.Count(string(t.text[e.begin:e.end]), "\n") - strings.Count(e.text, "\n")
		t.text = slices.Replace(t.text, e.begin, e.end, []byte(e.text+strings.Repeat("\n", max(lost, 0)))...)
	}
	return nil
}

// addKernel reads the declaration that has __global__ at token i.
func (t *translation) addKernel(i int) error {
	k := kernel{}
	for i++; i < len(t.tokens); i++ {
		if t.at(i+1) != "(" {
			continue
		}
		end := t.closing(i + 1)
		if end < 0 {
			return t.fail(i, "no ) ends the parameters of %s", t.at(i))
		}
		switch t.at(i) {
		case "__launch_bounds__":
			k.bounds = string(t.text[t.tokens[i+1].end:t.tokens[end].begin])
		case "__attribute__", "__maxnreg__", "__cluster_dims__", "__align__":
		default:
			k.name = t.at(i)
			known := func(o kernel) bool { return o.name == k.name }
			if at := slices.IndexFunc(t.kernels, known); at < 0 {
				t.kernels = append(t.kernels, k)
			} else if t.kernels[at].bounds == "" {
				t.kernels[at].bounds = k.bounds // a definition after a declaration
			}
			return nil
		}
		i = end
	}
	return t.fail(len(t.tokens), "__global__ without a function")
}

// closing returns the token that closes the bracket at token i, or -1.
func (t *translation) closing(i int) int {
	depth := 0
	for ; i < len(t.tokens); i++ {
		switch t.at(i) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// sharedVariable rewrites the declaration that has __shared__ at token i.
func (t *translation) sharedVariable(i int) error {
	if t.at(i-1) == "extern" {
		return t.dynamicShared(i)
	}
	if t.at(i-1) == "static" {
		t.edits = append(t.edits, edit{t.tokens[i-1].begin, t.tokens[i-1].end, ""})
	}
	names, end := t.declared(i + 1)
	if len(names) == 0 {
		return t.fail(i, "__shared__: expected variables and a ;")
	}
	var held strings.Builder
	for _, j := range names {
		t.held++
		fmt.Fprintf(&held, " const ::tapc_emu::Held tapc_emu_held%d(&%s, sizeof %s);", t.held, t.at(j), t.at(j))
	}
	after := t.tokens[end].end
	t.edits = append(t.edits, edit{after, after, held.String()})
	return nil
}

// declared returns the tokens that name the variables of a declaration that begins at token i, and the
// token of the ; that ends it. No names: it is no such declaration.
func (t *translation) declared(i int) (names []int, end int) {
	name, angles := -1, 0
	for ; i < len(t.tokens); i++ {
		switch t.at(i) {
		case "(", "[", "{":
			if i = t.closing(i); i < 0 {
				return nil, 0
			}
		case "<":
			angles++
		case ">":
			angles--
		case ",", ";":
			if angles > 0 {
				continue
			}
			if name < 0 {
				return nil, 0
			}
			names, name = append(names, name), -1
			if t.at(i) == ";" {
				return names, i
			}
		case "__align__", "alignas", "__attribute__", "=", "*", ":":
		default:
			if angles == 0 {
				name = i // the last word before a bracket, a comma or the end
			}
		}
	}
	return nil, 0
}

// dynamicShared rewrites extern __shared__ T name[]...; as a pointer to T..., whatever T is.
func (t *translation) dynamicShared(i int) error {
	first, name := -1, -1
	for j := i + 1; j < len(t.tokens) && name < 0; j++ {
		switch {
		case t.at(j) == "__align__" || t.at(j) == "alignas" || t.at(j) == "__attribute__":
			if j = t.closing(j + 1); j < 0 {
				return t.fail(i, "no ) ends the alignment")
			}
		case t.at(j) == ";" || t.at(j) == "{":
			return t.fail(i, "extern __shared__: expected an array, as in extern __shared__ float name[];")
		case t.at(j+1) == "[" && t.at(j+2) == "]":
			name = j
		case first < 0:
			first = j
		}
	}
	end := name + 3
	for end < len(t.tokens) && t.at(end) != ";" {
		end++
	}
	if first < 0 || name < 0 || end >= len(t.tokens) {
		return t.fail(i, "extern __shared__: expected an array, as in extern __shared__ float name[];")
	}
	element := strings.TrimSpace(string(t.text[t.tokens[first].begin:t.tokens[name].begin]))
	dims := string(t.text[t.tokens[name+2].end:t.tokens[end].begin])
	t.edits = append(t.edits, edit{t.tokens[i-1].begin, t.tokens[end].begin, fmt.Sprintf(
		"%s (*const %s)%s = reinterpret_cast<%s (*)%s>(::tapc_emu::dynamic_shared())", element, t.at(name), dims, element, dims)})
	return nil
}
