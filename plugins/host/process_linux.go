package host

import (
	"encoding/json"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
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

// supervisable says that this program's main function calls Supervise.
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

// order is what a supervisor reads first from its control pipe.
type order struct {
	Path     string
	Env      []string
	Dir      string
	Limits   Limits
	Access   Access
	Runnable []string
}

// state is what a supervisor writes: once when it has started the plugin, or not, and once when all is over.
type state struct {
	Errno   int         `json:",omitempty"` // of the start; the plugin does not run
	Error   string      `json:",omitempty"`
	Confine Confinement //
	End     *outcome    `json:",omitempty"`
}

// Supervise is the first thing that the main function of a program with plugins does. In a supervisor's or launcher's process
// it does that one's work and does not return; elsewhere it makes it known that this program can be run as one, and returns
// at once. A program that does not call it runs plugins without a supervisor.
func Supervise() {
	if len(os.Args) == 1 && os.Args[0] == supervisorName {
		supervise()
	}
	if len(os.Args) == 1 && os.Args[0] == launcherName {
		launch()
	}
	supervisable.Store(true)
}

func start(s *spec) (*child, error) {
	if !supervisable.Load() {
		return startDirect(s)
	}
	c, theirs, err := pipes()
	if err != nil {
		return nil, err
	}
	w := &watch{child: c}
	c.stop = w.stop
	control, err := w.pipes()
	if err == nil {
		files := append(append([]*os.File{}, theirs[:]...), append(control, s.exe)...)
		w.process, err = os.StartProcess("/proc/self/exe", []string{supervisorName}, &os.ProcAttr{
			Files: files, Env: []string{}, Sys: &syscall.SysProcAttr{Setpgid: true},
		})
	}
	closeAll(theirs[:])
	closeAll(control)
	if err != nil {
		c.closePipes()
		closeAll([]*os.File{w.control, w.pipe})
		return nil, err
	}
	return c, w.begin(s)
}

// watch is tapc's side of a supervisor.
type watch struct {
	child   *child
	process *os.Process
	control *os.File
	status  *json.Decoder
	pipe    *os.File
	once    sync.Once
}

// pipes makes the control and the status pipe, and gives the supervisor's ends.
func (w *watch) pipes() (theirs []*os.File, err error) {
	control, controlIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	statusOut, statusIn, err := os.Pipe()
	if err != nil {
		closeAll([]*os.File{control, controlIn})
		return nil, err
	}
	w.control, w.pipe, w.status = controlIn, statusOut, json.NewDecoder(statusOut)
	return []*os.File{control, statusIn}, nil
}

// begin gives the supervisor its order and waits until the plugin is started.
func (w *watch) begin(s *spec) error {
	err := json.NewEncoder(w.control).Encode(order{s.path, s.env, s.dir, s.limits, s.access, s.runnable})
	var first state
	if err == nil {
		w.pipe.SetReadDeadline(time.Now().Add(s.limits.Start))
		err = w.status.Decode(&first)
	}
	if err == nil && first.Error != "" {
		err = &startError{errors.New(first.Error)}
		if first.Errno != 0 {
			err = &startError{syscall.Errno(first.Errno)}
		}
	}
	w.child.confine = first.Confine
	go w.wait()
	if err != nil {
		w.stop()
		<-w.child.done
		w.child.closePipes()
	}
	return err
}

// wait reads how the plugin ended and reaps the supervisor.
func (w *watch) wait() {
	var last state
	w.pipe.SetReadDeadline(time.Time{})
	if err := w.status.Decode(&last); err == nil && last.End != nil {
		w.child.end = *last.End
	}
	w.process.Wait()
	w.pipe.Close()
	close(w.child.done)
}

// stop closes the control pipe, on which the supervisor kills everything.
func (w *watch) stop() {
	w.once.Do(func() {
		w.control.Close()
		time.AfterFunc(supervisorGrace, func() {
			select {
			case <-w.child.done:
			default:
				w.process.Kill()
			}
		})
	})
}
