package diag

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// The names of SARIF 2.1.0 (OASIS standard, 2020), as far as tapc fills them in.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name  string      `json:"name"`
	Rules []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID     string           `json:"ruleId,omitempty"`
	RuleIndex  *int             `json:"ruleIndex,omitempty"`
	Level      string           `json:"level"`
	Message    sarifMessage     `json:"message"`
	Locations  []sarifLocation  `json:"locations,omitempty"`
	Related    []sarifLocation  `json:"relatedLocations,omitempty"`
	Properties *sarifProperties `json:"properties,omitempty"`
}

type sarifProperties struct {
	Constraint string `json:"constraint,omitempty"`
	Expected   string `json:"expected,omitempty"`
	Found      string `json:"found,omitempty"`
	Hint       string `json:"hint,omitempty"`
}

type sarifLocation struct {
	ID       *int           `json:"id,omitempty"`
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifMessage  `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

type sarifLogical struct {
	Name          string `json:"name,omitempty"`
	QualifiedName string `json:"fullyQualifiedName,omitempty"` // the JSON pointer
	Kind          string `json:"kind"`
}

// WriteSARIF writes the diagnostics as one run of a SARIF 2.1.0 log, for code scanning tools. Expected, found and the hint
// stand in the message and as properties. Columns count code points, as SARIF demands, where src has the file, and bytes
// elsewhere.
func WriteSARIF(w io.Writer, list List, src Source) error {
	list = codePoints(list, src)
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "tapc", Rules: sarifRules(list)}
	for _, d := range list {
		run.Results = append(run.Results, toSARIF(d, run.Tool.Driver.Rules))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// sarifRules gives the different codes in order, each with its constraint as the rule's name.
func sarifRules(list List) []sarifRule {
	rules := []sarifRule{}
	for _, d := range list {
		if d.Code != "" {
			rules = append(rules, sarifRule{ID: d.Code, Name: d.Constraint})
		}
	}
	slices.SortStableFunc(rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(rules, func(a, b sarifRule) bool { return a.ID == b.ID })
}

func toSARIF(d Diagnostic, rules []sarifRule) sarifResult {
	r := sarifResult{RuleID: d.Code, Level: [...]string{"error", "warning", "note"}[d.Severity], Message: sarifMessage{sarifText(d)}}
	if i := slices.IndexFunc(rules, func(x sarifRule) bool { return x.ID == d.Code }); i >= 0 {
		r.RuleIndex = &i
	}
	if at, ok := toSARIFLocation(d.Location); ok {
		r.Locations = []sarifLocation{at}
	}
	for i, n := range d.Notes {
		at, _ := toSARIFLocation(n.Location)
		at.ID, at.Message = &i, &sarifMessage{n.Message}
		r.Related = append(r.Related, at)
	}
	if p := (sarifProperties{d.Constraint, d.Expected, d.Found, d.Hint}); p != (sarifProperties{}) {
		r.Properties = &p
	}
	return r
}

func sarifText(d Diagnostic) string {
	text := d.Message
	if d.Expected != "" || d.Found != "" {
		text += ": expected " + d.Expected + ", found " + d.Found
	}
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}

func toSARIFLocation(l Location) (sarifLocation, bool) {
	var at sarifLocation
	if l.File != "" {
		at.Physical = &sarifPhysical{Artifact: sarifArtifact{sarifURI(l.File)}}
		if l.Line > 0 {
			at.Physical.Region = &sarifRegion{l.Line, l.Column}
		}
	}
	if l.Node != "" || l.Pointer != "" {
		at.Logical = []sarifLogical{{Name: l.Node, QualifiedName: l.Pointer, Kind: "element"}}
	}
	return at, l != Location{}
}

// codePoints turns the columns of the diagnostics' places from bytes into code points.
func codePoints(list List, src Source) List {
	turn := func(l *Location) {
		if src == nil || l.Line == 0 || l.Column < 2 {
			return
		}
		text, _ := src(l.File)
		if line, ok := nthLine(text, l.Line); ok && l.Column <= len(line)+1 {
			l.Column = utf8.RuneCountInString(line[:l.Column-1]) + 1
		}
	}
	out := slices.Clone(list)
	for i := range out {
		turn(&out[i].Location)
		out[i].Notes = slices.Clone(out[i].Notes)
		for j := range out[i].Notes {
			turn(&out[i].Notes[j].Location)
		}
	}
	return out
}

// sarifURI writes a file name as a URI reference: relative as it is, absolute with the scheme file.
func sarifURI(name string) string {
	u := url.URL{Path: filepath.ToSlash(name)}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
		u.Path = "/" + strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}
