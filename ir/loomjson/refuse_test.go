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
	{"nothing", "", []string{"TAP2001 parse "}},
	{"white space only", " \n ", []string{"TAP2001 parse "}},
	{"no object", "[1]", []string{"TAP2005 parse "}},
	{"byte order mark", "\xef\xbb\xbf{}", []string{"TAP2001 parse "}},
	{"trailing text", "{} {}", []string{"TAP2002 parse "}},
	{"comment", "{} // done", []string{"TAP2002 parse "}},
	{"trailing comma in object", `{"id": null,}`, []string{"TAP2001 parse "}},
	{"trailing comma in array", `{"nodes": [1,]}`, []string{"TAP2005 parse /nodes/0", "TAP2001 parse /nodes"}},
	{"unclosed", `{"nodes": [`, []string{"TAP2001 parse /nodes/0"}},
	{"unclosed string", `{"nodes`, []string{"TAP2001 parse /"}},
	{"unknown root field", `{"graph": 1}`, []string{"TAP2005 parse /graph"}},
	{"repeated root field", `{"id": null, "id": null}`, []string{"TAP2003 parse /id"}},
	{"nodes as object", `{"nodes": {}}`, []string{"TAP2005 parse /nodes"}},
	{"graph id as number", `{"id": 5}`, []string{"TAP2005 parse /id"}},
	{"graph id malformed", `{"id": "1-1-1-1-1"}`, []string{"TAP2006 parse /id"}},
	{"graph id in braces", `{"id": "{00000000-0000-4000-8000-0000000000}"}`, []string{"TAP2006 parse /id"}},
	{"null node", `{"nodes": [null]}`, []string{"TAP2005 parse /nodes/0"}},
	{"empty node", `{"nodes": [{}]}`, []string{"TAP2005 parse /nodes/0", "TAP2005 parse /nodes/0", "TAP2005 parse /nodes/0"}},
	{"annotations", doc(strings.TrimSuffix(node(idA, "Note", `{"message": ""}`, ""), "}") + `, "annotations": {}}`),
		[]string{"TAP2005 parse /nodes/0/annotations"}},
	{"label as number", doc(`{"id": "` + idA + `", "type": "` + types + `Note", "label": 1, "body": {"message": ""}}`),
		[]string{"TAP2005 parse /nodes/0/label"}},
	{"tags as array", doc(node(idA, "Note", `{"message": ""}`, `[]`)), []string{"TAP2005 parse /nodes/0/tags"}},
	{"null body", doc(node(idA, "Note", `null`, "")), []string{"TAP2012 SchemaTypeConstraint /nodes/0/body"}},
	{"duplicate ids", doc(node(idA, "Note", `{"message": ""}`, ""), node(strings.ToUpper(idA), "Note", `{"message": ""}`, "")),
		[]string{"TAP0111 SchemaTypeConstraint /nodes/1/id"}},
	{"unknown type", doc(node(idA, "Thing", `{"x": 1}`, "")), []string{"TAP0101 TypeRestrictionConstraint /nodes/0/type"}},
	{"aliased type", doc(`{"id": "` + idA + `", "type": "loom:Tensor", "body": {}}`),
		[]string{"TAP0101 TypeRestrictionConstraint /nodes/0/type"}},
	{"unknown tag", tagged("Thing", `{}`),
		[]string{"TAP0102 TypeRestrictionConstraint /nodes/0/tags/http:~1~1tensortapestry.org~1schemas~1loom~12024-01~1tag_types.jsd#~1tags~1Thing"}},
	{"io point with content", tagged("IOSequencePoint", `{"x": 1}`),
		[]string{"TAP2010 SchemaTypeConstraint /nodes/0/tags/http:~1~1tensortapestry.org~1schemas~1loom~12024-01~1tag_types.jsd#~1tags~1IOSequencePoint/x"}},
	{"tensor without fields", tensor(`{}`), []string{"TAP2011 SchemaTypeConstraint /nodes/0/body", "TAP2011 SchemaTypeConstraint /nodes/0/body"}},
	{"dtype as number", tensor(`{"dtype": 5, "range": ` + range2 + `}`), []string{"TAP2012 SchemaTypeConstraint /nodes/0/body/dtype"}},
	{"range with shape", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [1], "shape": [1]}}`),
		[]string{"TAP2010 SchemaTypeConstraint /nodes/0/body/range/shape"}},
	{"fraction", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [5.0]}}`),
		[]string{"TAP2012 SchemaTypeConstraint /nodes/0/body/range/end/0"}},
	{"exponent", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [1e2]}}`),
		[]string{"TAP2012 SchemaTypeConstraint /nodes/0/body/range/end/0"}},
	{"leading zero", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [01]}}`), []string{"TAP2001 parse /nodes/0/body/range/end/0"}},
	{"plus sign", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [+1]}}`),
		[]string{"TAP2001 parse /nodes/0/body/range/end/0"}},
	{"beyond 64 bits", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [9223372036854775808]}}`),
		[]string{"TAP2203 value /nodes/0/body/range/end/0"}},
	{"extent beyond 64 bits", tensor(`{"dtype": "int32", "range": {"start": [-9223372036854775808], "end": [9223372036854775807]}}`),
		[]string{"TAP2203 value /nodes/0/body/range"}},
	{"lengths", tensor(`{"dtype": "int32", "range": {"start": [0], "end": [1, 2]}}`), []string{"TAP2201 value /nodes/0/body/range"}},
	{"reversed", tensor(`{"dtype": "int32", "range": {"start": [0, 5], "end": [10, 0]}}`), []string{"TAP2202 value /nodes/0/body/range"}},
	{"repeated key in body", tensor(`{"dtype": "int32", "range": ` + range2 + `, "dtype": "int32"}`),
		[]string{"TAP2003 parse /nodes/0/body/dtype"}},
	{"ragged matrix", signature(`{"affineMap": {"projection": [[1, 0], [0]], "offset": [0, 0]}, "shape": [1, 1]}`),
		[]string{"TAP2204 value " + mapAt + "/affineMap"}},
	{"offset too short", signature(`{"affineMap": {"projection": [[1, 0], [0, 1]], "offset": [0]}, "shape": [1, 1]}`),
		[]string{"TAP2201 value " + mapAt + "/affineMap"}},
	{"shape too long", signature(`{"affineMap": {"projection": [[1, 0]], "offset": [0]}, "shape": [1, 1]}`),
		[]string{"TAP2201 value " + mapAt}},
	{"negative shape", signature(`{"affineMap": {"projection": [[1, 0]], "offset": [0]}, "shape": [-1]}`),
		[]string{"TAP2205 value " + mapAt}},
	{"flat matrix", signature(`{"affineMap": {"projection": [1, 0], "offset": [0]}, "shape": [1]}`),
		[]string{"TAP2012 SchemaTypeConstraint " + mapAt + "/affineMap/projection/0", "TAP2012 SchemaTypeConstraint " + mapAt + "/affineMap/projection/1"}},
	{"no offset, no shape", signature(`{"affineMap": {"projection": [[1]]}}`),
		[]string{"TAP2011 SchemaTypeConstraint " + mapAt, "TAP2011 SchemaTypeConstraint " + mapAt + "/affineMap"}},
	{"parameter name", op(`{"kernel": "k", "params": {"a-b": 1}}`), []string{"TAP0112 SchemaTypeConstraint /nodes/0/body/params/a-b"}},
	{"repeated parameter", op(`{"kernel": "k", "params": {"b": 1, "a": 1, "b": 2}}`), []string{"TAP2003 parse /nodes/0/body/params/b"}},
	{"integer parameter beyond 64 bits", op(`{"kernel": "k", "params": {"a": 18446744073709551615}}`),
		[]string{"TAP2203 value /nodes/0/body/params/a"}},
	{"number parameter beyond 64 bits", op(`{"kernel": "k", "params": {"a": [1e400]}}`), []string{"TAP2203 value /nodes/0/body/params/a/0"}},
	{"port name", op(`{"kernel": "k", "inputs": {"1x": [` + sel(idA) + `]}}`), []string{"TAP0112 SchemaTypeConstraint /nodes/0/body/inputs/1x"}},
	{"repeated port", op(`{"kernel": "k", "inputs": {"x": [` + sel(idA) + `], "x": [` + sel(idA) + `]}}`),
		[]string{"TAP2003 parse /nodes/0/body/inputs/x"}},
	{"empty port", op(`{"kernel": "k", "inputs": {"x": []}}`), []string{"TAP0114 SchemaTypeConstraint /nodes/0/body/inputs/x"}},
	{"port without list", op(`{"kernel": "k", "inputs": {"x": ` + sel(idA) + `}}`), []string{"TAP2012 SchemaTypeConstraint /nodes/0/body/inputs/x"}},
	{"malformed reference", op(`{"kernel": "k", "inputs": {"x": [` + sel("t0") + `]}}`),
		[]string{"TAP2013 SchemaTypeConstraint /nodes/0/body/inputs/x/0/tensorId"}},
	{"null reference", doc(node(idA, "Application", `{"operationId": null}`, "")),
		[]string{"TAP2012 SchemaTypeConstraint /nodes/0/body/operationId"}},
	{"unknown word", doc(strings.Replace(node(idA, "Device", `{"type": "abacus", "number": 0}`, ""), types, sched, 1)),
		[]string{"TAP2206 value /nodes/0/body/type"}},
	{"not UTF-8", doc(node(idA, "Note", "{\"message\": \"\xff\"}", "")), []string{"TAP2001 parse /nodes/0/body/message"}},
	{"lone surrogate", doc(node(idA, "Note", `{"message": "\ud800"}`, "")), []string{"TAP2001 parse /nodes/0/body/message"}},
	{"bad escape", doc(node(idA, "Note", `{"message": "\x"}`, "")), []string{"TAP2001 parse /nodes/0/body/message"}},
	{"raw control character", doc(node(idA, "Note", "{\"message\": \"\t\"}", "")), []string{"TAP2001 parse /nodes/0/body/message"}},
	{"two nodes, three problems", doc(node(idA, "Note", `{"massage": ""}`, ""), node(idB, "Tensor", `{"dtype": 1, "range": `+range2+`}`, "")),
		[]string{"TAP2011 SchemaTypeConstraint /nodes/0/body", "TAP2010 SchemaTypeConstraint /nodes/0/body/massage", "TAP2012 SchemaTypeConstraint /nodes/1/body/dtype"}},
	{"too deep", op(`{"kernel": "k", "params": {"a": ` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`),
		[]string{"TAP2004 parse /nodes/0/body/params/a" + strings.Repeat("/0", 495)}},
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
				if !ok && d.Code != "TAP2005" && d.Code != "TAP2001" && d.Code != "TAP2002" && d.Code != "TAP2004" {
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
	want := `g.json:6:47: error: a value of the wrong type: expected an integer without fraction or exponent, found the number 1.5 [TAP2012 SchemaTypeConstraint]`
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
	if len(list) != loomjson.MaxFindings+1 || list[len(list)-1].Code != "TAP2099" || list[len(list)-1].Severity != diag.Remark {
		t.Errorf("%d findings, the last %v", len(list), list[len(list)-1])
	}
}
