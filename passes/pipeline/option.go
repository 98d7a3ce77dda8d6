package pipeline

import (
	"fmt"
	"math"
	"slices"
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
	switch {
	case err != nil:
		return v, fmt.Errorf("option %s: expected %s, found %q", o.Name, valueText[o.Type], text)
	case len(o.Words) > 0 && !slices.Contains(o.Words, text):
		return v, fmt.Errorf("option %s: expected %s, found %q", o.Name, strings.Join(o.Words, " or "), text)
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

// OptionValues are the values of all options that something declares: the defaults, or what settings say. They are asked for by an option's
// name and type; asking for one that is not declared is a fault of whoever declared them.
type OptionValues struct {
	of      string
	options []Option
	given   []Setting
	values  map[string]value
}

// Settle gives the values of options, which belong to what messages call of.
func Settle(of string, options []Option, settings []Setting) (OptionValues, error) {
	v := OptionValues{of: of, options: options, given: settings, values: map[string]value{}}
	for i := range options {
		o := &options[i]
		var err error
		if o.Default != "" {
			if v.values[o.Name], err = o.parse(o.Default); err != nil {
				return v, err
			}
		}
	}
	for _, s := range settings {
		o := findOption(options, s.Name)
		if o == nil {
			return v, fmt.Errorf("%s has no option %q", of, s.Name)
		}
		var err error
		if v.values[s.Name], err = o.parse(s.Value); err != nil {
			return v, err
		}
	}
	return v, nil
}

// Given are the settings that the values were made of, without the defaults.
func (v OptionValues) Given() []Setting { return v.given }

// value gives the value of a declared option.
func (v OptionValues) value(name string, types ...OptionType) value {
	if o := findOption(v.options, name); o == nil || !slices.Contains(types, o.Type) {
		panic(v.of + " does not declare an option " + name + " of this type")
	}
	return v.values[name]
}

// Int gives the value of an option of type Int.
func (v OptionValues) Int(name string) int64 { return v.value(name, Int).int }

// Bool gives the value of an option of type Bool.
func (v OptionValues) Bool(name string) bool { return v.value(name, Bool).int != 0 }

// Text gives the value of an option of type String or Path.
func (v OptionValues) Text(name string) string { return v.value(name, String, Path).text }

// Texts gives all values of an option of type String or Path that may be given several times.
func (v OptionValues) Texts(name string) (list []string) {
	v.value(name, String, Path)
	for _, s := range v.given {
		if s.Name == name {
			list = append(list, s.Value)
		}
	}
	return list
}

// Float gives the value of an option of type Float.
func (v OptionValues) Float(name string) float64 { return v.value(name, Float).num }

func findOption(options []Option, name string) *Option {
	i := slices.IndexFunc(options, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &options[i]
}
