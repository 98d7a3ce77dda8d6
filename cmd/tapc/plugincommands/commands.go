// Package plugincommands has the commands of tapc plugin: new, install, list, verify, test and remove. It must not import cmd/tapc. Read next: commands.go.
package plugincommands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/findings"
	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/plugins/conformance"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/installed"
)

const pluginHelp = `Make, install, check and remove plugins.

A plugin is a program that gives tapc more passes, rewrite rules, kernels or back
ends. It runs in a process of its own, confined, and nothing that it gives back is
used before it is verified. docs/plugins.md says how to write one.

The plugins of a project are in its tapc.lock, with the digest of each file; those
of the user, in the user's configuration directory. --plugin PATH uses one that is
not installed.`

func PluginCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "plugin COMMAND", Short: "Make, install, check and remove plugins", Long: pluginHelp,
		Example: "  tapc plugin new my-pass\n  tapc plugin install ./my-pass\n  tapc plugin list", Args: app.UnknownCommand}
	c.AddCommand(pluginNewCommand(a), pluginListCommand(a), pluginInstallCommand(a), pluginVerifyCommand(a), pluginTestCommand(a),
		pluginRemoveCommand(a))
	return a.Command(c, func(context.Context, []string) error { return c.Help() })
}

// placeFlag adds --user and gives the place that the command line means.
func placeFlag(c *cobra.Command) func() (installed.Place, error) {
	user := c.Flags().Bool("user", false, "for the user, not for the project")
	return func() (installed.Place, error) {
		if *user {
			return installed.UserPlace()
		}
		dir, err := os.Getwd()
		if err != nil {
			return installed.Place{}, diag.Fault("%w", err)
		}
		return installed.ProjectPlace(dir), nil
	}
}

func pluginListCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the plugins and what they may do", Args: cobra.NoArgs, Example: "  tapc plugin list",
		Long: "List the plugins of the user and the project: what they provide, what they may\nuse, whether their files are those that were installed, and what this system keeps\nthem from: a line for each property, with what keeps it, or with NO and what is\nmissing. No plugin is started."}
	return a.Command(c, func(context.Context, []string) error {
		all, err := app.Places()
		if err != nil {
			return err
		}
		for _, place := range all {
			if err := listPlace(a, place); err != nil {
				return err
			}
		}
		return printConfinement(a)
	})
}

func listPlace(a *app.App, place installed.Place) error {
	lock, err := installed.ReadLock(place.Lock)
	if err != nil {
		return err
	}
	a.Printf("%s: %s\n", place.Kind, place.Lock)
	if len(lock.Plugins) == 0 {
		a.Printf("  no plugins\n")
	}
	for i := range lock.Plugins {
		l := &lock.Plugins[i]
		a.Printf("  %s %s, protocol %s: %s\n", l.Name, l.Version, l.Protocol, fileState(place, l))
		printPlugin(a, l)
	}
	for _, name := range place.Strangers(lock) {
		a.Printf("  %s: not in the lock file, so it is never run\n", place.File(name))
	}
	return nil
}

// fileState says whether the file of an installed plugin is the one that was locked.
func fileState(place installed.Place, l *installed.Locked) string {
	want := l.SHA256[installed.System()]
	got, err := host.Digest(place.File(l.Name))
	switch {
	case want == "":
		return "not installed for " + installed.System()
	case errors.Is(err, os.ErrNotExist):
		return "its file is missing"
	case err != nil:
		return err.Error()
	case got != want:
		return "its file was changed, so it is never run"
	}
	return "ok"
}

// printPlugin says what an installed plugin provides and may use.
func printPlugin(a *app.App, l *installed.Locked) {
	for _, part := range l.Parts() {
		a.Printf("    %s\n", part)
	}
	for _, line := range l.Access.Lines() {
		a.Printf("    may %s\n", line)
	}
}

// printConfinement says what plugins are kept from on this system and what not.
func printConfinement(a *app.App) error {
	c, err := host.Available()
	if err != nil {
		return diag.Fault("plugins can not be confined: %w", err)
	}
	a.Printf("on this system, a plugin that was granted nothing is kept from:\n")
	for _, b := range c.Bounds() {
		a.Printf("  %-4s %-20s %s\n", map[bool]string{true: "yes", false: "NO"}[b.Held], b.Name, b.Text)
	}
	return nil
}

func pluginInstallCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "install PATH", Short: "Install a plugin and lock it", Args: cobra.ExactArgs(1),
		Example: "  tapc plugin install ./my-pass\n  tapc plugin install --user --grant ./my-pass",
		Long:    "Copy a plugin to the project (or, with --user, the user's configuration), ask it\nwhat it provides, and write that to tapc.lock with the digest of its file.\n\nA plugin that asks in its manifest (PATH" + installed.ManifestSuffix + ") to read files, to write\nthem, to use the network or to start programs is installed only with --grant."}
	place := placeFlag(c)
	grant := c.Flags().Bool("grant", false, "let the plugin use what its manifest asks for")
	return a.Command(c, func(ctx context.Context, args []string) error {
		where, err := place()
		if err != nil {
			return err
		}
		l, err := where.Install(ctx, args[0], *grant, host.Options{Version: release.Version})
		if errors.Is(err, installed.ErrNotGranted) {
			return notGranted(a, args[0])
		}
		if err != nil {
			return err
		}
		a.Printf("installed %s %s for the %s: %s\n", l.Name, l.Version, where.Kind, where.Lock)
		printPlugin(a, l)
		return nil
	})
}

// notGranted says what a plugin asks for.
func notGranted(a *app.App, path string) error {
	access, err := installed.ReadManifest(path)
	if err != nil {
		return err
	}
	d := diag.Diagnostic{Message: fmt.Sprintf("plugin %s asks for more than a plugin may", path), Hint: "if you trust it with that, install it with --grant"}
	for _, line := range access.Lines() {
		d = d.WithNote(diag.Location{}, "it asks to %s", line)
	}
	return &diag.StatusError{Status: diag.ExitUsage, Err: d}
}

func pluginVerifyCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "verify [NAME...]", Short: "Check that plugins are what was installed", Example: "  tapc plugin verify",
		Long: "Check the plugins of the lock files, or those named: that their files are the ones\nthat were locked, that they start, and that they say of themselves what the lock\nfile says; and say what this system keeps them from. The exit status is 3 if one\nis not as it was."}
	return a.Command(c, func(ctx context.Context, names []string) error {
		all, err := app.Places()
		if err != nil {
			return err
		}
		var failed error
		var known []string
		verified := 0
		for _, place := range all {
			lock, err := installed.ReadLock(place.Lock)
			if err != nil {
				return err
			}
			for i := range lock.Plugins {
				l := &lock.Plugins[i]
				known = append(known, l.Name)
				if len(names) > 0 && !slices.Contains(names, l.Name) {
					continue
				}
				if err := place.Verify(ctx, l, host.Options{Version: release.Version}); err != nil {
					failed = a.Fail(failed, err)
					continue
				}
				a.Printf("%s %s (%s): ok\n", l.Name, l.Version, place.Kind)
				verified++
			}
		}
		for _, name := range names {
			if !slices.Contains(known, name) {
				return diag.Unknown("plugin", name, known)
			}
		}
		if verified > 0 {
			if err := printConfinement(a); err != nil {
				return err
			}
		}
		return failed
	})
}

func pluginTestCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "test PATH", Short: "Run the conformance kit over a plugin", Args: cobra.ExactArgs(1), Example: "  tapc plugin test ./my-pass",
		Long: "Run the checks that every plugin must pass, in any language: that it starts, says\nthe same of itself every time, leaves valid graphs with the values they had, gives\nthe same bytes every time, stops when told to, and leaves nothing behind.\nThe exit status is 3 if a check fails."}
	verbose := c.Flags().BoolP("verbose", "v", false, "show what the checks say of their work")
	return a.Command(c, func(ctx context.Context, args []string) error {
		access, err := installed.ReadManifest(args[0])
		if err != nil {
			return err
		}
		s := &conformance.Subject{Path: args[0], Access: access}
		failed := 0
		for i, check := range conformance.Checks() {
			r := checkPlugin(ctx, a, check, s)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			a.Printf("%-4s %-12s %s\n", map[bool]string{true: "ok", false: "FAIL"}[!r.Failed()], check.Name, check.Doc)
			for _, line := range r.Lines(*verbose) {
				a.Printf("     %s\n", strings.ReplaceAll(line, "\n", "\n     "))
			}
			if r.Failed() {
				if failed++; i == 0 {
					break // it does not start
				}
			}
		}
		if failed > 0 {
			return diag.Fault("plugin %s: %d of %d checks failed", args[0], failed, len(conformance.Checks()))
		}
		return nil
	})
}

func checkPlugin(ctx context.Context, a *app.App, c conformance.Check, s *conformance.Subject) *findings.List {
	ctx, cancel := context.WithTimeout(ctx, conformance.Duration)
	defer cancel()
	r := &findings.List{}
	c.Run(ctx, s, r)
	return r
}

func pluginRemoveCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "remove NAME", Short: "Remove an installed plugin", Args: cobra.ExactArgs(1), Example: "  tapc plugin remove my-pass",
		Long: "Remove a plugin from the project (or, with --user, from the user's configuration)\nand from its lock file."}
	place := placeFlag(c)
	return a.Command(c, func(_ context.Context, args []string) error {
		where, err := place()
		if err != nil {
			return err
		}
		lock, err := installed.ReadLock(where.Lock)
		if err != nil {
			return err
		}
		if lock.Find(args[0]) == nil {
			var names []string
			for _, l := range lock.Plugins {
				names = append(names, l.Name)
			}
			return diag.Unknown("plugin", args[0], names)
		}
		return where.Remove(args[0])
	})
}
