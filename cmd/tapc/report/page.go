package report

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"tensortapestry.org/tapc/cmd/tapc/masked"
	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/internal/shellwords"
)

// page writes what is read first.
func (j *Job) page(ctx context.Context, f *filing, m *Made, args []string) string {
	var b strings.Builder
	words := []string{"tapc"}
	for _, a := range args {
		words = append(words, shellwords.Quote(a))
	}
	fmt.Fprintf(&b, "# Report on tapc %s\n\nRead all of this, and said.txt, before you send it. In this folder:\n\n", strings.Join(j.Words.Command, " "))
	fenced(&b, strings.Join(words, " "))
	b.WriteString("What was expected, and what happened instead:\n\n(write it here)\n\n## What the command said on these files\n\n")
	if m.Said == nil {
		fmt.Fprintf(&b, "It was not run: %s.\n\n", m.Why)
	} else {
		fmt.Fprintf(&b, "Exit status %d. Is that the fault? If it is another one or none, --weights=kept packs the numbers as they are.\n\n", m.Said.Status)
		if m.Said.Err != "" {
			fenced(&b, firstLines(m.Said.Err, 40))
		}
	}
	b.WriteString("## What is packed\n\n| file | how |\n|---|---|\n")
	for _, p := range f.packed {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.name, p.what)
	}
	if slices.ContainsFunc(f.packed, func(p packed) bool { return p.what == replace || p.what == replaceNumbers }) {
		fmt.Fprintf(&b, "\nOf what is replaced, tensors of up to %d floats or %d other numbers are as they were.\n", masked.SmallFloats, masked.SmallOthers)
	}
	for _, x := range f.left {
		fmt.Fprintf(&b, "\nNot packed: %s.\n", x)
	}
	for _, name := range f.named {
		fmt.Fprintf(&b, "\n`%s` has the name of the home folder, the user or the machine in it, which is replaced elsewhere.\n", name)
	}
	b.WriteString("\n## Where\n\n| | |\n|---|---|\n")
	for _, x := range environment(ctx, j.Version) {
		fmt.Fprintf(&b, "| %s | %s |\n", x[0], strings.ReplaceAll(x[1], "|", `\|`))
	}
	return b.String()
}

func fenced(b *strings.Builder, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%s\n%s\n%s\n\n", fence, strings.TrimRight(text, "\n"), fence)
}

func firstLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= n {
		return text
	}
	return strings.Join(lines[:n], "") + "(more is in said.txt)"
}

// environment lists what may matter of the machine.
func environment(ctx context.Context, version string) [][2]string {
	cores := fmt.Sprintf("%s, %d cores", runtime.GOARCH, runtime.NumCPU())
	if name := valueIn("/proc/cpuinfo", "model name"); name != "" {
		cores = name + ", " + cores
	}
	list := [][2]string{{"tapc", version}, {"system", system()}, {"processor", cores}}
	for _, key := range []string{"flags", "Features"} {
		if x := valueIn("/proc/cpuinfo", key); x != "" {
			list = append(list, [2]string{"instructions", x})
		}
	}
	if x := valueIn("/proc/meminfo", "MemTotal"); x != "" {
		list = append(list, [2]string{"memory", x})
	}
	compilers := []string{"cc", "gcc", "clang", "nvcc"}
	if cc := os.Getenv("CC"); cc != "" {
		compilers = slices.Insert(compilers, 0, cc)
	}
	for _, c := range compilers {
		if line := versionOf(ctx, c); line != "" {
			list = append(list, [2]string{filepath.Base(c), line})
		}
	}
	variables := os.Environ()
	slices.Sort(variables)
	for _, v := range variables {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "TAPC_") || name == "CC" || name == "CUDA_VISIBLE_DEVICES" {
			list = append(list, [2]string{name, value})
		}
	}
	return list
}

// system says which system it is.
func system() string {
	name := runtime.GOOS
	for _, file := range []string{"/proc/sys/kernel/osrelease", "/etc/os-release"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if file == "/etc/os-release" {
			text = []byte(strings.Trim(field(string(text), "PRETTY_NAME", "="), `"`))
		}
		name += ", " + strings.TrimSpace(string(text))
	}
	return name
}

// valueIn gives the first value of a key in a file of lines "key: value".
func valueIn(file, key string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return field(string(text), key, ":")
}

func field(text, key, sign string) string {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, sign); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// versionOf gives the first line that a compiler says of itself; "" if there is none.
func versionOf(ctx context.Context, compiler string) string {
	words := strings.Fields(compiler)
	if len(words) == 0 {
		return ""
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return ""
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	var out strings.Builder
	cmd := childproc.Command(ctx, path, append(words[1:], "--version")...)
	cmd.Stdout = &out
	if err := childproc.Run(ctx, cmd); err != nil {
		return "it does not say its version: " + err.Error()
	}
	line, _, _ := strings.Cut(out.String(), "\n")
	return line
}

// Tell says what was made.
func (m *Made) Tell(w io.Writer, name string) {
	fmt.Fprintf(w, "%s: ", name)
	if m.Said == nil {
		fmt.Fprintf(w, "the command was not run: %s\n", m.Why)
	} else {
		fmt.Fprintf(w, "on the packed files, the command ends with exit status %d\n", m.Said.Status)
	}
	if m.Names > 0 {
		fmt.Fprintf(w, "%d packed files have the name of your home folder, of you or of the machine in them\n", m.Names)
	}
	fmt.Fprintf(w, "read REPORT.md in it before you send it\n")
}
