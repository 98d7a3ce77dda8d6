package run

import "tensortapestry.org/tapc/tools/lit/shell"

// blessMark is a BLESS line: where it stands (from 0), what comes before the keyword and what behind.
type blessMark struct {
	line   int
	leader string
	text   string
}

func (e *execution) bless(string) (Result, bool) { return Result{}, false }

func (e *execution) tools() map[string]shell.Tool { return e.test.cfg.Tools }
