// Package progress says how far long work is: as one line on a terminal, which comes only when the work takes a while and is gone when
// it is done, or as lines of JSON for programs.
package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Meter is how far the steps of some work are. What is written to it goes to the stream under it, without the line in its way.
type Meter struct {
	mu    sync.Mutex
	to    io.Writer
	form  Form
	now   func() time.Time
	begun time.Time
	steps []string
	at    int  // the present step; -1 before the first
	shown bool // the line is on the terminal
	stop  chan struct{}
}

// Form is how progress is shown.
type Form string

// The forms.
const (
	None     Form = "none"
	Terminal Form = "terminal"
	JSON     Form = "json"
)

// patience is how long work takes before a terminal shows it, and pace how often the line is renewed.
const (
	patience = time.Second
	pace     = 200 * time.Millisecond
)

// IsTerminal says whether a stream is a terminal on which lines can be drawn again.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// New makes a meter before a stream.
func New(to io.Writer, form Form) *Meter {
	m := &Meter{to: to, form: form, now: time.Now, at: -1, stop: make(chan struct{})}
	m.begun = m.now()
	if form == Terminal {
		go m.run()
	}
	return m
}

func (m *Meter) run() {
	t := time.NewTicker(pace)
	defer t.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-t.C:
			m.mu.Lock()
			m.show()
			m.mu.Unlock()
		}
	}
}

// Plan adds steps that will come.
func (m *Meter) Plan(steps ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, steps...)
}

// Begin says that a step begins, and those before it are done. One that comes again leaves the place as it is.
func (m *Meter) Begin(step string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.steps[m.at+1:], step); i >= 0 {
		m.at += 1 + i
	}
	if m.form == JSON {
		m.line(step, max(m.at, 0))
	}
}

// End says that the work has ended, done or not, takes the line off the terminal, and gives the stream under the meter.
func (m *Meter) End(done bool) io.Writer {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.stop:
		return m.to
	default:
	}
	close(m.stop)
	m.clear()
	if m.form == JSON && done {
		m.line("", m.at+1)
	}
	return m.to
}

// Write writes to the stream under the meter.
func (m *Meter) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
	return m.to.Write(p)
}

// line writes progress for programs; nothing is there to say that it could not be written.
func (m *Meter) line(step string, done int) {
	text, err := json.Marshal(map[string]any{"progress": map[string]any{"done": done, "left": len(m.steps) - done, "now": step}})
	if err == nil {
		fmt.Fprintf(m.to, "%s\n", text)
	}
}

// show writes the line for people, over the one that is there.
func (m *Meter) show() {
	took := m.now().Sub(m.begun)
	if took < patience || m.at < 0 {
		return
	}
	m.clear()
	fmt.Fprintf(m.to, "[%d of %d done, %d s] %s", m.at, len(m.steps), int(took.Seconds()), m.steps[m.at])
	m.shown = true
}

// clear takes the line off the terminal.
func (m *Meter) clear() {
	if m.shown {
		fmt.Fprint(m.to, "\r\x1b[K")
		m.shown = false
	}
}
