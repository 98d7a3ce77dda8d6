package plugins

import (
	"errors"
	"fmt"
	"regexp"

	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/proto"
)

// Protocol is the version of the protocol that this package speaks: Major in the handshake, Minor in the description.
const (
	ProtocolMajor = 1
	ProtocolMinor = 2
)

const sdk = "go 1.0"

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	versionForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]*)?$`)
)

// Validate says what is wrong with the plugin's own description: every problem, or nil.
func (p *Plugin) Validate() error {
	var bad []error
	say := func(format string, args ...any) {
		bad = append(bad, fmt.Errorf("plugin %q: "+format, append([]any{p.Name}, args...)...))
	}
	if !nameForm.MatchString(p.Name) {
		say("a name is lower-case words joined by hyphens")
	}
	if !versionForm.MatchString(p.Version) {
		say("version %q is not a semantic version such as 1.2.0", p.Version)
	}
	if len(p.Passes)+len(p.Kernels)+len(p.Rules)+len(p.Backends)+len(p.Mutators)+len(p.Terms) == 0 {
		say("provides nothing")
	}
	seen := map[string]bool{}
	part := func(what, name string, whole bool) {
		switch {
		case !nameForm.MatchString(name):
			say("%s %q: a name is lower-case words joined by hyphens", what, name)
		case seen[what+name]:
			say("%s %q is there twice", what, name)
		case !whole:
			say("%s %q has no function or text, or no sentence that says what it does", what, name)
		}
		seen[what+name] = true
	}
	for _, x := range p.Passes {
		part("pass", x.Name, x.Run != nil && x.Doc != "")
		bad = append(bad, checkOptions(x.Name, x.Options)...)
	}
	for _, x := range p.Rules {
		part("pass", x.Name, x.Text != "") // rules become passes
	}
	for _, x := range p.Kernels {
		part("kernels", x.Name, x.Text != "")
	}
	for _, x := range p.Backends {
		part("back end", x.Name, x.Emit != nil)
		bad = append(bad, checkOptions(x.Name, x.Options)...)
	}
	for _, x := range p.Mutators {
		part("mutator", x.Name, x.Mutate != nil && x.Doc != "")
	}
	for _, x := range p.Terms {
		part("cost term", x.Name, x.Cost != nil && x.Doc != "")
	}
	return errors.Join(bad...)
}

func checkOptions(of string, options []pipeline.Option) []error {
	var bad []error
	seen := map[string]bool{}
	for i := range options {
		o := &options[i]
		if !nameForm.MatchString(o.Name) || o.Doc == "" || seen[o.Name] {
			bad = append(bad, fmt.Errorf("%s: option %q: the name is malformed or taken, or the text is missing", of, o.Name))
		}
		seen[o.Name] = true
		if _, ok := optionTypes[o.Type]; !ok {
			bad = append(bad, fmt.Errorf("%s: option %s: a plugin can not have options of this type", of, o.Name))
		} else if err := checkValue(o, o.Default); err != nil {
			bad = append(bad, fmt.Errorf("%s: default: %w", of, err))
		}
	}
	return bad
}

// describe gives the plugin's description as it travels.
func (p *Plugin) describe() *proto.Description {
	d := &proto.Description{Name: p.Name, Version: p.Version, Doc: p.Doc, Minor: ProtocolMinor, Sdk: sdk}
	for _, x := range p.Passes {
		d.Passes = append(d.Passes, &proto.Pass{Name: x.Name, Doc: x.Doc, Needs: x.Needs.Word(),
			Upto: max(x.Needs, x.Upto).Word(), Gives: max(x.Needs, x.Gives).Word(), Options: optionMessages(x.Options)})
	}
	for _, x := range p.Kernels {
		d.Kernels = append(d.Kernels, &proto.Declarations{Name: x.Name, Doc: x.Doc, Text: x.Text})
	}
	for _, x := range p.Rules {
		d.Rules = append(d.Rules, &proto.Declarations{Name: x.Name, Doc: x.Doc, Text: x.Text})
	}
	for _, x := range p.Backends {
		b := &proto.Backend{Name: x.Name, Doc: x.Doc, Options: optionMessages(x.Options)}
		for _, t := range x.Devices {
			b.Devices = append(b.Devices, t.String())
		}
		d.Backends = append(d.Backends, b)
	}
	for _, x := range p.Mutators {
		d.Mutators = append(d.Mutators, &proto.Mutator{Name: x.Name, Doc: x.Doc, On: x.On})
	}
	for _, x := range p.Terms {
		d.Terms = append(d.Terms, &proto.CostTerm{Name: x.Name, Doc: x.Doc, Objective: x.Objective})
	}
	return d
}
