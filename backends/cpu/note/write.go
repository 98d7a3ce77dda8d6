// Package note keeps the description of a program in the program, where it is read without running it: in ELF files a note of the owner
// "tapc" (readelf -n lists it), in Mach-O files a section of their own with the same bytes.
//
// C writes it down in C; Read finds it in executables, libraries, objects and archives, which it trusts in nothing. The format of ELF and of
// notes is that of the System V ABI, "Object Files" and "Program Loading"; that of Mach-O, of <mach-o/loader.h>. The text is JSON (package cabi).
// Read next: read.go.
package note

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cexpr"
)

// Schema is the version of the text, and the type of the note: a change that a reader of the one before would get wrong makes it one more.
const Schema = 1

// owner is the name in the note, and section where it is; a Mach-O section has another name.
const (
	owner        = "tapc"
	section      = ".note.tapc"
	machoSegment = "__TEXT"
	machoSection = "__tapc_note"
)

// C gives the text in C as a note. The expression program_description is the text.
func C(text string) string {
	return fmt.Sprintf(`#ifdef __APPLE__
#define TAPC_NOTE "%s,%s"
#else
#define TAPC_NOTE "%s"
#endif
// What the program is and what made it.
static const struct {
  uint32_t owner_bytes, bytes, type;
  char owner[8], text[%d];
} program_note __attribute__((section(TAPC_NOTE), used, aligned(4))) = {%d, %d, %d, %q,%s};
#define program_description program_note.text
`, machoSegment, machoSection, section, align(len(text)+1), len(owner)+1, len(text)+1, Schema, owner, cexpr.LongString(text))
}

// align rounds up to what the parts of a note are aligned to.
func align(n int) int { return (n + 3) &^ 3 }
