package host

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"tensortapestry.org/tapc/plugins/confine"
)

// spec says what process to start and within which bounds.
type spec struct {
	exe       *os.File // the opened file that is run
	task      confine.Task
	env       []string
	processes int           // at a time
	patience  time.Duration // until it is started
	probe     bool          // only find out how it would be confined
}

// child is a running plugin and whatever watches it.
type child struct {
	stdin   *os.File // never written to: its end tells the plugin that tapc is gone
	stdout  *os.File
	stderr  *os.File
	done    chan struct{} // closed when nothing of it runs any more
	end     outcome       // true once done is closed
	confine confine.State // true once the process was started
	folder  *os.File      // its folder, if that is in memory
	stop    func()        // ends all of it by force; returns at once, and may be called again
}

// outcome is how a process ended.
type outcome struct {
	Exited bool          // by itself
	Code   int           // its exit status
	Signal int           // the signal that killed it, 0 for none
	Reason string        // the limit for which it was killed: "memory", "processes", "files" or ""
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

// byItself says whether the process ended in another way than by tapc's force.
func (o outcome) byItself() bool {
	return o.Exited || o.Signal != 0 && o.Signal != int(syscall.SIGKILL)
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

func (c *child) closePipes() { closeAll([]*os.File{c.stdin, c.stdout, c.stderr, c.folder}) }

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
	cmd := exec.Command(s.task.Path)
	cmd.Env, cmd.Dir = s.env, s.task.Folder
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
