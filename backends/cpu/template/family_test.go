package template

import (
	"fmt"
	"strings"
	"testing"
)

// kernelText is a kernel of some rows, with a tile of each height that the rows have, as back ends write them.
func kernelText(rows int) string {
	var b strings.Builder
	tile := func(n int) {
		fmt.Fprintf(&b, "// A tile of %d rows.\nstatic __attribute__((noinline)) void kernel_%d(void *const *b, int64_t i) {\n  float s[%d] = {0};\n", n, n, n)
		for r := range n {
			fmt.Fprintf(&b, "  s[%d] = ((float *)b[1])[i + %d];\n", r, r)
		}
		fmt.Fprintf(&b, "  kernel_end(b, s, %d);\n}\n\n", rows)
	}
	b.WriteString("TAPC_FN void kernel_end(void *const *b, const float *s, int n) {\n  (void)b;\n}\n")
	tile(4)
	if rows%4 > 0 {
		tile(rows % 4)
	}
	fmt.Fprintf(&b, "static void kernel_task(void *ctx, int64_t begin, int64_t end, int worker) {\n  void *const *b = ctx;\n  enum { rows = %d };\n", rows)
	fmt.Fprintf(&b, "  for (int64_t i = begin; i < end; i++)\n    if (i + 4 <= rows) kernel_4(b, i);\n    else kernel_%d(b, i * INT64_C(%d));\n}\n", max(1, rows%4), rows*3)
	fmt.Fprintf(&b, "static void kernel(void *const *b, tapc_pool *pool) {\n  tapc_parallel(pool, %d, 7, kernel_task, b, %sf);\n}\n", (rows+3)/4, fmt.Sprintf("0x1.%dp+00", rows))
	return b.String()
}

func added(t *testing.T, texts ...string) (*Family, *Written) {
	t.Helper()
	f := New("f")
	for i, text := range texts {
		if n, err := f.Add(text, "kernel", nil); err != nil || n != i {
			t.Fatalf("%d, %v", n, err)
		}
	}
	return f, f.Write()
}

// TestTemplates holds functions of several sizes to those that differ in more than numbers.
func TestTemplates(t *testing.T) {
	_, w := added(t, kernelText(5), kernelText(9), kernelText(13), kernelText(6))
	if n, once := w.Count(); n != 6 || once != 1 { // the end, tiles of 4, 1 and 2 rows, the task, the entry; the tile of 2 rows is of one size
		t.Errorf("%d functions, %d of one size, in\n%s", n, once, w.Text)
	}
	for _, want := range []string{
		"const tapc_number *const tapc_n = b[0];\n  const int tapc_n0 = (int)tapc_n[0].i;", // of a tile
		"float s[4] = {0};", "f_0(b, s, tapc_n0);", // the size of an array stays, and so does a function that is part of its callers
		"((void *const *)ctx)[0];", "const int rows = tapc_n", // of a task, whose enumeration became a variable
		"void (*const tapc_n", "const int64_t tapc_n", // a tile by its address
		"tapc_parallel(pool, tapc_n", ", 7, f_", "const float tapc_n", // numbers that are the same stay
		"HIDDEN const tapc_number f_rows[4][", "{.f = 0x1.5p+00}", ".call = (void (*)(void))f_",
	} {
		if !strings.Contains(w.Text, want) {
			t.Errorf("no %q in\n%s", want, w.Text)
		}
	}
	if w.Row(0) != "f_rows[0]" || w.Row(3) != "f_rows[3]" || w.Entry(0) != w.Entry(3) {
		t.Errorf("%s, %s, %s, %s", w.Row(0), w.Row(3), w.Entry(0), w.Entry(3))
	}
}

// TestSame has no table where nothing differs, and one row.
func TestSame(t *testing.T) {
	_, w := added(t, kernelText(5), kernelText(5))
	if strings.Contains(w.Text, "tapc_n[") || w.Row(1) != "f_rows[0]" {
		t.Errorf("%s of\n%s", w.Row(1), w.Text)
	}
}

// TestFixed lists numbers that C wants to be constants, and others beside them.
func TestFixed(t *testing.T) {
	for _, c := range []struct{ code, words string }{
		{"{ float a[3] = {4}; }", "3"},
		{"{ float a[3][5]; b[6] = 7; }", "3 5"},
		{"{ const float *x = b[3]; }", ""},
		{"{ void *b[9]; }", "9"},
		{"{ char kept[8] __attribute__((aligned(64))); }", "8 64"},
		{"{ for (int x = 0; x < 3; x++) s[x + 5] += 2; }", ""},
		{"{ TAPC_FETCH(p, f(1, 2) + 3, 0, 1); g(4); }", "0 1"},
		{"{ v = _mm_shuffle(a, 27); w = 5; }", "27"},
		{"{ __builtin_memset(p, 0, 12); }", ""},
		{"{ switch (n) { case 4: x = 5; } }", "4"},
		{"{ return s[3]; }", ""},
	} {
		tokens, err := scan(c.code)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for i, x := range fix(tokens) {
			if tokens[i].kind != word && x.kind == word {
				words = append(words, x.text)
			}
		}
		if got := strings.Join(words, " "); got != c.words {
			t.Errorf("%s: %q, expected %q", c.code, got, c.words)
		}
	}
}

// TestNumbers says which tokens are numbers that may differ, by their C types.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]kind{"0": whole, "12": whole, "2147483648": long, "INT64_C(5)": long, "1.5": fraction, "0x1.8p+04f": single, "-": word,
		"0x10": word, "7u": word, "010": word, "1e5": word, "x9": word, "UINT64_C": word, "'0'": word, "\"12\"": word, "1.5e-05": fraction} {
		tokens, err := scan(text)
		if err != nil || len(tokens) != 1 || tokens[0].kind != want {
			t.Errorf("%s: %+v, %v", text, tokens, err)
		}
	}
	if _, err := scan(`"open`); err == nil {
		t.Error("a quote that does not end is taken")
	}
	if _, err := New("f").Add("static void other(void) {\n}\n", "kernel", nil); err == nil {
		t.Error("a text without the function is taken")
	}
	if _, err := New("f").Add("static void kernel(void) {\n", "kernel", nil); err == nil {
		t.Error("a function that does not end is taken")
	}
}
