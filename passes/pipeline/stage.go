package pipeline

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

// Stage is what a graph is, in the order in which lowering goes.
type Stage uint8

// The stages, one a dialect.
const (
	OperationExpression Stage = iota
	ApplicationExpression
	ScheduledKernels
	stages
)

// String gives the stage's name in prose.
func (s Stage) String() string {
	return [...]string{"Operation Expression", "Application Expression", "Scheduled Kernels"}[s]
}

// Word gives the stage's word on command lines: the name of the dialect's package.
func (s Stage) Word() string { return [...]string{"tensorops", "application", "schedule"}[s] }

// StageWords gives the words of all stages in order.
func StageWords() []string {
	var words []string
	for s := range stages {
		words = append(words, s.Word())
	}
	return words
}

// StageNamed finds a stage by its word.
func StageNamed(word string) (Stage, bool) {
	for s := range stages {
		if s.Word() == word {
			return s, true
		}
	}
	return 0, false
}

// Environment gives the types and the constraints that verify a graph of the stage.
func (s Stage) Environment() *check.Environment {
	switch s {
	case OperationExpression:
		return tensorops.Environment()
	case ApplicationExpression:
		return application.Environment()
	}
	return collective.Environment()
}

// StageOf tells the stage of a graph: the first whose node kinds include all of the graph's. A graph with kinds of no dialect
// is of the first stage that has the others.
func StageOf(g *ir.Graph) Stage {
	s := OperationExpression
	for n := range g.Nodes() {
		switch n.Body.(type) {
		case *application.Application:
			s = max(s, ApplicationExpression)
		case *schedule.Device, *schedule.Buffer, *schedule.Kernel, *schedule.Transfer, *collective.Collective:
			return ScheduledKernels
		}
	}
	return s
}
