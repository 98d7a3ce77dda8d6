package gpu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"tensortapestry.org/tapc/internal/childproc"
)

// patience is how long an answer may take: kernels are launched for milliseconds, so that one which takes so long hangs.
const patience = 2 * time.Minute

// mostPasses bounds what is asked for at once, as tapc-cuda does.
const mostPasses = 1_000_000

// Session is a launch list on a GPU, whose launches were made once.
type Session struct {
	cmd      *exec.Cmd
	ask      io.WriteCloser
	said     *bufio.Reader
	wrong    printed
	ctx      context.Context // of its process
	end      context.CancelFunc
	patience time.Duration
}

// printed keeps the beginning of what is written.
type printed struct{ text []byte }

const mostPrinted = 4 << 10

func (p *printed) Write(b []byte) (int, error) {
	p.text = append(p.text, b[:min(len(b), mostPrinted-len(p.text))]...)
	return len(b), nil
}

// Start makes the launches of a list's file once and writes its outputs. The error says what failed: a launch, or the device.
func (r *Runner) Start(ctx context.Context, list string) (*Session, error) {
	s := &Session{patience: r.Patience}
	s.ctx, s.end = context.WithCancel(ctx)
	s.cmd = childproc.Command(s.ctx, r.Program, "time", "-device", strconv.Itoa(r.Device.Ordinal), list)
	s.cmd.Stderr = &s.wrong
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		s.ask, err = s.cmd.StdinPipe()
	}
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.end()
		return nil, err
	}
	s.said = bufio.NewReaderSize(out, mostPrinted)
	var on struct {
		Device Device `json:"device"`
	}
	if err := s.hear(&on, "a GPU"); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Time makes the launches of the list so many times, and gives the seconds of all of them by the device's clock.
func (s *Session) Time(passes int) (float64, error) {
	if _, err := fmt.Fprintln(s.ask, min(max(passes, 1), mostPasses)); err != nil {
		return 0, s.failed(err)
	}
	var took struct {
		MS *float64 `json:"ms"`
	}
	if err := s.hear(&took, `{"ms": a time}`); err != nil {
		return 0, err
	}
	if took.MS == nil || !(*took.MS >= 0) || math.IsInf(*took.MS, 0) {
		return 0, garbled("time", "a time of 0 or more", fmt.Sprint(took))
	}
	return *took.MS / 1e3, nil
}

// hear reads a line of JSON.
func (s *Session) hear(into any, want string) error {
	timer := time.AfterFunc(s.patience, s.end)
	line, err := s.said.ReadSlice('\n')
	switch inTime := timer.Stop(); {
	case !inTime:
		return fmt.Errorf("the kernel did not end within %v", s.patience)
	case errors.Is(err, bufio.ErrBufferFull):
		return garbled("time", want, string(line))
	case err != nil:
		return s.failed(err)
	}
	d := json.NewDecoder(strings.NewReader(string(line)))
	d.DisallowUnknownFields()
	if d.Decode(into) != nil || d.More() {
		return garbled("time", want, string(line))
	}
	return nil
}

// failed gives the error of a process that ended: the context's, what the process said, or how it ended.
func (s *Session) failed(err error) error {
	if ended := context.Cause(s.ctx); ended != nil {
		return ended
	}
	waited := s.wait()
	if said := strings.TrimSpace(string(s.wrong.text)); said != "" { // it is complete when the process has ended
		return errors.New(strings.TrimPrefix(said, Name+": "))
	}
	return fmt.Errorf("%s ended: %w", Name, errors.Join(waited, err))
}

// wait ends the process, which has nothing more to read, and gives how it ended.
func (s *Session) wait() error {
	s.ask.Close()
	return s.cmd.Wait()
}

// Close ends the session.
func (s *Session) Close() {
	s.end()
	_ = s.wait() // it was told to end
}
