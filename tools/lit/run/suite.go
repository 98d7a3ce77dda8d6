package run

import (
	"context"
	"os"
	"regexp"
	"testing"
)

// Suite runs every test in and below dir as a parallel subtest of t, named after its path. An empty cfg.OutDir means a
// temporary directory. The environment's LIT_FILTER (a regular expression over names) selects tests, as it does for
// the lit command. It fails if there is no test at all.
func Suite(t *testing.T, dir string, cfg Config) {
	t.Helper()
	if cfg.OutDir == "" {
		cfg.OutDir = t.TempDir()
	}
	tests, err := Discover(dir, dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(tests) == 0 {
		t.Fatalf("no tests in %s", dir)
	}
	filter, err := regexp.Compile(os.Getenv("LIT_FILTER"))
	if err != nil {
		t.Fatalf("LIT_FILTER: %v", err)
	}
	for _, test := range tests {
		if filter.MatchString(test.Name) {
			t.Run(test.Name, func(t *testing.T) {
				t.Parallel()
				judge(t, Run(context.Background(), test))
			})
		}
	}
}

// judge reports the result of a test to its subtest.
func judge(t *testing.T, r Result) {
	switch {
	case r.Code.Bad():
		t.Errorf("%s\n%s", r.Code, r.Output)
	case r.Code == Unsupported || r.Code == Skipped:
		t.Skip(r.Output)
	case r.Code == FlakyPass || r.Blessed:
		t.Log(r.Output)
	}
}
