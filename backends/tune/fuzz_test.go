package tune

import (
	"encoding/json"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
)

// FuzzReadEntry reads texts as entries of the cache: a fault is an error, and an entry that is written again is read as it was.
func FuzzReadEntry(f *testing.F) {
	config := textOf(&schedule.Config{})
	text, err := json.Marshal(&Entry{Format: Format, Key: []string{"k"}, Default: config, Chosen: config, Trials: []Trial{{Config: config}}})
	if _, wrong := readEntry(text, []string{"k"}); err != nil || wrong != nil {
		f.Fatal(err, wrong)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := readEntry(data, []string{"k"})
		if err != nil {
			return
		}
		text, err := e.text()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readEntry(text, []string{"k"}); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}
