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

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
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

// The forms, and what Flag chooses one by.
const (
	auto     Form = "auto"
	None     Form = "none"
	Terminal Form = "terminal"
	JSON     Form = "json"
)

// Words are the values of --progress.
var Words = []string{string(auto), string(None), string(JSON)}

// Flag is --progress.
type Flag struct{ value string }

// Add adds the flag to those of a command.
func (f *Flag) Add(fs *pflag.FlagSet) {
	fs.StringVar(&f.value, "progress", string(auto), "how far the work is, on standard error: auto is shown on a terminal and nowhere else; none, or json")
	flagnames.Words(fs, "progress", Words)
}

// Form is how progress is shown on a stream.
func (f *Flag) Form(w io.Writer) Form {
	switch form := Form(f.value); {
	case form == auto && IsTerminal(w):
		return Terminal
	case form == JSON:
		return JSON
	}
	return None
}

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

// Plan adds steps that will come, unless they are what is left already.
func (m *Meter) Plan(steps ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(m.steps[m.at+1:], steps) {
		m.steps = append(m.steps, steps...)
	}
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

// line writes progress for programs.
func (m *Meter) line(step string, done int) { Line(m.to, done, len(m.steps)-done, step) }

// Line writes progress for programs, of work of which so much is left, or nobody knows how much if that is negative. Nothing is there to say that it could not be written.
func Line(to io.Writer, done, left int, now string) {
	x := map[string]any{"done": done, "left": left, "now": now}
	if left < 0 {
		x["left"] = nil
	}
	if text, err := json.Marshal(map[string]any{"progress": x}); err == nil {
		fmt.Fprintf(to, "%s\n", text)
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
