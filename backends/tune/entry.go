package tune

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/ir/diag"
)

// Format is the version of entries.
const Format = 1

// Entry is what was found of one kernel on one machine, as a cache keeps it.
type Entry struct {
	Format   int      `json:"format"`
	Kernel   string   `json:"kernel"`   // in words
	Key      []string `json:"key"`      // what was found holds for: see the function key
	Default  string   `json:"default"`  // config, as textOf writes it
	Chosen   string   `json:"chosen"`   // the best that was found
	Code     string   `json:"code"`     // digest of the code of the chosen one
	Gain     Verdict  `json:"gain"`     // of the chosen one beside the default; empty if it is the default, or was not raced against it yet
	Complete bool     `json:"complete"` // all that is to be measured was,
	All      bool     `json:"all"`      // also of what the model thinks is hopeless
	Trials   []Trial  `json:"trials"`

	defaultConfig, chosen *schedule.Config
}

// Trial is one candidate and what its race found.
type Trial struct {
	Config string `json:"config"`
	Says   string `json:"says"` // the config in words
	Code   string `json:"code"` // digest of its code, "" if none can be written
	Verdict
}

// DefaultConfig is what the kernel has where nothing is tuned, with names of operands by their places.
func (e *Entry) DefaultConfig() *schedule.Config { return e.defaultConfig }

// Best is the config that was found to be fastest, with names of operands by their places.
func (e *Entry) Best() *schedule.Config {
	if e.Gain.Outcome == Faster {
		return e.chosen
	}
	return e.defaultConfig
}

// text gives the content of an entry.
func (e *Entry) text() ([]byte, error) {
	e.Default, e.Chosen = textOf(e.defaultConfig), textOf(e.chosen)
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	w.SetIndent("", " ")
	err := w.Encode(e)
	return b.Bytes(), err
}

// readEntry reads an entry, which must be that of a key.
func readEntry(text []byte, key []string) (*Entry, error) {
	e := &Entry{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(e); err != nil {
		return nil, err
	}
	if e.Format != Format || fmt.Sprint(e.Key) != fmt.Sprint(key) {
		return nil, errors.New("it is of another format, or of another kernel or machine")
	}
	var err, err2 error
	e.defaultConfig, err = readConfig(e.Default)
	e.chosen, err2 = readConfig(e.Chosen)
	return e, errors.Join(err, err2)
}

// Store keeps entries.
type Store interface {
	// Look gives the content of an entry. The error wraps fs.ErrNotExist if there is none, and otherwise names it and says what is wrong with it.
	Look(key filecache.Key) ([]byte, error)
	// Put keeps an entry whole, or leaves what was there.
	Put(key filecache.Key, content []byte) error
}

// keyOf digests what an entry holds for.
func keyOf(parts []string) filecache.Key {
	h := sha256.New()
	for _, s := range parts {
		fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	return filecache.Key(h.Sum(nil))
}

// digest is that of a text, in hexadecimal.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// codeDamaged is the code of the warning of an entry that is not as it was written.
const codeDamaged = "TAP2852"

// look gives the entry of a key, nil if there is none. One that is damaged is as if it were not there, and warn is told its name.
func look(s Store, key []string, warn func(diag.Diagnostic)) *Entry {
	text, err := s.Look(keyOf(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var e *Entry
	if err == nil {
		if e, err = readEntry(text, key); err != nil {
			err = fmt.Errorf("the entry %s: %w", filecache.Name(keyOf(key)), err)
		}
	}
	if err != nil {
		d := diag.Errorf(codeDamaged, "tune", diag.Location{}, "what was measured is damaged and is not used: %v", err)
		d.Severity = diag.Warning
		warn(d.WithHint("tapc tune measures it again"))
		return nil
	}
	return e
}
