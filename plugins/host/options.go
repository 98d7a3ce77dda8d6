package host

import (
	"log/slog"
	"slices"
	"time"

	"tensortapestry.org/tapc/plugins/confine"
)

// Limits bound what a plugin may use. The zero value of a field stands for its default in DefaultLimits.
type Limits struct {
	Start     time.Duration // from the start of the process to its first answer
	Run       time.Duration // of one pass or one run of a back end
	Grace     time.Duration // from cancellation or shutdown to the kill
	Memory    int64         // bytes, of each of its processes and of all of them together
	CPU       time.Duration // processor time of each of its processes
	Files     int           // open at a time
	Processes int           // at a time
	FileSize  int64         // bytes of a file that it writes, and of all files in its folder together
	Answer    int64         // bytes of a graph or of all artifacts
	Reports   int           // diagnostics, log records and progress reports of one run
	Stderr    int64         // bytes of standard error
}

// DefaultLimits are the limits of a plugin for which nothing else is said.
func DefaultLimits() Limits {
	return Limits{Start: 20 * time.Second, Run: 10 * time.Minute, Grace: 2 * time.Second, Memory: 8 << 30, CPU: time.Hour,
		Files: 256, Processes: 64, FileSize: 4 << 30, Answer: 16 << 30, Reports: 1 << 20, Stderr: 64 << 20}
}

// orDefault fills in defaults.
func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	pick(&l.Start, d.Start)
	pick(&l.Run, d.Run)
	pick(&l.Grace, d.Grace)
	pick(&l.Memory, d.Memory)
	pick(&l.CPU, d.CPU)
	pick(&l.Files, d.Files)
	pick(&l.Processes, d.Processes)
	pick(&l.FileSize, d.FileSize)
	pick(&l.Answer, d.Answer)
	pick(&l.Reports, d.Reports)
	pick(&l.Stderr, d.Stderr)
	return l
}

func pick[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}

// Access is what a plugin may use beyond its own temporary directory and the system's libraries.
type Access struct {
	Read    []string `json:"read,omitempty"`    // absolute paths of files and directories
	Write   []string `json:"write,omitempty"`   // absolute paths of files and directories, to read and to write
	Network bool     `json:"network,omitempty"` //
	Execute bool     `json:"execute,omitempty"` // start the system's programs
}

// Nothing says whether the access is none at all.
func (a Access) Nothing() bool {
	return len(a.Read) == 0 && len(a.Write) == 0 && !a.Network && !a.Execute
}

// Within says whether everything in a is in b too.
func (a Access) Within(b Access) bool {
	in := func(x, y []string) bool {
		return !slices.ContainsFunc(x, func(s string) bool { return !slices.Contains(y, s) })
	}
	return in(a.Read, b.Read) && in(a.Write, b.Write) && (b.Network || !a.Network) && (b.Execute || !a.Execute)
}

// Lines says in plain words what the access is, a line for each thing.
func (a Access) Lines() []string {
	var lines []string
	for _, p := range a.Read {
		lines = append(lines, "read "+p)
	}
	for _, p := range a.Write {
		lines = append(lines, "read and write "+p)
	}
	if a.Network {
		lines = append(lines, "use the network, and Unix sockets of other programs")
	}
	if a.Execute {
		lines = append(lines, "start programs of the system")
	}
	return lines
}

// Options are how a plugin is started.
type Options struct {
	Version  string       // of tapc
	Digest   string       // SHA-256 of the file in hex that it must have; "" is any
	Limits   Limits       //
	Access   Access       //
	Log      *slog.Logger // nil discards
	Progress func(plugin, part string, done, total uint64, text string)
	off      confine.Layer // what does not confine it, for tests
}
