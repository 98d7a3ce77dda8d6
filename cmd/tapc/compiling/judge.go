package compiling

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/datanames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/text"
)

// Judge is a shell command of the user's that looks at graphs: exit status 0 is good, any other bad.
type Judge struct {
	app     *app.App
	command string
	file    string           // where each graph is written
	data    datanames.Rename // gives each data file a name beside it
	runs    int
	said    string // what the command said when it last failed
}

// NewJudge makes a judge with a temporary file; remove removes it. The data files that graphs name are those that from finds.
func NewJudge(a *app.App, command string, from *constants.Loader) (j *Judge, remove func(), err error) {
	if strings.TrimSpace(command) == "" {
		return nil, nil, diag.Usage("the command is empty; {} in it stands for the graph's file")
	}
	dir, remove, err := app.Temporary()
	if err != nil {
		return nil, nil, err
	}
	return &Judge{app: a, command: command, file: filepath.Join(dir, "graph.tap"), data: datanames.LinkedIn(dir, from)}, remove, nil
}

// The exit statuses of a shell for a command that could not run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// Good runs the command on a graph.
func (j *Judge) Good(ctx context.Context, g *ir.Graph) (bool, error) {
	j.runs++
	g = g.Clone()
	if err := datanames.Graph(g, j.data); err != nil {
		return false, err
	}
	if err := graphfiles.StoreAs(ctx, j.app, j.file, "tap", g, graphfiles.Shown{Text: text.Options{IDs: true, GraphOrder: true}}); err != nil {
		return false, err
	}
	cmd := childproc.Command(ctx, "sh", "-c", "--", j.shellText()) // which may begin with -
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := childproc.Run(ctx, cmd)
	if cause := context.Cause(ctx); cause != nil {
		return false, cause
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case !errors.As(err, &exit):
		return false, diag.Fault("%w", err)
	case exit.ExitCode() == exitNotFound || exit.ExitCode() == exitNotExecutable:
		return false, diag.Usage("the command can not run: %s", strings.TrimSpace(said.String()))
	}
	j.said = strings.TrimRight(said.String(), "\n")
	return false, nil
}

// shellText puts the file's name into the command.
func (j *Judge) shellText() string {
	name := "'" + strings.ReplaceAll(j.file, "'", `'\''`) + "'"
	if strings.Contains(j.command, "{}") {
		return strings.ReplaceAll(j.command, "{}", name)
	}
	return j.command + " " + name
}
