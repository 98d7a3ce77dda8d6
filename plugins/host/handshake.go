package host

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	goplugin "github.com/hashicorp/go-plugin"

	"tensortapestry.org/tapc/plugins"
	"tensortapestry.org/tapc/plugins/supervise"
)

// handshakeForm is what the first line of a plugin's standard output looks like.
var handshakeForm = regexp.MustCompile(`^([0-9]+)\|([0-9]+)\|([a-z]+)\|([^|]+)\|([a-z]+)(?:\|([A-Za-z0-9+/]*))?(?:\||$)`)

// The bounds of looking for a handshake behind other output.
const (
	maxStrayLines = 200
	maxLineLen    = 16 << 10
)

// strayPatience is how long a handshake may come behind other output, and the end of a process behind that of its output. Tests
// change it.
var strayPatience = time.Second

// shaken is what came of waiting for a handshake.
type shaken struct {
	line    string // the handshake, or ""
	printed bool   // there was something else before it, or in its place
	stray   string // the first line of that
}

// await reads standard output up to the handshake. It returns at the latest when stdout ends, which it does with the process.
func await(r *bufio.Reader, stray func()) shaken {
	var s shaken
	for range maxStrayLines {
		line, err := readLine(r)
		if handshakeForm.MatchString(line) {
			s.line = line
			return s
		}
		if !s.printed && (line != "" || err == nil) {
			s.printed, s.stray = true, line
			stray()
		}
		if err != nil {
			break
		}
	}
	return s
}

// readLine reads a line; of one that is too long only the beginning, as if it ended there.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		err = nil
	}
	return strings.TrimRight(string(line), "\r\n"), err
}

// shake waits for the handshake of a process that was just started, and checks it. The error is a *Fault.
func (p *Plugin) shake(ctx context.Context, c *supervise.Child, out *bufio.Reader) (string, error) {
	answer := make(chan shaken, 1)
	impatient := make(chan struct{})
	go func() { answer <- await(out, func() { close(impatient) }) }()
	var stray <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			p.end()
			if context.Cause(ctx) == errStartLimit {
				return "", p.fault(NoAnswer, "", fmt.Sprintf("within %v", p.opts.Limits.Start))
			}
			return "", context.Cause(ctx)
		case <-impatient:
			impatient = nil
			stray = time.After(strayPatience)
		case <-stray:
			p.stop()
			stray = nil
		case s := <-answer:
			return p.judge(c, s)
		}
	}
}

// judge turns what was read into the handshake line or the fault that explains it best.
func (p *Plugin) judge(c *supervise.Child, s shaken) (string, error) {
	switch {
	case s.line != "" && s.printed:
		p.end()
		f := p.fault(PrintedFirst, "", fmt.Sprintf("%q", clean(s.stray, 80)))
		f.Hint = "print to standard error; standard output belongs to the handshake"
		return "", f
	case s.line != "":
		if f := p.agree(s.line); f != nil {
			p.end()
			f.Stderr = p.tail.last()
			return "", f
		}
		return s.line, nil
	case s.printed:
		p.end()
		return "", p.fault(NotAPlugin, "", fmt.Sprintf("it printed %q in place of a handshake", clean(s.stray, 80)))
	}
	return "", p.endedEarly(c)
}

// endedEarly explains a process that closed its output before it served.
func (p *Plugin) endedEarly(c *supervise.Child) error {
	var fault *Fault
	select {
	case <-c.Done:
		fault = p.explainEnd("")
	case <-time.After(strayPatience):
		if fault = p.endNow(""); fault == nil {
			return p.fault(NotAPlugin, "", "it closed its standard output and went on")
		}
	}
	if fault != nil && fault.Kind != Crashed {
		return fault
	}
	if fault == nil || c.End.Exited && c.End.Code == 0 {
		return p.fault(NotAPlugin, "", "it ended without serving")
	}
	fault.Kind = CrashedAtStart
	return fault
}

// agree checks versions, transport and address of a handshake.
func (p *Plugin) agree(line string) *Fault {
	part := handshakeForm.FindStringSubmatch(line)
	version := func(what string, theirs string, ours int) *Fault {
		if theirs == strconv.Itoa(ours) {
			return nil
		}
		f := p.fault(WrongVersion, "", fmt.Sprintf("%s %s, and tapc speaks %d", what, theirs, ours))
		f.Hint = "build the plugin with a version of the SDK that fits this tapc"
		return f
	}
	if f := version("handshake", part[1], goplugin.CoreProtocolVersion); f != nil {
		return f
	}
	if f := version("protocol", part[2], plugins.ProtocolMajor); f != nil {
		return f
	}
	if part[5] != string(goplugin.ProtocolGRPC) {
		return p.fault(NotAPlugin, "", fmt.Sprintf("it serves %s, not grpc", part[5]))
	}
	if inside, err := filepath.Rel(p.dir, part[4]); part[3] != "unix" || err != nil || !filepath.IsLocal(inside) {
		return p.fault(Garbage, "", "its address is not a socket in its temporary directory")
	}
	der, err := base64.RawStdEncoding.DecodeString(part[6])
	if err == nil {
		_, err = x509.ParseCertificate(der)
	}
	if err != nil {
		f := p.fault(Garbage, "", "it serves without a certificate that can be read")
		f.Hint = "answer PLUGIN_CLIENT_CERT with a certificate in the sixth field of the handshake"
		return f
	}
	return nil
}

// interpreters gives the programs that a script's first line names, as files.
func interpreters(head []byte, path string) []string {
	line, _, _ := strings.Cut(string(head), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return nil
	}
	var files []string
	for i, word := range strings.Fields(rest) {
		switch {
		case i == 0:
			files = append(files, realFiles(word)...)
		case filepath.Base(strings.Fields(rest)[0]) == "env" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "="):
			if found, err := lookIn(path, word); err == nil {
				files = append(files, realFiles(found)...)
			}
			return files
		}
	}
	return files
}

// realFiles gives a file and what it links to.
func realFiles(path string) []string {
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		return []string{path, target}
	}
	return []string{path}
}

// lookIn finds a program in a list of directories.
func lookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}
