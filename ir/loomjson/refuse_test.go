package loomjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/loomjson"
)

const (
	idA    = "00000000-0000-4000-8000-00000000000a"
	idB    = "00000000-0000-4000-8000-00000000000b"
	types  = "http://tensortapestry.org/schemas/loom/2024-01/node_types.jsd#/nodes/"
	tags   = "http://tensortapestry.org/schemas/loom/2024-01/tag_types.jsd#/tags/"
	sched  = "http://tensortapestry.org/schemas/tapc/2026-11/schedule.jsd#/nodes/"
	range2 = `{"start": [0, 0], "end": [2, 3]}`
)

// node writes a node of a type with a body and, if not empty, tags.
func node(id, kind, body, tagged string) string {
	s := fmt.Sprintf(`{"id": %q, "type": %q, "label": "n", "body": %s`, id, types+kind, body)
	if tagged != "" {
		s += `, "tags": ` + tagged
	}
	return s + "}"
}

func tensor(body string) string { return doc(node(idA, "Tensor", body, "")) }

func op(body string) string { return doc(node(idA, "Operation", body, "")) }

func tagged(name, value string) string {
	return doc(node(idA, "Tensor", `{"dtype": "int32", "range": `+range2+`}`, fmt.Sprintf(`{%q: %s}`, tags+name, value)))
}

func doc(nodes ...string) string {
	return "{\"nodes\": [\n" + strings.Join(nodes, ",\n") + "]}"
}

func signature(maps string) string {
	return tagged("IPFSignature", `{"inputs": {"x": [`+maps+`]}, "outputs": {}}`)
}

// refused is a document and what Read must say of it: findings as "code constraint pointer", in order.
var refused = []struct {
	name string
	text string
	want []string
}{
	{"nothing", "", []string{"LJ01 parse "}},
	{"white space only", " \n ", []string{"LJ01 parse "}},
	{"no object", "[1]", []string{"LJ05 parse "}},
	{"byte order mark", "\xef\xbb\xbf{}", []string{"LJ01 parse "}},
	{"trailing text", "{} {}", []string{"LJ02 parse "}},
	{"comment", "{} // done", []string{"LJ02 parse "}},
	{"trailing comma in object", `{"id": null,}`, []string{"LJ01 parse "}},
	{"trailing comma in array", `{"nodes": [1,]}`, []string{"LJ05 parse /nodes/0", "LJ01 parse /nodes"}},
	{"unclosed", `{"nodes": [`, []string{"LJ01 parse /nodes/0"}},
	{"unclosed string", `{"nodes`, []string{"LJ01 parse /"}},
	{"unknown root field", `{"graph": 1}`, []string{"LJ05 parse /graph"}},
	{"repeated root field", `{"id": null, "id": null}`, []string{"LJ03 parse /id"}},
	{"nodes as object", `{"nodes": {}}`, []string{"LJ05 parse /nodes"}},
	{"graph id as number", `{"id": 5}`, []string{"LJ05 parse /id"}},
	{"graph id malformed", `{"id": "1-1-1-1-1"}`, []string{"LJ06 parse /id"}},
	{"graph id in braces", `{"id": "{00000000-0000-4000-8000-0000000000}"}`, []string{"LJ06 parse /id"}},
	{"null node", `{"nodes": [null]}`, []string{"LJ05 parse /nodes/0"}},
	{"empty node", `{"nodes": [{}]}`, []string{"LJ05 parse /nodes/0", "LJ05 parse /nodes/0", "LJ05 parse /nodes/0"}},
	{"annotations", doc(strings.TrimSuffix(node(idA, "Note", `{"message": ""}`, ""), "}") + `, "annotations": {}}`),
		[]string{"LJ05 parse /nodes/0/annotations"}},
	{"label as number", doc(`{"id": "` + idA + `", "type": "` + types + `Note", "label": 1, "body": {"message": ""}}`),
		[]string{"LJ05 parse /nodes/0/label"}},
	{"tags as array", doc(node(idA, "Note", `{"message": ""}`, `[]`)), []string{"LJ05 parse /nodes/0/tags"}},
	{"null body", doc(node(idA, "Note", `null`, "")), []string{"LJ12 SchemaTypeConstraint /nodes/0/body"}},
	{"duplicate ids", doc(node(idA, "Note", `{"message": ""}`, ""), node(strings.ToUpper(idA), "Note", `{"message": ""}`, "")),
		[]string{"SC01 SchemaTypeConstraint /nodes/1/id"}},
	{"unknown type", doc(node(idA, "Thing", `{"x": 1}`, "")), []string{"TR01 TypeRestrictionConstraint /nodes/0/type"}},
	{"aliased type", doc(`{"id": "` + idA + `", "type": "loom:Tensor", "body": {}}`),
		[]string{"TR01 TypeRestrictionConstraint /nodes/0/type"}},
	{"unknown tag", tagged("Thing", `{}`),
		[]string{"TR02 TypeRestrictionConstraint /nodes/0/tags/http:~1~1tensortapestry.org~1schemas~1loom~12024-01~1tag_types.jsd#~1tags~1Thing"}},
	{"io point with content", tagged("IOSequencePoint", `{"x": 1}`),
		[]string{"LJ10 SchemaTypeConstraint /nodes/0/tags/http:~1~1tensortapestry.org~1schemas~1loom~12024-01~1tag_types.jsd#~1tags~1IOSequencePoint/x"}},
	{"tensor without fields", tensor(`{}`), []string{"LJ11 SchemaTypeConstraint /nodes/0/body", "LJ11 SchemaTypeConstraint /nodes/0/body"}},
	{"dtype as number", tensor(`{"dtype": 5, "range": ` + range2 + `}`), []string{"LJ12 SchemaTypeConstraint /nodes/0/body/dtype"}},
	{"range with shape", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [1], "shape": [1]}}`),
		[]string{"LJ10 SchemaTypeConstraint /nodes/0/body/range/shape"}},
	{"fraction", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [5.0]}}`),
		[]string{"LJ12 SchemaTypeConstraint /nodes/0/body/range/end/0"}},
	{"exponent", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [1e2]}}`),
		[]string{"LJ12 SchemaTypeConstraint /nodes/0/body/range/end/0"}},
	{"leading zero", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [01]}}`), []string{"LJ01 parse /nodes/0/body/range/end/0"}},
	{"plus sign", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [+1]}}`),
		[]string{"LJ01 parse /nodes/0/body/range/end/0"}},
	{"beyond 64 bits", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [9223372036854775808]}}`),
		[]string{"VA03 value /nodes/0/body/range/end/0"}},
	{"extent beyond 64 bits", tensor(`{"dtype": "int32", "range": {"start": [-9223372036854775808], "end": [9223372036854775807]}}`),
		[]string{"VA03 value /nodes/0/body/range"}},
	{"lengths", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [1, 2]}}`), []string{"VA01 value /nodes/0/body/range"}},
	{"reversed", tensor(`{"dtype": "int32", "range": {"start": [0, 5], "end": [10, 0]}}`), []string{"VA02 value /nodes/0/body/range"}},
	{"repeated key in body", tensor(`{"dtype": "int32", "range": ` + range2 + `, "dtype": "int32"}`),
		[]string{"LJ03 parse /nodes/0/body/dtype"}},
	{"ragged matrix", signature(`{"affineMap": {"projection": [[1, 0], [0]], "offset": [0, 0]}, "shape": [1, 1]}`),
		[]string{"VA04 value " + mapAt + "/affineMap"}},
	{"offset too short", signature(`{"affineMap": {"projection": [[1, 0], [0, 1]], "offset": [0]}, "shape": [1, 1]}`),
		[]string{"VA01 value " + mapAt + "/affineMap"}},
	{"shape too long", signature(`{"affineMap": {"projection": [[1, 0]], "offset": [0]}, "shape": [1, 1]}`),
		[]string{"VA01 value " + mapAt}},
	{"negative shape", signature(`{"affineMap": {"projection": [[1, 0]], "offset": [0]}, "shape": [-1]}`),
		[]string{"VA05 value " + mapAt}},
	{"flat matrix", signature(`{"affineMap": {"projection": [1, 0], "offset": [0]}, "shape": [1]}`),
		[]string{"LJ12 SchemaTypeConstraint " + mapAt + "/affineMap/projection/0", "LJ12 SchemaTypeConstraint " + mapAt + "/affineMap/projection/1"}},
	{"no offset, no shape", signature(`{"affineMap": {"projection": [[1]]}}`),
		[]string{"LJ11 SchemaTypeConstraint " + mapAt, "LJ11 SchemaTypeConstraint " + mapAt + "/affineMap"}},
	{"parameter name", op(`{"kernel": "k", "params": {"a-b": 1}}`), []string{"SC02 SchemaTypeConstraint /nodes/0/body/params/a-b"}},
	{"repeated parameter", op(`{"kernel": "k", "params": {"b": 1, "a": 1, "b": 2}}`), []string{"LJ03 parse /nodes/0/body/params/b"}},
	{"integer parameter beyond 64 bits", op(`{"kernel": "k", "params": {"a": 18446744073709551615}}`),
		[]string{"VA03 value /nodes/0/body/params/a"}},
	{"number parameter beyond 64 bits", op(`{"kernel": "k", "params": {"a": [1e400]}}`), []string{"VA03 value /nodes/0/body/params/a/0"}},
	{"port name", op(`{"kernel": "k", "inputs": {"1x": [` + sel(idA) + `]}}`), []string{"SC02 SchemaTypeConstraint /nodes/0/body/inputs/1x"}},
	{"repeated port", op(`{"kernel": "k", "inputs": {"x": [` + sel(idA) + `], "x": [` + sel(idA) + `]}}`),
		[]string{"LJ03 parse /nodes/0/body/inputs/x"}},
	{"empty port", op(`{"kernel": "k", "inputs": {"x": []}}`), []string{"SC04 SchemaTypeConstraint /nodes/0/body/inputs/x"}},
	{"port without list", op(`{"kernel": "k", "inputs": {"x": ` + sel(idA) + `}}`), []string{"LJ12 SchemaTypeConstraint /nodes/0/body/inputs/x"}},
	{"malformed reference", op(`{"kernel": "k", "inputs": {"x": [` + sel("t0") + `]}}`),
		[]string{"LJ13 SchemaTypeConstraint /nodes/0/body/inputs/x/0/tensorId"}},
	{"null reference", doc(node(idA, "Application", `{"operationId": null}`, "")),
		[]string{"LJ12 SchemaTypeConstraint /nodes/0/body/operationId"}},
	{"unknown word", doc(strings.Replace(node(idA, "Device", `{"type": "abacus", "number": 0}`, ""), types, sched, 1)),
		[]string{"VA06 value /nodes/0/body/type"}},
	{"not UTF-8", doc(node(idA, "Note", "{\"message\": \"\xff\"}", "")), []string{"LJ01 parse /nodes/0/body/message"}},
	{"lone surrogate", doc(node(idA, "Note", `{"message": "\ud800"}`, "")), []string{"LJ01 parse /nodes/0/body/message"}},
	{"bad escape", doc(node(idA, "Note", `{"message": "\x"}`, "")), []string{"LJ01 parse /nodes/0/body/message"}},
	{"raw control character", doc(node(idA, "Note", "{\"message\": \"\t\"}", "")), []string{"LJ01 parse /nodes/0/body/message"}},
	{"two nodes, three problems", doc(node(idA, "Note", `{"massage": ""}`, ""), node(idB, "Tensor", `{"dtype": 1, "range": `+range2+`}`, "")),
		[]string{"LJ11 SchemaTypeConstraint /nodes/0/body", "LJ10 SchemaTypeConstraint /nodes/0/body/massage", "LJ12 SchemaTypeConstraint /nodes/1/body/dtype"}},
	{"too deep", op(`{"kernel": "k", "params": {"a": ` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`),
		[]string{"LJ04 parse /nodes/0/body/params/a" + strings.Repeat("/0", 495)}},
}

const mapAt = "/nodes/0/tags/http:~1~1tensortapestry.org~1schemas~1loom~12024-01~1tag_types.jsd#~1tags~1IPFSignature/inputs/x/0"

func sel(id string) string { return `{"tensorId": "` + id + `", "range": ` + range2 + `}` }

func TestRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			list := findings(t, c.text)
			var got []string
			for _, d := range list {
				got = append(got, d.Code+" "+d.Constraint+" "+d.Location.Pointer)
				line, col, ok := loomjson.Locate([]byte(c.text), d.Location.Pointer)
				if !ok && d.Code != "LJ05" && d.Code != "LJ01" && d.Code != "LJ02" && d.Code != "LJ04" {
					t.Errorf("no place for pointer %q", d.Location.Pointer)
				}
				if ok && (d.Location.Line < line || d.Location.Line == line && d.Location.Column < col-len(c.text)) {
					t.Errorf("%v lies before the value at %d:%d", d, line, col)
				}
				if d.Expected == "" || d.Found == "" {
					t.Errorf("%v does not say what was expected and found", d)
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n  %s\nwant\n  %s\nin %s\n%v", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "), c.text, list)
			}
		})
	}
}

// findings reads a document that must be refused.
func findings(t *testing.T, text string) diag.List {
	t.Helper()
	g, err := loomjson.Read([]byte(text), "g.json", dialects.Registry())
	var list diag.List
	if g != nil || !errors.As(err, &list) || len(list) == 0 {
		t.Fatalf("Read accepted %s (%v)", text, err)
	}
	return list
}

func TestPlaces(t *testing.T) {
	text := "{\n  \"nodes\": [\n    {\"id\": \"" + idA + "\", \"type\": \"" + types + "Tensor\",\n     \"label\": \"w\",\n" +
		"     \"body\": {\"dtype\": \"int32\",\n              \"range\": {\"start\": [0], \"end\": [1.5]}}}]}"
	list := findings(t, text)
	want := `g.json:6:47: error: a value of the wrong type: expected an integer without fraction or exponent, found the number 1.5 [LJ12 SchemaTypeConstraint]`
	if len(list) != 1 || list[0].Error() != want || list[0].Location.Node != `tensor "w"` {
		t.Errorf("got %v (node %s)\nwant %s", list, list[0].Location.Node, want)
	}
	line, col, ok := loomjson.Locate([]byte(text), list[0].Location.Pointer)
	if !ok || line != 6 || col != 47 {
		t.Errorf("Locate(%q) = %d:%d, %v", list[0].Location.Pointer, line, col, ok)
	}
}

func TestManyProblems(t *testing.T) {
	nodes := make([]string, 2*loomjson.MaxFindings)
	for i := range nodes {
		nodes[i] = `{}`
	}
	list := findings(t, doc(nodes...))
	if len(list) != loomjson.MaxFindings+1 || list[len(list)-1].Code != "LJ99" || list[len(list)-1].Severity != diag.Remark {
		t.Errorf("%d findings, the last %v", len(list), list[len(list)-1])
	}
}
