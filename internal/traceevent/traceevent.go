// Package traceevent writes times in the trace event format, which chrome://tracing and Perfetto read.
package traceevent

import (
	"encoding/json"
	"fmt"
	"io"
)

// Event is a span of time: a complete event ("X") of the format.
type Event struct {
	Name    string             `json:"name"`
	Kind    string             `json:"cat"`
	Phase   phase              `json:"ph"`
	Start   float64            `json:"ts"`  // in microseconds
	Time    float64            `json:"dur"` // in microseconds
	Process int                `json:"pid"`
	Row     int                `json:"tid"` // of the process
	Args    map[string]float64 `json:"args,omitempty"`
}

// phase is what an event is: those of spans are complete.
type phase struct{}

func (phase) MarshalText() ([]byte, error) { return []byte("X"), nil }

// Name is what a row of a process is called, or the process if the row is 0: a metadata event ("M") of the format.
type Name struct {
	Process, Row int
	Name         string
}

// MarshalJSON writes the event.
func (n Name) MarshalJSON() ([]byte, error) {
	kind, row := "process_name", ""
	if n.Row > 0 {
		kind, row = "thread_name", fmt.Sprintf(`,"tid":%d`, n.Row)
	}
	name, err := json.Marshal(n.Name)
	return fmt.Appendf(nil, `{"name":%q,"ph":"M","pid":%d%s,"args":{"name":%s}}`, kind, n.Process, row, name), err
}

// Write writes events as one JSON object, with the names of rows before them.
func Write(w io.Writer, events []Event, names ...Name) error {
	list := []any{}
	for _, n := range names {
		list = append(list, n)
	}
	for _, e := range events {
		list = append(list, e)
	}
	return json.NewEncoder(w).Encode(struct {
		Events []any  `json:"traceEvents"`
		Unit   string `json:"displayTimeUnit"`
	}{list, "ms"})
}
