package product

// joinFunction writes the function that adds the sums of the groups of a tile of rows by cols, in their order, and finishes it.
func joinFunction(p *Product, rows, cols int64) {
	t := tileOf(p, rows, cols)
	p.Line("\n// The sums of %d rows and %d columns, of those of groups.", rows, cols)
	p.Open("static void %s_join_%dx%d(void *const *b%s, int64_t i, int64_t j, const %s *restrict group) {", p.Name, rows, cols, p.Coordinates("int64_t "), t.sums.Type)
	p.Line("%s", t.numbers())
	p.Line("%s %s;", t.sums.Type, t.sums.Array("s"))
	p.Line("%s(t, group, s);", t.call("tapc_sums_join"))
	t.finish()
	p.Close()
}
