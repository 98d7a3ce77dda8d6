package plugins

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/proto"
)

// optionTypes are the types of options that a plugin may have, as they travel.
var optionTypes = map[pipeline.OptionType]proto.Option_Type{
	pipeline.String: proto.Option_STRING, pipeline.Bool: proto.Option_BOOL, pipeline.Int: proto.Option_INT, pipeline.Float: proto.Option_FLOAT,
}

// checkValue says what is wrong with the text of an option's value; "" stands for the zero of every type.
func checkValue(o *pipeline.Option, text string) error {
	var err error
	if text == "" {
		return nil
	}
	switch o.Type {
	case pipeline.Bool:
		_, err = strconv.ParseBool(text)
	case pipeline.Int:
		_, err = strconv.ParseInt(text, 10, 64)
	case pipeline.Float:
		_, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		return fmt.Errorf("option %s: %q is not of type %s", o.Name, text, o.Type)
	}
	return nil
}

func optionMessages(list []pipeline.Option) []*proto.Option {
	out := make([]*proto.Option, len(list))
	for i, o := range list {
		out[i] = &proto.Option{Name: o.Name, Doc: o.Doc, Type: optionTypes[o.Type], Default: o.Default}
	}
	return out
}

// settings are the values of all the options of one run, as text.
type settings struct {
	options []pipeline.Option
	values  map[string]string
}

// newSettings checks the values given and fills in defaults.
func newSettings(options []pipeline.Option, given []*proto.Setting) (settings, error) {
	s := settings{options, map[string]string{}}
	for _, o := range options {
		s.values[o.Name] = o.Default
	}
	for _, g := range given {
		i := slices.IndexFunc(options, func(o pipeline.Option) bool { return o.Name == g.Name })
		if i < 0 {
			return s, fmt.Errorf("there is no option %q", g.Name)
		}
		if err := checkValue(&options[i], g.Value); err != nil {
			return s, err
		}
		s.values[g.Name] = g.Value
	}
	return s, nil
}

// value gives the text of an option that the author declared with a type; asking for another is a fault of the plugin.
func (s settings) value(name string, t pipeline.OptionType) string {
	for _, o := range s.options {
		if o.Name == name && o.Type == t {
			return s.values[name]
		}
	}
	panic(fmt.Sprintf("option %q is not declared, or with another type", name))
}

// Text gives the value of an option of type String.
func (w *Work) Text(option string) string { return w.settings.value(option, pipeline.String) }

// Bool gives the value of an option of type Bool.
func (w *Work) Bool(option string) bool {
	b, _ := strconv.ParseBool(w.settings.value(option, pipeline.Bool)) // checked, or ""
	return b
}

// Int gives the value of an option of type Int.
func (w *Work) Int(option string) int64 {
	n, _ := strconv.ParseInt(w.settings.value(option, pipeline.Int), 10, 64) // checked, or ""
	return n
}

// Float gives the value of an option of type Float.
func (w *Work) Float(option string) float64 {
	f, _ := strconv.ParseFloat(w.settings.value(option, pipeline.Float), 64) // checked, or ""
	return f
}
