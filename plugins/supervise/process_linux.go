package supervise

import (
	"encoding/json"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tensortapestry.org/tapc/plugins/confine"
)

// A plugin's process tree on Linux: tapc → supervisor → plugin → whatever it starts. The supervisor is tapc's own program,
// run again under supervisorName. It is the reaper of all that descends from it, so nothing escapes by starting processes
// and ending. It kills everything when the plugin ends, when a limit is passed, or when the control pipe from tapc ends,
// which it does however tapc dies. The plugin's process begins as tapc's own program too, under launcherName: that confines
// itself and then becomes the plugin. It dies with the supervisor (PR_SET_PDEATHSIG), to which it can not send signals.
const (
	supervisorName = "tapc-plugin-supervisor"
	launcherName   = "tapc-plugin-launcher"
)

// ownEnvironment is that of a supervisor and a launcher. Whoever closes a plugin waits for its supervisor, and a program with the race detector ends a second later unless it is told otherwise; others
// do not read it.
var ownEnvironment = []string{"GORACE=atexit_sleep_ms=0"}

// supervisable says that this program's main function calls Main.
var supervisable atomic.Bool

// Descriptors of a supervisor besides the standard three, which are the plugin's.
const (
	controlFD = 3 + iota
	statusFD
	exeFD
)

// Descriptors of a launcher besides the standard three, which are the plugin's. The plugin keeps the first.
const (
	launchExeFD = 3 + iota
	launchReportFD
	launchOrderFD
)

// order is what a supervisor reads first from its control pipe, and gives to the launcher.
type order struct {
	Task      confine.Task
	Env       []string
	Processes int  // at a time
	Probe     bool // confine, say what came of it, and start nothing
}

// Main is the first thing that the main function of a program with plugins does. In a supervisor's or launcher's process
// it does that one's work and does not return; elsewhere it makes it known that this program can be run as one, and returns
// at once. A program that does not call it runs plugins without a supervisor.
func Main() {
	if len(os.Args) == 1 && os.Args[0] == supervisorName {
		supervise()
	}
	if len(os.Args) == 1 && os.Args[0] == launcherName {
		launch()
	}
	supervisable.Store(true)
}

// Start starts a plugin, under a supervisor if this program can be run as one.
func Start(s *Spec) (*Child, error) {
	if !supervisable.Load() {
		return startDirect(s)
	}
	return startSupervised(s, false)
}

// startSupervised starts a plugin, or only finds out how it would be confined.
func startSupervised(s *Spec, probe bool) (*Child, error) {
	c, theirs, err := pipes()
	if err != nil {
		return nil, err
	}
	w := &watch{child: c}
	c.Stop = w.stop
	o := order{Task: s.Task, Env: s.Env, Processes: s.Processes, Probe: probe}
	control, err := w.pipes()
	if err == nil {
		err = w.spawn(append(append([]*os.File{}, theirs[:]...), append(control, s.Exe)...), &o)
	}
	closeAll(theirs[:])
	closeAll(control)
	if err != nil {
		c.closePipes()
		w.close()
		return nil, err
	}
	return c, w.begin(&o, s.Patience)
}

// spawn starts the supervisor, as the first process of a PID namespace if there are such, and writes into the order which namespaces
// it has.
func (w *watch) spawn(files []*os.File, o *order) (err error) {
	attempts := []confine.Namespaces{{User: true, PID: true}, {PID: true}, {}}
	if o.Task.Off.Has(confine.Spaces) {
		attempts = attempts[2:]
	}
	for _, n := range attempts {
		o.Task.Namespaces = n
		sys := &syscall.SysProcAttr{Setpgid: true, Cloneflags: confine.CloneFlags(n)}
		if n.User { // the same user and group, with capabilities that count only inside
			sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
			sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
			sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
		}
		w.process, err = os.StartProcess("/proc/self/exe", []string{supervisorName}, &os.ProcAttr{Files: files, Env: ownEnvironment, Sys: sys})
		if err == nil {
			return nil
		}
	}
	return err
}

// Probe finds out how this system confines a process, by doing all of it but for the start of its program.
func Probe(s *Spec) (confine.State, error) {
	if !supervisable.Load() {
		return confine.State{}, nil
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		return confine.State{}, err
	}
	defer exe.Close()
	of := *s
	of.Exe, of.Task.Path = exe, exe.Name()
	c, err := startSupervised(&of, true)
	if err != nil {
		return confine.State{}, err
	}
	c.Stop()
	<-c.Done
	c.closePipes()
	return c.Confine, nil
}

// watch is tapc's side of a supervisor.
type watch struct {
	child   *Child
	process *os.Process
	control *os.File
	status  *link
	once    sync.Once
}

// pipes makes the control pipe and the connection for states, and gives the supervisor's ends.
func (w *watch) pipes() (theirs []*os.File, err error) {
	control, controlIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in, out, err := linkPair()
	if err != nil {
		closeAll([]*os.File{control, controlIn})
		return nil, err
	}
	w.control, w.status = controlIn, in
	return []*os.File{control, out.file}, nil
}

// close closes tapc's ends.
func (w *watch) close() {
	if w.status != nil {
		closeAll([]*os.File{w.control, w.status.file})
	}
}

// begin gives the supervisor its order and waits until the plugin is started.
func (w *watch) begin(o *order, patience time.Duration) error {
	err := json.NewEncoder(w.control).Encode(o)
	var first state
	var fds []int
	if err == nil {
		w.status.file.SetReadDeadline(time.Now().Add(patience))
		first, fds, err = w.status.receive()
	}
	if err == nil && first.Error != "" {
		err = errors.New(first.Error)
		if first.Errno != 0 {
			err = syscall.Errno(first.Errno)
		}
	}
	w.child.Confine = first.Confine
	if len(fds) > 0 {
		w.child.Folder = os.NewFile(uintptr(fds[0]), o.Task.Folder)
	}
	go w.wait()
	if err != nil {
		w.stop()
		<-w.child.Done
		w.child.closePipes()
	}
	return err
}

// wait reads how the plugin ended and reaps the supervisor.
func (w *watch) wait() {
	w.status.file.SetReadDeadline(time.Time{})
	if last, _, err := w.status.receive(); err == nil && last.End != nil {
		w.child.End = *last.End
	}
	w.process.Wait()
	w.status.file.Close()
	close(w.child.Done)
}

// stop closes the control pipe, on which the supervisor kills everything.
func (w *watch) stop() {
	w.once.Do(func() {
		w.control.Close()
		time.AfterFunc(Grace, func() {
			select {
			case <-w.child.Done:
			default:
				w.process.Kill()
			}
		})
	})
}
