package pipeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// value is the value of an option: its text, and what it means for the types that are not text.
type value struct {
	text string
	num  float64
	int  int64
}

// parse reads a value of the option's type.
func (o *Option) parse(text string) (v value, err error) {
	v.text = text
	switch o.Type {
	case Int:
		v.int, err = strconv.ParseInt(text, 10, 64)
	case Bool:
		var b bool
		if b, err = strconv.ParseBool(text); b {
			v.int = 1
		}
	case Float:
		v.num, err = strconv.ParseFloat(text, 64)
		if err == nil && (math.IsNaN(v.num) || math.IsInf(v.num, 0)) {
			err = strconv.ErrRange
		}
	}
	if err != nil {
		return v, fmt.Errorf("option %s: expected %s, found %q", o.Name, valueText[o.Type], text)
	}
	return v, nil
}

var valueText = [...]string{"an integer", "true or false", "a text", "a file name", "a number"}

// Setting is an option's value as a pipeline gives it.
type Setting struct {
	Name, Value string
}

// String writes the setting so that it reads back the same.
func (s Setting) String() string {
	if s.Value == "" || strings.ContainsFunc(s.Value, func(r rune) bool { return !isPlain(r) }) {
		return s.Name + "=" + strconv.Quote(s.Value)
	}
	return s.Name + "=" + s.Value
}

// isPlain says whether a character of a value needs no quotes.
func isPlain(r rune) bool { return r > ' ' && r != 0x7f && !strings.ContainsRune(`,{}()"`, r) }

// values gives the value of every option of a pass: the default or what the settings say.
func (p *Pass) values(settings []Setting) (map[string]value, error) {
	values := map[string]value{}
	for i := range p.Options {
		o := &p.Options[i]
		if o.Default != "" {
			v, err := o.parse(o.Default)
			if err != nil {
				return nil, err
			}
			values[o.Name] = v
		} else {
			values[o.Name] = value{}
		}
	}
	for _, s := range settings {
		o := p.option(s.Name)
		if o == nil {
			return nil, fmt.Errorf("pass %s has no option %q", p.Name, s.Name)
		}
		v, err := o.parse(s.Value)
		if err != nil {
			return nil, err
		}
		values[s.Name] = v
	}
	return values, nil
}

func (p *Pass) option(name string) *Option {
	for i := range p.Options {
		if p.Options[i].Name == name {
			return &p.Options[i]
		}
	}
	return nil
}
