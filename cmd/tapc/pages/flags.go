package pages

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/ir/diag"
)

// Most is how many programs a page shows side by side.
const Most = 3

// Flags are those of the command beside those of build and cost.
type Flags struct {
	Frontier string
	profiles []string
	plans    []string
}

// AddFlags adds the flags to a command's.
func AddFlags(fs *pflag.FlagSet) *Flags {
	f := &Flags{}
	fs.StringVar(&f.Frontier, "frontier", "", "frontier that tapc plan wrote, to be shown with the plans behind its points")
	fs.StringArrayVar(&f.profiles, "profile", nil, "what the program printed with --bench N --profile: the times that its kernels took (once for each program)")
	fs.StringArrayVar(&f.plans, "beside-plan", nil, "show the program with this plan file as well, beside what it is with --plan or without one")
	flagnames.Texts(fs, "frontier", "profile", "beside-plan")
	return f
}

// Asked is a program that a page is asked to show.
type Asked struct {
	Program
	Plan    string // file; "" for none
	Profile string
}

// Programs gives the programs of a command: of files, all with the plan that is given, or one with several plans.
func (f *Flags) Programs(files []string, given *pflag.FlagSet) ([]Asked, error) {
	plan := given.Lookup("plan").Value.String()
	var out []Asked
	for _, file := range files {
		out = append(out, Asked{Program: Program{File: file}, Plan: plan})
	}
	if len(f.plans) > 0 && len(files) > 1 {
		return nil, diag.Usage("--beside-plan is for one file, and %d are given", len(files))
	}
	for _, p := range f.plans {
		out = append(out, Asked{Program: Program{File: files[0]}, Plan: p})
	}
	switch {
	case len(out) > Most:
		return nil, diag.Usage("expected %d programs side by side at most, found %d", Most, len(out))
	case len(out) > 1 && f.Frontier != "":
		return nil, diag.Usage("--frontier is of one program, and %d are shown", len(out))
	case len(f.profiles) > len(out):
		return nil, diag.Usage("--profile is given %d times, for %d programs", len(f.profiles), len(out))
	}
	for i, p := range f.profiles {
		out[i].Profile = p
	}
	named(out)
	return out, nil
}

// named gives programs the names that they have beside others: those of their files, with those of their plans, or whole, where files are called the
// same.
func named(list []Asked) {
	count := map[string]int{}
	for _, x := range list {
		count[filepath.Base(x.File)]++
	}
	for i := range list {
		x := &list[i]
		switch x.Name = filepath.Base(x.File); {
		case count[x.Name] == 1:
		case x.File != list[(i+1)%len(list)].File:
			x.Name = x.File
		case x.Plan != "":
			x.Name += " with " + filepath.Base(x.Plan)
		}
	}
}

// UsePlan makes the plan of a program that which the flags name.
func (x *Asked) UsePlan(fs *pflag.FlagSet) error {
	if fs.Lookup("plan").Value.String() == x.Plan {
		return nil
	}
	flagnames.Forget(fs)
	return fs.Set("plan", x.Plan)
}
