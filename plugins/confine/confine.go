// Package confine keeps a program in bounds: by namespaces, a root directory of its own, Landlock, a filter of system calls and
// resource limits, as far as the system has them. A process confines itself and then becomes the program; what became of it is a
// State, and State.Bounds says in plain sentences what that keeps the program from and what not.
//
// It knows nothing of plugins and starts no process: plugins/host does. It imports only the standard library and the numbers of the
// system's interface. Read rules_linux.go for the system calls, root_linux.go for the files, bounds.go for what is promised.
package confine

import "time"

// Task says what program a process becomes, and what it may do.
type Task struct {
	Path       string     // of its file, for messages and for its own use
	Folder     string     // the one directory that it may fill; it is there, and has no symbolic link in its path
	Sockets    string     // a directory in Folder for its sockets
	Runnable   []string   // files that its own file names as interpreters
	Read       []string   // files and directories that it may read besides the system's libraries
	Write      []string   // files and directories that it may read and write
	Network    bool       // it may use the network
	Execute    bool       // it may start the system's programs
	Limits     Limits     //
	Namespaces Namespaces // those of its own that the process is in already
	Off        Layer      // what is left out, for tests
}

// Limits bound what a program may use.
type Limits struct {
	Memory   int64         // bytes
	FileSize int64         // bytes of each file, and of all in Folder together
	CPU      time.Duration // processor time of each process
	Files    int           // open at a time
}

// MaxFiles is how many files a folder may hold.
const MaxFiles = 1 << 16

// Namespaces are the kinds of namespaces that a program can have of its own.
type Namespaces struct {
	User    bool `json:"user"`
	PID     bool `json:"pid"`
	Mount   bool `json:"mount"`
	Network bool `json:"network"`
	IPC     bool `json:"ipc"`
}

// Layer is a set of the means by which a program is confined.
type Layer uint8

// The layers that a test can leave out, to see that the others hold what they promise.
const (
	Spaces   Layer = 1 << iota // namespaces, all of them
	Root                       // the root directory of its own
	Landlock                   //
	Filter                     // of system calls
	Once                       // the watch on the start of programs
	Cgroup                     //
)

// Has says whether a set has a layer.
func (l Layer) Has(one Layer) bool { return l&one != 0 }
