package host

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
)

// The bounds of what is kept of a plugin's standard error.
const (
	keptLines   = 20
	keptLineLen = 300
)

// tail reads a plugin's standard error to its end. It keeps the last lines, passes every line on to the log, and reports when
// there are more bytes than allowed.
type tail struct {
	log   *slog.Logger
	limit int64
	over  func() // called once when the limit is passed
	done  chan struct{}

	mu    sync.Mutex
	lines []string
}

func newTail(r io.Reader, limit int64, log *slog.Logger, over func()) *tail {
	t := &tail{log: log, limit: limit, over: over, done: make(chan struct{})}
	go t.run(bufio.NewReaderSize(r, 4096))
	return t
}

// run reads lines; of a long line only the beginning counts.
func (t *tail) run(r *bufio.Reader) {
	defer close(t.done)
	for {
		line, more, err := r.ReadLine()
		if err != nil {
			return
		}
		t.count(len(line) + 1)
		t.add(line)
		for more && err == nil {
			line, more, err = r.ReadLine()
			t.count(len(line))
		}
	}
}

func (t *tail) count(n int) {
	before := t.limit
	t.limit -= int64(n)
	if before >= 0 && t.limit < 0 {
		go t.over()
	}
}

func (t *tail) add(line []byte) {
	if t.limit < 0 {
		return
	}
	text := t.record(line)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 2*keptLines {
		t.lines = append(t.lines[:0], t.lines[keptLines:]...)
	}
	t.lines = append(t.lines, text)
}

// record logs a line: JSON in the form of the handshake library's logger as a record of its level, all else as it is.
func (t *tail) record(line []byte) string {
	text := clean(string(line), keptLineLen)
	var entry struct {
		Message string `json:"@message"`
		Level   string `json:"@level"`
	}
	if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &entry) == nil && entry.Message != "" {
		text = clean(entry.Message, keptLineLen)
		t.log.Log(context.Background(), levels[entry.Level], text)
		return text
	}
	t.log.Debug(text, "from", "stderr")
	return text
}

var levels = map[string]slog.Level{"trace": slog.LevelDebug, "debug": slog.LevelDebug, "info": slog.LevelInfo,
	"warn": slog.LevelWarn, "error": slog.LevelError}

// last gives the last lines.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	if len(lines) > keptLines {
		lines = lines[len(lines)-keptLines:]
	}
	return append([]string(nil), lines...)
}
