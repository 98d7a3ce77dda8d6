package cabi

import "tensortapestry.org/tapc/backends"

// Made is what made a program, as the description has it.
type Made struct {
	Revision   string           `json:"revision,omitempty"`
	Command    []string         `json:"command"`
	Inputs     []backends.Input `json:"inputs"`
	Output     string           `json:"output"`               // exe, lib, obj or c
	Compiler   string           `json:"compiler,omitempty"`   // what it says of itself; "" where the program is C
	Machine    string           `json:"machine,omitempty"`    // the compiler's target
	Processors []string         `json:"processors,omitempty"` // that there are versions for, the best first
}

// MadeFrom says what made a program that is C, or gives nil for nil.
func MadeFrom(m *backends.Made) *Made {
	if m == nil {
		return nil
	}
	return &Made{Revision: m.Revision, Command: m.Command, Inputs: m.Inputs, Output: "c"}
}
