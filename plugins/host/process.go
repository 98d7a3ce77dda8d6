package host

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// spec says what process to start and within which bounds.
type spec struct {
	exe      *os.File // the opened file that is run
	path     string   // its name, for the process's own use
	env      []string
	dir      string // its temporary directory, which it may fill
	limits   Limits
	access   Access
	runnable []string // interpreters that the file itself names
}

// child is a running plugin and whatever watches it.
type child struct {
	stdin   *os.File // never written to: its end tells the plugin that tapc is gone
	stdout  *os.File
	stderr  *os.File
	done    chan struct{} // closed when nothing of it runs any more
	end     outcome       // true once done is closed
	confine Confinement   // true once the process was started
	stop    func()        // ends all of it by force; returns at once, and may be called again
}

// outcome is how a process ended.
type outcome struct {
	Exited bool          // by itself
	Code   int           // its exit status
	Signal int           // the signal that killed it, 0 for none
	Reason string        // the limit for which it was killed: "memory", "processes" or ""
	RSS    int64         // its greatest resident memory, in bytes; 0 if not known
	CPU    time.Duration // its processor time
}

// String says how the process ended, as a clause.
func (o outcome) String() string {
	switch {
	case o.Signal != 0:
		return fmt.Sprintf("it was killed by signal %d (%s)", o.Signal, syscall.Signal(o.Signal))
	case o.Exited:
		return fmt.Sprintf("it exited with status %d", o.Code)
	}
	return "it is gone"
}

// Confinement says what keeps a plugin in bounds.
type Confinement struct {
	Supervised bool `json:"supervised"` // a supervisor watches its processes
	Landlock   int  `json:"landlock"`   // version of Landlock's interface; 0 is none
	Filter     bool `json:"filter"`     // its system calls are filtered
}

// Bound is one thing that plugins are kept from, or are not kept from on this system.
type Bound struct {
	Held bool
	Text string // a plain sentence: what plugins can not do and why, or what they can do and what is missing
}

// The first versions of Landlock's interface that know a thing.
const (
	landlockTruncates = 3
	landlockSignals   = 6
)

// Bounds says what plugins that were granted nothing are kept from and what not.
func (c Confinement) Bounds() []Bound {
	say := func(held bool, yes, no string) Bound {
		if held {
			return Bound{true, yes}
		}
		return Bound{false, no}
	}
	list := []Bound{
		say(c.Supervised, "a supervisor bounds memory and processes, and ends all that a plugin started, also when tapc is killed",
			"no supervisor: its memory is not bounded, and a process that it starts may outlive it"),
		say(c.Landlock > 0, fmt.Sprintf("Landlock %d denies files but the system's libraries, its own and those granted", c.Landlock),
			"no Landlock: it can read and write every file that you can, and send signals to your processes"),
	}
	if c.Landlock > 0 {
		list = append(list, say(c.Landlock >= landlockSignals, "Landlock denies signals to processes outside",
			fmt.Sprintf("Landlock %d does not know signals: it can send them to your processes", c.Landlock)))
	}
	if c.Landlock > 0 && c.Landlock < landlockTruncates {
		list = append(list, Bound{false, fmt.Sprintf("Landlock %d does not know truncation: it can empty every file that you can write", c.Landlock)})
	}
	return append(list, say(c.Filter, "a filter of system calls denies the network, Unix sockets of others, keys, shared memory and traces",
		"no filter of system calls: it can use the network and every Unix socket that you can"))
}

// Gaps says in plain sentences what is not confined.
func (c Confinement) Gaps() []string {
	var gaps []string
	for _, b := range c.Bounds() {
		if !b.Held {
			gaps = append(gaps, b.Text)
		}
	}
	return gaps
}

// supervisorGrace is how long a supervisor may take to kill everything before it is killed itself, and so how long the end of
// a plugin may take at most.
const supervisorGrace = 5 * time.Second

// startError is a process that could not be started.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// pipes makes the three pipes of a plugin: the ends that tapc keeps are in the child, the others in the array.
func pipes() (c *child, theirs [3]*os.File, err error) {
	c = &child{done: make(chan struct{})}
	ends := [3]**os.File{&c.stdin, &c.stdout, &c.stderr}
	for i := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			c.closePipes()
			closeAll(theirs[:])
			return nil, theirs, err
		}
		theirs[i], *ends[i] = w, r
		if i == 0 {
			theirs[i], *ends[i] = r, w
		}
	}
	return c, theirs, nil
}

func (c *child) closePipes() { closeAll([]*os.File{c.stdin, c.stdout, c.stderr}) }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// startDirect runs a plugin without a supervisor, as systems other than Linux must: in a process group of its own, which is
// killed with it.
func startDirect(s *spec) (*child, error) {
	c, theirs, err := pipes()
	if err != nil {
		return nil, err
	}
	defer closeAll(theirs[:])
	cmd := exec.Command(s.path)
	cmd.Env, cmd.Dir = s.env, s.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	group(cmd)
	if err := cmd.Start(); err != nil {
		c.closePipes()
		return nil, &startError{err}
	}
	c.stop = func() { killGroup(cmd) }
	go func() {
		cmd.Wait()
		killGroup(cmd)
		c.end = outcomeOf(cmd.ProcessState)
		close(c.done)
	}()
	return c, nil
}
