package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds are what a package, and each struct type of it, has at most. A type has the fields and methods that its methods reach: those of the
// structs of its package that it embeds are its own.
var Bounds = map[string]int{"lines": 2500, "backwards": 10, "fields": 15, "methods": 30}

// Measured is what a measure found: "lines backends/cpu" or "fields backends/cpu.emitter" to how many.
type Measured map[string]int

// Measure measures the packages in a folder and below. Generated files, tests and testdata are left out. What is backwards are, in percent,
// the uses between files that are against the order of files in which there are the fewest of them; packages of few uses have none.
func Measure(root string) (Measured, error) {
	m := Measured{}
	packages, files := map[string][]*ast.File{}, token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, text, parser.ParseComments)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		name, err := filepath.Rel(root, filepath.Dir(path))
		name = filepath.ToSlash(name)
		packages[name] = append(packages[name], file)
		m["lines "+name] += strings.Count(string(text), "\n")
		return err
	})
	for name, list := range packages {
		m.reach(name, list)
		m["backwards "+name] = backwards(files, list)
	}
	return m, err
}

// reachable is a struct type: its own fields, the names of the types of its package that it embeds, and its methods.
type reachable struct {
	fields, methods int
	embeds          []string
}

// reach counts the fields and methods of a package's types.
func (m Measured) reach(pkg string, files []*ast.File) {
	all := map[string]*reachable{}
	at := func(name string) *reachable {
		if all[name] == nil {
			all[name] = &reachable{}
		}
		return all[name]
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					at(nameOf(d.Recv.List[0].Type)).methods++
				}
				return false
			case *ast.TypeSpec:
				if s, ok := d.Type.(*ast.StructType); ok {
					at(d.Name.Name).struc(s)
				}
				return false
			}
			return true
		})
	}
	for name := range all {
		fields, methods := count(all, name, map[string]bool{})
		m["fields "+pkg+"."+name], m["methods "+pkg+"."+name] = fields, methods
	}
}

func (r *reachable) struc(s *ast.StructType) {
	for _, field := range s.Fields.List {
		if name := nameOf(field.Type); len(field.Names) == 0 && name != "" {
			r.embeds = append(r.embeds, name)
		} else {
			r.fields += max(1, len(field.Names))
		}
	}
}

func count(all map[string]*reachable, name string, seen map[string]bool) (fields, methods int) {
	r := all[name]
	if r == nil || seen[name] {
		return 0, 0
	}
	seen[name] = true
	fields, methods = r.fields, r.methods
	for _, e := range r.embeds {
		f, m := count(all, e, seen)
		fields, methods = fields+f, methods+m
	}
	return fields, methods
}

// nameOf names the type of a receiver or of an embedded field; "" for one of another package.
func nameOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return nameOf(x.X)
	case *ast.IndexExpr:
		return nameOf(x.X)
	case *ast.IndexListExpr:
		return nameOf(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// nothing imports nothing: what is of other packages has no type, and uses inside of a package are found without.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	return types.NewPackage(path, filepath.Base(path)), nil
}

// few uses between files say nothing of an order.
const few = 20

// backwards gives the share, in percent, of the uses between a package's files that are against their order.
func backwards(files *token.FileSet, list []*ast.File) int {
	number := map[string]int{}
	for i, f := range list {
		number[files.File(f.Pos()).Name()] = i
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	pkg, _ := config.Check("measured", files, list, info) // what is of other packages is not known
	uses := make([][]bool, len(list))
	for i := range uses {
		uses[i] = make([]bool, len(list))
	}
	total := 0
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			continue
		}
		from, to := number[files.File(id.Pos()).Name()], number[files.File(object.Pos()).Name()]
		if from != to && !uses[from][to] {
			uses[from][to] = true
			total++
		}
	}
	if total < few {
		return 0
	}
	return (100*against(uses) + total - 1) / total
}

// against gives how many uses are against the best order that moving single files finds: what is used comes first.
func against(uses [][]bool) int {
	order := make([]int, len(uses))
	for i := range order {
		order[i] = i
	}
	// gain is how many uses are the right way round more if b, which is behind a, is before it
	gain := func(a, b int) int {
		n := 0
		if uses[a][b] {
			n++
		}
		if uses[b][a] {
			n--
		}
		return n
	}
	for better := true; better; {
		better = false
		for at := range order {
			x, best, to := order[at], 0, at
			for i, sum := at-1, 0; i >= 0; i-- {
				if sum += gain(order[i], x); sum > best {
					best, to = sum, i
				}
			}
			for i, sum := at+1, 0; i < len(order); i++ {
				if sum += gain(x, order[i]); sum > best {
					best, to = sum, i
				}
			}
			if best > 0 {
				order = slices.Insert(slices.Delete(order, at, at+1), to, x)
				better = true
			}
		}
	}
	n := 0
	for i, a := range order {
		for _, b := range order[i+1:] {
			if uses[a][b] {
				n++
			}
		}
	}
	return n
}
