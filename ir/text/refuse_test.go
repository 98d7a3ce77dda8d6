package text_test

import (
	"errors"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/text"
)

// sample has everything that people may write and Write does not.
const sample = `// RUN: nothing
tapc 1 // a comment behind the header
%out = operation op:add {scale: 1.5, dims: [0, -1], deep: {"a b": null, c: [true, false]}}
    (tensors: [%in, %in[0:5]],  mask: %m[]) -> (result: %z)   // ranges come from the tensors, which follow
    io index [0:10]
    signature (tensors: [(d0) -> [d0] + [1], (d0) -> [0] + [5]], mask: () -> [] + []) -> (result: (d0) -> [d0] + [1])
%in = tensor float32 [0:10]
%m "the mask" = tensor boolean []
%z = tensor float32 [0:10]
note "two words"
note one
%cpu = device cpu 0 {memory: 1024}
%buf = buffer arena float32 [0:10] {align: 64, bytes: 40, strides: [1], device: %cpu, tensor: %z}
%k = kernel scale {device: %cpu, applications: [], statements: [v [0] 0 "A * 2.0"], loops: [i 0 10 {levels: [vector 1]}],
  operands: [A read float32 %buf (d0) -> (d0)]}
transfer %buf -> %buf {after: [%k]}
`

func TestSample(t *testing.T) {
	want := `tapc 1
%the_mask "the mask" = tensor boolean []
%in = tensor float32 [0:10]
%z = tensor float32 [0:10]
%out = operation op:add {deep: {"a b": null, c: [true, false]}, dims: [0, -1], scale: 1.5} (mask: %the_mask, tensors: [%in, %in[0:5]]) -> (result: %z)
    io
    index [0:10]
    signature (mask: () -> [] + [], tensors: [(d0) -> [d0] + [1], (d0) -> [0] + [5]]) -> (result: (d0) -> [d0] + [1])
note "two words"
note one
%cpu = device cpu 0 {memory: 1024}
%buf = buffer arena float32 [0:10] {device: %cpu, tensor: %z, strides: [1], align: 64, bytes: 40}
%k = kernel scale {device: %cpu, applications: [], loops: [
    i 0 10 {levels: [vector 1]}
  ], operands: [
    A read float32 %buf (d0) -> (d0)
  ], statements: [
    v [0] 0 "A * float32(2)"
  ]}
transfer %buf -> %buf {after: [%k]}
`
	got := string(write(t, read(t, []byte(sample)), text.Options{}))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// refused is a text and what Read must say of it: findings as "line:column code constraint", in order.
var refused = []struct {
	name string
	text string
	want []string
}{
	{"nothing", "", []string{"1:1 TAP2102 parse"}},
	{"no header", "%a = tensor int32 []\n", []string{"1:1 TAP2102 parse"}},
	{"version", "tapc 2\n", []string{"1:6 TAP2102 parse"}},
	{"version not a number", "tapc one\n", []string{"1:6 TAP2102 parse"}},
	{"header id", "tapc 1 @1234\nnote x", []string{"1:9 TAP2101 parse"}},
	{"unknown keyword", "tapc 1\nthing 5\nnote a\n", []string{"2:1 TAP0101 TypeRestrictionConstraint"}},
	{"name without node", "tapc 1\n%a = 5\n", []string{"2:6 TAP2101 parse"}},
	{"name twice", "tapc 1\n%a = note x\n%a = note y\n", []string{"3:1 TAP2103 parse"}},
	{"unknown name", "tapc 1\noperation k (x: %a[0:1])\noperation k (x: %a[0:1], y: %b[])\n", []string{"2:17 TAP2104 parse", "3:29 TAP2104 parse"}},
	{"no range", "tapc 1\n%a = note x\noperation k (x: %a)\noperation k (x: ?)\n", []string{"3:1 TAP2106 parse", "4:1 TAP2106 parse"}},
	{"range reversed", "tapc 1\n%a = tensor int32 [5:0]\n", []string{"2:19 TAP2202 value"}},
	{"range too large", "tapc 1\n%a = tensor int32 [0:9223372036854775808]\n", []string{"2:22 TAP2203 value"}},
	{"range without colon", "tapc 1\n%a = tensor int32 [0, 5]\n", []string{"2:21 TAP2101 parse"}},
	{"fraction", "tapc 1\n%a = tensor int32 [0:5.5]\n", []string{"2:22 TAP2101 parse"}},
	{"unclosed string", "tapc 1\nnote \"abc\nnote x\n", []string{"2:6 TAP2101 parse"}},
	{"bad escape", "tapc 1\nnote \"\\q\"\n", []string{"2:6 TAP2101 parse"}},
	{"not UTF-8", "tapc 1\nnote \"\xff\"\n", []string{"2:6 TAP2101 parse"}},
	{"escape not UTF-8", "tapc 1\nnote \"\\xff\"\n", []string{"2:6 TAP2101 parse"}},
	{"several", "tapc 1\nnote (\n%a = tensor 5\n    index [0:1]\n%b = tensor int32 [0:1\nnote fine\nnote ]\n",
		[]string{"2:6 TAP2101 parse", "3:13 TAP2101 parse", "6:1 TAP2101 parse", "7:6 TAP2101 parse"}},
	{"empty port", "tapc 1\noperation k (x: [])\n", []string{"2:17 TAP0114 SchemaTypeConstraint"}},
	{"port twice", "tapc 1\n%t = tensor int32 []\noperation k (x: %t, x: %t)\n", []string{"3:21 TAP2107 parse"}},
	{"port name", "tapc 1\n%t = tensor int32 []\noperation k (\"a b\": %t)\n", []string{"3:14 TAP0112 SchemaTypeConstraint"}},
	{"parameter twice", "tapc 1\noperation k {a: 1, a: 2}\n", []string{"2:20 TAP2107 parse"}},
	{"parameter too large", "tapc 1\noperation k {a: 1e999}\n", []string{"2:17 TAP2203 value"}},
	{"parameter word", "tapc 1\noperation k {a: yes}\n", []string{"2:17 TAP2101 parse"}},
	{"tag twice", "tapc 1\nnote x io io\n", []string{"2:11 TAP2107 parse"}},
	{"tag without its body", "tapc 1\nnote x index\n", []string{"3:1 TAP2101 parse"}},
	{"id twice", "tapc 1\nnote x @00000000-0000-4000-8000-00000000000a\nnote y @00000000-0000-4000-8000-00000000000A\n",
		[]string{"3:8 TAP0111 SchemaTypeConstraint"}},
	{"unknown word", "tapc 1\n%d = device abacus 0\n", []string{"2:13 TAP2206 value"}},
	{"missing field", "tapc 1\nkernel k {applications: []}\n", []string{"2:8 TAP2105 parse"}},
	{"missing braces", "tapc 1\nkernel k\n", []string{"2:8 TAP2105 parse", "2:8 TAP2105 parse"}},
	{"unknown field", "tapc 1\ndevice cpu 0 {memory: 1, colour: 2, memory: 3}\n", []string{"2:26 TAP2105 parse", "2:37 TAP2105 parse"}},
	{"no arrow", "tapc 1\nnote x signature (x: [])\n", []string{"3:1 TAP2101 parse"}},
	{"malformed map", "tapc 1\nnote x signature (x: (d0) -> [d1] + [1]) -> ()\n", []string{"2:31 TAP2101 parse"}},
	{"shape too short", "tapc 1\nnote x signature (x: (d0) -> [d0] + []) -> ()\n", []string{"2:22 TAP2201 value"}},
	{"malformed expression", "tapc 1\n%d = device cpu 0\nkernel k {device: %d, applications: [], statements: [v [] 0 \"1 +\"]}\n", []string{"3:61 TAP2206 value"}},
	{"too deep", "tapc 1\noperation k {a: " + strings.Repeat("[", 600) + "}\n", []string{"2:517 TAP2108 parse"}},
	{"malformed label", "tapc 1\n%a \"b = note x\nnote y\n", []string{"2:4 TAP2101 parse"}},
	{"nonsense", "tapc 1\n\x00\n", []string{"2:1 TAP2101 parse"}},
}

func TestRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, d := range findings(t, c.text) {
				place := strings.TrimPrefix(d.Location.String(), "g.tap:")
				got = append(got, place+" "+d.Code+" "+d.Constraint)
				if d.Expected == "" || d.Found == "" {
					t.Errorf("%v does not say what was expected and found", d)
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n  %s\nwant\n  %s\nin\n%s\n%v", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "), c.text, findings(t, c.text))
			}
		})
	}
}

// findings reads a text that must be refused.
func findings(t *testing.T, data string) diag.List {
	t.Helper()
	g, err := text.Read([]byte(data), "g.tap", dialects.Registry())
	var list diag.List
	if g != nil || !errors.As(err, &list) || len(list) == 0 {
		t.Fatalf("Read accepted %s (%v)", data, err)
	}
	return list
}

func TestManyProblems(t *testing.T) {
	list := findings(t, "tapc 1\n"+strings.Repeat("note 5\n", 3*text.MaxFindings))
	if len(list) != text.MaxFindings+1 || list[len(list)-1].Code != "TAP2199" || list[len(list)-1].Severity != diag.Remark {
		t.Errorf("%d findings, the last %v", len(list), list[len(list)-1])
	}
}
