package host

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins"
	"tensortapestry.org/tapc/plugins/proto"
)

// Description is what a plugin provides, checked.
type Description struct {
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Doc      string          `json:"doc,omitempty"`
	Minor    int             `json:"minor"` // of the protocol that it speaks
	SDK      string          `json:"sdk,omitempty"`
	Passes   []pipeline.Pass `json:"-"` // without functions
	Texts    `json:"-"`
	Backends []Backend `json:"-"`
}

// Texts are what a plugin provides that is a text: declarations and, of what it adds to searches for plans, what a mutator applies to and what cost a term is added to.
type Texts struct {
	Rules    []plugins.Text `json:"rules,omitempty"`
	Kernels  []plugins.Text `json:"kernels,omitempty"`
	Mutators []plugins.Text `json:"mutators,omitempty"`
	Terms    []plugins.Text `json:"terms,omitempty"`
}

// Each gives all, with what they are.
func (t *Texts) Each(yield func(what string, t *plugins.Text)) {
	for i, list := range [][]plugins.Text{t.Rules, t.Kernels, t.Mutators, t.Terms} {
		for k := range list {
			yield([]string{"rules", "kernels", "mutator", "cost term"}[i], &list[k])
		}
	}
}

// Backend is a back end that a plugin provides.
type Backend struct {
	Name    string
	Doc     string
	Devices []schedule.DeviceType // any if empty
	Options []pipeline.Option
}

// The bounds of a description.
const (
	maxParts   = 1000
	maxDoc     = 4000
	maxVersion = 60
	maxText    = 1 << 20
)

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	versionForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]*)?$`)
)

// describe asks the plugin what it provides.
func (p *Plugin) describe(ctx context.Context) error {
	m, err := p.service.Describe(ctx, &proto.DescribeRequest{TapcVersion: p.opts.Version, Minor: plugins.ProtocolMinor})
	if err != nil {
		return p.explain(ctx, "", err)
	}
	d, err := ReadDescription(m)
	if err != nil {
		p.end()
		return p.fault(BadDescription, "", err.Error())
	}
	p.Description, p.name = d, d.Name
	return nil
}

// ReadDescription checks what a plugin says of itself, or what a lock file says that it said.
func ReadDescription(m *proto.Description) (*Description, error) {
	d := &Description{Name: m.Name, Version: m.Version, Doc: clean(m.Doc, maxDoc), Minor: int(min(m.Minor, 1<<20)), SDK: clean(m.Sdk, maxVersion)}
	r := reading{seen: map[string]bool{}}
	r.name("plugin", m.Name, "-")
	if !versionForm.MatchString(m.Version) || len(m.Version) > maxVersion {
		r.say("version %q is not a semantic version", clean(m.Version, maxVersion))
	}
	if n := len(m.Passes) + len(m.Kernels) + len(m.Rules) + len(m.Backends) + len(m.Mutators) + len(m.Terms); n == 0 || n > maxParts {
		r.say("it provides %d things; expected 1 to %d", n, maxParts)
		return nil, r.err
	}
	for _, x := range m.Passes {
		d.Passes = append(d.Passes, r.pass(d.Name, x))
	}
	for _, x := range m.Rules {
		d.Rules = append(d.Rules, plugins.Text{Name: x.Name, Doc: x.Doc, Text: x.Text})
	}
	for _, x := range m.Kernels {
		d.Kernels = append(d.Kernels, plugins.Text{Name: x.Name, Doc: x.Doc, Text: x.Text})
	}
	for _, x := range m.Backends {
		r.name("back end", x.Name, "-")
		d.Backends = append(d.Backends, Backend{x.Name, clean(x.Doc, maxDoc), r.devices(x.Name, x.Devices), r.options(x.Name, x.Options)})
	}
	for _, x := range m.Mutators {
		d.Mutators = append(d.Mutators, plugins.Text{Name: x.Name, Doc: x.Doc, Text: clean(x.On, maxDoc)})
	}
	for _, x := range m.Terms {
		d.Terms = append(d.Terms, plugins.Text{Name: x.Name, Doc: x.Doc, Text: clean(x.Objective, maxDoc)})
	}
	d.Each(r.text)
	return d, r.err
}

// reading checks parts of a description and keeps the first thing that is wrong.
type reading struct {
	seen map[string]bool
	err  error
}

func (r *reading) say(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// name checks the name of a part and that it has a text.
func (r *reading) name(what, name, doc string) {
	switch {
	case !nameForm.MatchString(name) || len(name) > 100:
		r.say("%s %q: a name is lower-case words joined by hyphens", what, clean(name, 60))
	case r.seen[what+" "+name]:
		r.say("%s %q is there twice", what, name)
	case strings.TrimSpace(doc) == "":
		r.say("%s %q has no sentence that says what it does", what, name)
	}
	r.seen[what+" "+name] = true
}

// text checks a text. Rules have names as passes have, and kernels say in their text what they do.
func (r *reading) text(what string, t *plugins.Text) {
	switch t.Doc = clean(t.Doc, maxDoc); what {
	case "rules":
		r.name("pass", t.Name, t.Doc)
	case "kernels":
		r.name(what, t.Name, "-")
	default:
		r.name(what, t.Name, t.Doc)
	}
	if n := len(t.Text); n == 0 && what != "mutator" || n > maxText {
		r.say("%s has a text of %d bytes; expected 1 to %d", t.Name, n, maxText)
	}
}

func (r *reading) pass(plugin string, x *proto.Pass) pipeline.Pass {
	r.name("pass", x.Name, x.Doc)
	p := pipeline.Pass{Name: x.Name, Doc: clean(x.Doc, maxDoc), Plugin: plugin, Options: r.options(x.Name, x.Options)}
	p.Needs = r.stage(x.Name, x.Needs, pipeline.OperationExpression)
	p.Upto = r.stage(x.Name, x.Upto, p.Needs)
	p.Gives = r.stage(x.Name, x.Gives, p.Needs)
	return p
}

func (r *reading) stage(of, word string, fallback pipeline.Stage) pipeline.Stage {
	if word == "" {
		return fallback
	}
	s, ok := pipeline.StageNamed(word)
	if !ok {
		r.say("pass %q: %q is not a stage; expected one of %q", of, clean(word, 40), pipeline.StageWords())
	}
	return s
}

func (r *reading) devices(of string, words []string) []schedule.DeviceType {
	var out []schedule.DeviceType
	for _, word := range words {
		t, ok := schedule.DeviceNamed(word)
		if !ok {
			r.say("back end %s is for devices %q, which this tapc does not know; expected of %q", of, clean(word, 40), schedule.DeviceWords())
			return nil
		}
		out = append(out, t)
	}
	return out
}

var optionTypes = map[proto.Option_Type]pipeline.OptionType{proto.Option_STRING: pipeline.String, proto.Option_BOOL: pipeline.Bool,
	proto.Option_INT: pipeline.Int, proto.Option_FLOAT: pipeline.Float}

func (r *reading) options(of string, list []*proto.Option) []pipeline.Option {
	if len(list) > maxParts {
		r.say("%s has %d options; expected at most %d", of, len(list), maxParts)
		return nil
	}
	out := make([]pipeline.Option, len(list))
	for i, x := range list {
		r.name("option of "+of, x.Name, x.Doc)
		t, ok := optionTypes[x.Type]
		if !ok {
			r.say("%s: option %s has a type that this tapc does not know", of, x.Name)
		}
		out[i] = pipeline.Option{Name: x.Name, Doc: clean(x.Doc, maxDoc), Type: t, Default: x.Default}
	}
	return out
}
