package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"tensortapestry.org/tapc/plugins/confine"
)

// Spec says what process to start and within which bounds.
type Spec struct {
	Exe       *os.File // the opened file that is run
	Task      confine.Task
	Env       []string
	Processes int           // at a time
	Patience  time.Duration // until it is started
}

// Child is a running plugin and whatever watches it.
type Child struct {
	Stdin   *os.File // never written to: its end tells the plugin that tapc is gone
	Stdout  *os.File
	Stderr  *os.File
	Done    chan struct{} // closed when nothing of it runs any more
	End     Outcome       // true once Done is closed
	Confine confine.State // true once the process was started
	Folder  *os.File      // its folder, if that is in memory
	Stop    func()        // ends all of it by force; returns at once, and may be called again
}

// Outcome is how a process ended.
type Outcome struct {
	Exited bool          // by itself
	Code   int           // its exit status
	Signal int           // the signal that killed it, 0 for none
	Reason string        // the limit for which it was killed: "memory", "processes", "files" or ""
	RSS    int64         // its greatest resident memory, in bytes; 0 if not known
	CPU    time.Duration // its processor time
}

// String says how the process ended, as a clause.
func (o Outcome) String() string {
	switch {
	case o.Signal != 0:
		return fmt.Sprintf("it was killed by signal %d (%s)", o.Signal, syscall.Signal(o.Signal))
	case o.Exited:
		return fmt.Sprintf("it exited with status %d", o.Code)
	}
	return "it is gone"
}

// ByItself says whether the process ended in another way than by tapc's force.
func (o Outcome) ByItself() bool {
	return o.Exited || o.Signal != 0 && o.Signal != int(syscall.SIGKILL)
}

// Grace is how long a supervisor may take to kill everything before it is killed itself, and so how long the end of
// a plugin may take at most.
const Grace = 5 * time.Second

// pipes makes the three pipes of a plugin: the ends that tapc keeps are in the child, the others in the array.
func pipes() (c *Child, theirs [3]*os.File, err error) {
	c = &Child{Done: make(chan struct{})}
	ends := [3]**os.File{&c.Stdin, &c.Stdout, &c.Stderr}
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

func (c *Child) closePipes() { closeAll([]*os.File{c.Stdin, c.Stdout, c.Stderr, c.Folder}) }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// startDirect runs a plugin without a supervisor, as systems other than Linux must: in a process group of its own, which is
// killed with it.
func startDirect(s *Spec) (*Child, error) {
	c, theirs, err := pipes()
	if err != nil {
		return nil, err
	}
	defer closeAll(theirs[:])
	cmd := exec.Command(s.Task.Path)
	cmd.Env, cmd.Dir = s.Env, s.Task.Folder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	group(cmd)
	if err := cmd.Start(); err != nil {
		c.closePipes()
		return nil, err
	}
	c.Stop = func() { killGroup(cmd) }
	go func() {
		cmd.Wait()
		killGroup(cmd)
		c.End = outcomeOf(cmd.ProcessState)
		close(c.Done)
	}()
	return c, nil
}
