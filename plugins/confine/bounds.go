package confine

import "fmt"

// State says what keeps a program in bounds. The zero value is a program that nothing keeps.
type State struct {
	Supervised bool       `json:"supervised"` // a supervisor watches its processes
	Sealed     bool       `json:"sealed"`     // it has no descriptor that was not meant for it
	Capless    bool       `json:"capless"`    // it has no capability and can gain none
	Namespaces Namespaces `json:"namespaces"` // of its own
	Rooted     bool       `json:"rooted"`     // its root directory has only what was granted, and a folder in memory
	Landlock   int        `json:"landlock"`   // version of Landlock's interface; 0 is none
	Filtered   bool       `json:"filtered"`   // its system calls are filtered
	Once       bool       `json:"once"`       // it can start no program
	Cgroup     bool       `json:"cgroup"`     // a control group bounds its memory and its processes
}

// Bound is one thing that a program is kept from, or is not kept from on this system.
type Bound struct {
	Name string // one or two words
	Held bool
	Text string // what holds it and how far, or what the program can do and what is missing
}

// The first versions of Landlock's interface that know a thing.
const (
	landlockTruncates = 3
	landlockSignals   = 6
	landlockUnix      = 9
)

// inside says whether the program's signals reach only processes that it started, and its supervisor, with which it ends itself.
func (s State) inside() bool { return s.Namespaces.PID || s.Landlock >= landlockSignals }

// truncates says whether files that it may not write can not be emptied either.
func (s State) truncates() bool { return s.Rooted || s.Landlock >= landlockTruncates }

// way is one way of holding a bound: the first that is there says how.
type way struct {
	there bool
	text  string
}

// bound makes a row of the ways that hold it; no is what can be done where none does.
func bound(name, no string, ways ...way) Bound {
	for _, w := range ways {
		if w.there {
			return Bound{name, true, w.text}
		}
	}
	return Bound{name, false, no}
}

// Bounds says what a program that was granted nothing is kept from, a row for each property.
func (s State) Bounds() []Bound {
	return append(append(s.processBounds(), s.fileBounds()...), s.otherBounds()...)
}

func (s State) processBounds() []Bound {
	hidden := "nothing bounds its memory and the number of its processes"
	if s.Supervised {
		hidden = "its processes' memory is bounded, and what it shares or keeps in files in memory is not"
	}
	return []Bound{
		bound("its processes", "a process that it starts may outlive it and tapc",
			way{s.Supervised && s.Namespaces.PID, "all end with it and with tapc, however tapc dies (PID namespace)"},
			way{s.Supervised, "all end with it and with tapc, however tapc dies (supervisor)"}),
		bound("signals", "it can send signals to your processes",
			way{s.Namespaces.PID, "none to processes outside (PID namespace)"},
			way{s.Landlock >= landlockSignals, fmt.Sprintf("none to processes outside (Landlock %d)", s.Landlock)},
			way{s.Filtered, "none but to itself, so that its processes can not signal each other either (filter)"}),
		bound("processes of others", "it can trace your processes and change their limits and priorities",
			way{s.Filtered, "no traces, and no change of their limits, priorities or processors (filter)"}),
		bound("programs", "it can start programs that it can read, by way of the system's loader",
			way{s.Once, "it can start none, not by the loader nor from memory, and can only copy itself (filter, watched)"}),
		bound("memory", hidden,
			way{s.Supervised && s.Cgroup, "bounded with its processes and its files in memory (control group)"},
			way{s.Supervised && s.Filtered && (s.Rooted || s.Landlock > 0), "bounded with its processes; looked at ten times a second (supervisor)"}),
	}
}

func (s State) fileBounds() []Bound {
	lock := fmt.Sprintf("Landlock %d", s.Landlock)
	return []Bound{
		bound("reading files", "it can read every file that you can",
			way{s.Rooted && s.Landlock > 0, "the system's libraries, its own and those granted; no other is there (mount namespace, " + lock + ")"},
			way{s.Rooted, "the system's libraries, its own and those granted; no other is there (mount namespace)"},
			way{s.Landlock > 0, "the system's libraries, its own and those granted, but it sees names and sizes of others (" + lock + ")"}),
		bound("writing files", "it can change, make and remove every file that you can",
			way{s.Rooted, "only its folder and those granted (mount namespace)"},
			way{s.Landlock > 0 && (s.truncates() || s.Filtered), "only its folder and those granted (" + lock + ")"}),
		bound("modes and owners", "it can change mode, owner, times and attributes of every file of yours",
			way{s.Rooted, "only of files in its folder and of those granted for writing (mount namespace)"},
			way{s.Filtered, "it can change mode, owner, times and attributes of no file, not of its own either (filter)"}),
		bound("its folder", "nothing bounds all its files together; each file is bounded",
			way{s.Rooted, "all its files together are bounded; they are in memory and count as such (mount namespace)"},
			way{s.Supervised, "all its files together are bounded; looked at twice a second (supervisor)"}),
		bound("open files", "it can use what tapc was given open by the program that started it",
			way{s.Sealed, "it has its three pipes and its own file"}),
	}
}

func (s State) otherBounds() []Bound {
	return []Bound{
		bound("network", "it can use the network",
			way{s.Namespaces.Network && s.Filtered, "none (network namespace, filter)"},
			way{s.Filtered, "none (filter)"},
			way{s.Namespaces.Network, "none (network namespace)"}),
		bound("sockets of others", "it can connect to every Unix socket that you can",
			way{s.Filtered, "it can listen on Unix sockets, and connect to none (filter)"},
			way{s.Rooted && s.Namespaces.Network, "none can be reached (mount and network namespaces)"}),
		bound("keys and queues", "it can reach keys, shared memory, semaphores and queues of your processes",
			way{s.Filtered && s.Namespaces.IPC, "no keys, shared memory, semaphores or queues (filter, IPC namespace)"},
			way{s.Filtered, "no keys, shared memory, semaphores or queues (filter)"}),
		bound("system calls", "it can use every system call",
			way{s.Filtered, "those of a list; others, also those that the kernel gains, do not exist (filter)"}),
		bound("capabilities", "as root it has all of root's capabilities",
			way{s.Capless, "none, also when root runs tapc"}),
	}
}

// Gaps gives the bounds that are not held.
func (s State) Gaps() []Bound {
	var gaps []Bound
	for _, b := range s.Bounds() {
		if !b.Held {
			gaps = append(gaps, b)
		}
	}
	return gaps
}
