// Package traceevent writes times in the trace event format, which chrome://tracing and Perfetto read.
package traceevent

import (
	"encoding/json"
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

// phase is what an event is: all are complete.
type phase struct{}

func (phase) MarshalText() ([]byte, error) { return []byte("X"), nil }

// Write writes events as one JSON object.
func Write(w io.Writer, events []Event) error {
	return json.NewEncoder(w).Encode(struct {
		Events []Event `json:"traceEvents"`
		Unit   string  `json:"displayTimeUnit"`
	}{append([]Event{}, events...), "ms"})
}
