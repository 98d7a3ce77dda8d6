// Package outputflags has the flags of the options that outputs of back ends take: each option is a flag, by its name. It must not import a back end.
// Read next: backends, whose rows say the options.
package outputflags

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/tune"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Flags are those of all back ends.
type Flags struct {
	list       []flag
	Tuned      string   // threads whose tuned configs kernels get, "" for none
	Processors []string // targets that kernels are decided for, as the flags say; nil is what the back ends decide for
}

type flag struct {
	pipeline.Option
	value *string
}

// Add adds a flag for every option of the outputs of some back ends. Words completes a flag's values.
func (f *Flags) Add(to *pflag.FlagSet, list backends.List, words func(flag string, words []string)) {
	to.StringVar(&f.Tuned, "tuned", "", "carry kernels out as tapc tune found to be fastest here, for programs on so many threads (alone: all cores, or a GPU)")
	to.Lookup("tuned").NoOptDefVal = tune.All
	flagnames.Check(to, "tuned", nil, tune.CheckThreads)
	for _, b := range list {
		for _, o := range b.Outputs {
			for _, x := range o.Options {
				if to.Lookup(x.Name) == nil {
					f.list = append(f.list, flag{x, to.String(x.Name, x.Default, x.Doc)})
					words(x.Name, x.Words)
					if len(x.Words) > 0 {
						flagnames.Words(to, x.Name, x.Words)
					} else {
						flagnames.Later(to, x.Name)
					}
				}
			}
		}
	}
}

// Values gives the values of an output's options: settings of its own, then those of flags. A flag for an option that it does not have is an
// error, which names the use.
func (f *Flags) Values(backend string, o *backends.Output, own []pipeline.Setting, use string) (pipeline.OptionValues, error) {
	settings, err := f.settings(o.Options, use)
	if err != nil {
		return pipeline.OptionValues{}, err
	}
	values, err := pipeline.Settle(backend, o.Options, append(slices.Clone(own), settings...))
	if err != nil {
		err = diag.Usage("%w", err)
	}
	return values, err
}

// Processor gives the values of the flags that name processors of a back end.
func (f *Flags) Processor(b *backends.Backend) (pipeline.OptionValues, error) {
	var options []pipeline.Option
	if b.Processors != nil {
		options = b.Processors.Options
	}
	var given []pipeline.Setting
	for _, x := range f.list {
		if *x.value != x.Default && has(options, x.Name) {
			given = append(given, pipeline.Setting{Name: x.Name, Value: *x.value})
		}
	}
	return pipeline.Settle(b.Name, options, given)
}

// settings are those of flags that were given, which have to be among some options.
func (f *Flags) settings(options []pipeline.Option, use string) ([]pipeline.Setting, error) {
	var out []pipeline.Setting
	for _, x := range f.list {
		if *x.value == x.Default {
			continue
		}
		s := pipeline.Setting{Name: x.Name, Value: *x.value}
		if !has(options, x.Name) {
			return nil, diag.Usage("--%v does not go with %s", s, use)
		}
		out = append(out, s)
	}
	return out, nil
}

// given says whether there is a value of one of some options.
func given(values pipeline.OptionValues, options []pipeline.Option) bool {
	return slices.ContainsFunc(values.Given(), func(s pipeline.Setting) bool { return has(options, s.Name) })
}

func has(options []pipeline.Option, name string) bool {
	return slices.ContainsFunc(options, func(x pipeline.Option) bool { return x.Name == name })
}

// Decide reads the flags that name processors, where a back end has such and kernels are decided, which is at the last stage: others are errors
// there. Without them, kernels are decided for what the back end decides for, and those that are tuned for the processor that they are tuned on.
func (f *Flags) Decide(ctx context.Context, b *backends.Backend, last pipeline.Stage, use string) error {
	var options []pipeline.Option
	decided := b.Processors != nil && last == pipeline.ScheduledKernels
	if decided {
		options = b.Processors.Options
	}
	settings, err := f.settings(options, use)
	if err != nil || !decided || len(settings) == 0 && f.Tuned == "" {
		return err
	}
	return f.decide(ctx, b, settings)
}

// DecideMeasured is Decide for kernels that are measured: without the flags they are decided for the processor that programs are for, this machine's.
func (f *Flags) DecideMeasured(ctx context.Context, b *backends.Backend, use string) error {
	err := f.Decide(ctx, b, pipeline.ScheduledKernels, use)
	if err != nil || b.Processors == nil || len(f.Processors) > 0 {
		return err
	}
	return f.decide(ctx, b, nil)
}

// decide has kernels decided for the processors that settings name, as programs are where they name none.
func (f *Flags) decide(ctx context.Context, b *backends.Backend, settings []pipeline.Setting) error {
	values, err := pipeline.Settle(b.Name, b.Processors.Options, settings)
	if err != nil {
		return diag.Usage("%w", err)
	}
	f.Processors, err = b.Processors.Targets(ctx, values)
	return err
}

// DecideFor has kernels decided for what an output with some values is for. What is wrong with the values, making the output says. A text is
// for what the back end decides for where nothing is given.
func (f *Flags) DecideFor(ctx context.Context, b *backends.Backend, o *backends.Output, values pipeline.OptionValues) {
	if x := b.Processors; x != nil && (o.Text == nil || given(values, x.Options)) && !slices.ContainsFunc(x.Options, func(y pipeline.Option) bool { return !has(o.Options, y.Name) }) {
		f.Processors, _ = x.Targets(ctx, values)
	}
}
