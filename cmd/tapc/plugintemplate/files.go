package plugintemplate

import (
	"bytes"
	"embed"
	"path"
	"runtime"
	"strings"
	"text/template"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/wire"
	"tensortapestry.org/tapc/plugins/examples/python"
	"tensortapestry.org/tapc/plugins/proto"
)

//go:embed *.tmpl model.tap go python
var templates embed.FS

// Languages are those that there are files for.
var Languages = []string{"go", "python"}

// File is a file of a new plugin.
type File struct {
	Name string // in its folder
	Text []byte
}

// Kit is a new plugin.
type Kit struct {
	Files []File
	Next  []string // the commands that build and try it, in its folder
}

// New gives a plugin of that name in a language. source is the folder with the source of tapc that one in Go is built against; "" finds it.
func New(language, name, source string) (*Kit, error) {
	if language == "python" {
		return inPython(name)
	}
	return inGo(name, source)
}

func inGo(name, source string) (*Kit, error) {
	m, err := moduleOf(source)
	if err != nil {
		return nil, err
	}
	data := map[string]string{"Name": name, "Module": modulePath, "Version": m.version, "Dir": m.dir, "Needs": m.needs, "Go": strings.TrimPrefix(runtime.Version(), "go")}
	if minor := strings.SplitN(data["Go"], ".", 3); len(minor) > 1 {
		data["Go"] = minor[0] + "." + minor[1] + ".0"
	}
	k := &Kit{}
	if m.sums == nil { // the modules that it needs are not known
		k.Next = append(k.Next, "go mod tidy")
	} else {
		k.Files = append(k.Files, File{"go.sum", m.sums})
	}
	k.Next = append(k.Next, "go test ./...", "go build")
	return k, k.add(name, data, ".", "go")
}

func inPython(name string) (*Kit, error) {
	module := strings.ReplaceAll(name, "-", "_")
	switch module {
	case "build", "tapcplugin", "plugin_pb2", "tapc_pb2": // its own would take the place of another
		module += "_pass"
	}
	k := &Kit{Next: []string{"python3 build.py", "tapc plugin test ./" + name}, Files: []File{{"tapcplugin.py", python.Module}, {"requirements.txt", python.Requirements},
		{"plugin.proto", proto.Schema}, {"tapc.proto", wire.Schema(dialects.Registry())}}}
	return k, k.add(name, map[string]string{"Name": name, "Module": module}, ".", "python")
}

// add fills in the templates of folders.
func (k *Kit) add(name string, data map[string]string, folders ...string) error {
	for _, folder := range folders {
		entries, err := templates.ReadDir(folder)
		if err != nil {
			return diag.Fault("%w", err)
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			text, err := templates.ReadFile(path.Join(folder, e.Name()))
			if err != nil {
				return diag.Fault("%w", err)
			}
			t, err := template.New(e.Name()).Parse(string(text))
			if err != nil {
				return diag.Fault("%w", err)
			}
			var b bytes.Buffer
			if err := t.Execute(&b, data); err != nil {
				return diag.Fault("%w", err)
			}
			file := strings.Replace(strings.TrimSuffix(e.Name(), ".tmpl"), "dot-", ".", 1)
			if file == "module.py" {
				file = data["Module"] + ".py"
			}
			k.Files = append(k.Files, File{file, b.Bytes()})
		}
	}
	k.Next = append(k.Next, "tapc lit .", "tapc opt --plugin ./"+name+" --passes="+name+" model.tap")
	return nil
}
