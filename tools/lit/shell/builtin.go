package shell

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/tools/filecheck/check"
)

// builtin is a command that changes its session.
type builtin func(s *Session, p *Process) int

var sessionBuiltins = map[string]builtin{
	"cd": cd, "export": export, "pushd": pushd, "popd": popd,
}

var builtins = map[string]func(context.Context, *Process) int{
	"FileCheck":  fileCheck,
	"filecheck":  fileCheck,
	"count":      count,
	"split-file": splitFile,
	"diff":       diffCommand,
	"cp":         copyCommand,
	"mkdir":      mkdir,
	"rm":         remove,
	"touch":      touch,
	"cat":        cat,
	"echo":       echo,
	"env":        printEnv,
	"true":       func(context.Context, *Process) int { return 0 },
	":":          func(context.Context, *Process) int { return 0 },
	"false":      func(context.Context, *Process) int { return 1 },
}

// fail writes a message and returns status 1.
func (p *Process) fail(format string, args ...any) int {
	fmt.Fprintf(p.Stderr, "%s: %s\n", p.Name, fmt.Sprintf(format, args...))
	return 1
}

// options splits Args into letters of options and the rest. It fails on a letter that is not in known.
func (p *Process) options(known string) (letters string, rest []string, ok bool) {
	rest = p.Args
	for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' {
		word := rest[0]
		rest = rest[1:]
		if word == "--" {
			break
		}
		for _, c := range word[1:] {
			if !strings.ContainsRune(known, c) {
				p.fail("unsupported option %q", word)
				return "", nil, false
			}
			letters += string(c)
		}
	}
	return letters, rest, true
}

// FileCheck runs filecheck's engine as a command.
func FileCheck(p *Process) int {
	return check.Main(check.Command{
		Name: p.Name, Args: p.Args, Dir: p.Dir, Getenv: p.Getenv,
		Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr,
	})
}

func fileCheck(_ context.Context, p *Process) int { return FileCheck(p) }

func (s *Session) changeDir(p *Process, dir string) int {
	info, err := os.Stat(within(s.dir, dir))
	if err != nil || !info.IsDir() {
		return p.fail("%s: no such directory", dir)
	}
	s.dir = within(s.dir, dir)
	return 0
}

func cd(s *Session, p *Process) int {
	if len(p.Args) != 1 {
		return p.fail("needs one directory")
	}
	return s.changeDir(p, p.Args[0])
}

func pushd(s *Session, p *Process) int {
	if len(p.Args) != 1 {
		return p.fail("needs one directory")
	}
	old := s.dir
	status := s.changeDir(p, p.Args[0])
	if status == 0 {
		s.stack = append(s.stack, old)
	}
	return status
}

func popd(s *Session, p *Process) int {
	if len(s.stack) == 0 {
		return p.fail("directory stack empty")
	}
	s.dir = s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	return 0
}

func export(s *Session, p *Process) int {
	for _, arg := range p.Args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || !isName(name) {
			return p.fail("needs NAME=VALUE, found %q", arg)
		}
		s.env[name] = value
	}
	return 0
}

func printEnv(_ context.Context, p *Process) int {
	for _, e := range p.Env {
		fmt.Fprintln(p.Stdout, e)
	}
	return 0
}

// echo supports -n and -e.
func echo(_ context.Context, p *Process) int {
	args := p.Args
	newline, escapes := "\n", false
	for ; len(args) > 0 && (args[0] == "-n" || args[0] == "-e"); args = args[1:] {
		if args[0] == "-n" {
			newline = ""
		} else {
			escapes = true
		}
	}
	text := strings.Join(args, " ")
	if escapes {
		text = unescape(text)
	}
	io.WriteString(p.Stdout, text+newline)
	return 0
}

// unescape replaces \n, \t, \\, \a, \b, \f, \r, \v, \0NN and \xNN.
func unescape(s string) string {
	simple := map[byte]byte{'n': '\n', 't': '\t', '\\': '\\', 'a': 7, 'b': 8, 'f': 12, 'r': 13, 'v': 11}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		if c, ok := simple[s[i]]; ok {
			out.WriteByte(c)
			continue
		}
		base, digits := 8, 3
		start := i + 1
		if s[i] == 'x' {
			base, digits = 16, 2
		} else if s[i] != '0' {
			out.WriteString(s[i-1 : i+1])
			continue
		}
		end := start
		for end < len(s) && end < start+digits {
			if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
				break
			}
			end++
		}
		n, _ := strconv.ParseUint("0"+s[start:end], base, 16)
		out.WriteByte(byte(n))
		i = end - 1
	}
	return out.String()
}

// open opens a file, or the standard input for "-".
func (p *Process) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(p.Stdin), nil
	}
	return os.Open(within(p.Dir, name))
}

// cat joins files. With -v it shows bytes that do not print as ^X and M-X.
func cat(_ context.Context, p *Process) int {
	for i, arg := range p.Args {
		if arg == "--show-nonprinting" {
			p.Args[i] = "-v"
		}
	}
	letters, files, ok := p.options("uv")
	if !ok {
		return 1
	}
	out := p.Stdout
	if strings.Contains(letters, "v") {
		out = visible{out}
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		f, err := p.open(name)
		if err != nil {
			return p.fail("%s", err)
		}
		_, err = io.Copy(out, f)
		f.Close()
		if err != nil {
			return p.fail("%s: %s", name, err)
		}
	}
	return 0
}

// visible writes bytes in the notation of cat -v.
type visible struct{ w io.Writer }

func (v visible) Write(text []byte) (int, error) {
	var out bytes.Buffer
	for _, c := range text {
		if c >= 0x80 {
			out.WriteString("M-")
			c -= 0x80
		} else if c == '\n' || c == '\t' {
			out.WriteByte(c)
			continue
		}
		if c < ' ' || c == 0x7f {
			out.WriteByte('^')
			c ^= 0x40
		}
		out.WriteByte(c)
	}
	_, err := v.w.Write(out.Bytes())
	return len(text), err
}

// count succeeds if the input has as many lines as its argument says.
func count(_ context.Context, p *Process) int {
	if len(p.Args) != 1 {
		p.fail("usage: count <expected line count>")
		return 2
	}
	want, err := strconv.Atoi(p.Args[0])
	if err != nil {
		p.fail("invalid count %q", p.Args[0])
		return 2
	}
	got := 0
	buf := make([]byte, 32<<10)
	for {
		n, err := p.Stdin.Read(buf)
		got += bytes.Count(buf[:n], []byte{'\n'})
		if err == io.EOF {
			break
		}
		if err != nil {
			p.fail("%s", err)
			return 3
		}
	}
	if got != want {
		fmt.Fprintf(p.Stderr, "Expected %d lines, got %d.\n", want, got)
		return 1
	}
	return 0
}
