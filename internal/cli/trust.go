package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/hook"
	"sallyport/internal/policy"
	"sallyport/internal/yaml"
)

func newTrust() *cobra.Command {
	var list bool
	var remove string
	cmd := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Let a project's policy allow things",
		Long: `A project's policy comes with its repository, so its deny and ask rules count always, but its allow rules, its default and
its "starter: off" only after you trusted the file as it stands: a changed file must be trusted again.
Shows what the file would grant, and asks at the terminal. FILE is .sallyport/policy.yaml of the working folder or of the
nearest folder above it that has one.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			store, err := openTrust()
			switch {
			case err != nil:
				return err
			case list:
				return store.list(out)
			case remove != "":
				return store.forget(out, remove)
			}
			path, err := projectPolicy(args)
			if err != nil {
				return err
			}
			return store.trust(out, path)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&list, "list", false, "list the trusted files and whether they are still what was trusted")
	flags.StringVar(&remove, "remove", "", "trust this `FILE` no more")
	cmd.MarkFlagsMutuallyExclusive("list", "remove")
	return cmd
}

// projectPolicy is the file of the argument, or the nearest one upward. Links are followed: what is trusted is a file.
func projectPolicy(args []string) (string, error) {
	if len(args) > 0 {
		path, err := filepath.Abs(args[0])
		if err != nil {
			return "", err
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", withHint(fmt.Errorf("reading the policy: %w", err), "name a project's policy file, or none for the nearest .sallyport/policy.yaml upward")
		}
		return real, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for folder := dir; ; folder = filepath.Dir(folder) {
		path, err := filepath.EvalSymlinks(filepath.Join(folder, ".sallyport", "policy.yaml"))
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if folder == filepath.Dir(folder) {
			return "", withHint(fmt.Errorf("there is no .sallyport/policy.yaml in %s or above it", dir), "name the file")
		}
	}
}

// trust shows what a file would grant, asks, and writes that it is trusted.
func (s *trustStore) trust(out io.Writer, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return withHint(fmt.Errorf("reading the policy: %w", err), "name a file that you may read")
	}
	if _, err := policy.Parse(path, text); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	fmt.Fprintf(out, "file    %s\nsha256  %s\n", path, digest)
	if err := showGrants(out, text); err != nil {
		return err
	}
	trusted, err := s.read()
	if err != nil {
		return err
	}
	if trusted[path] == digest {
		_, err := fmt.Fprintln(out, "it is trusted already; nothing to do")
		return err
	}
	if err := confirm("Trust this file as it stands?"); err != nil {
		return err
	}
	if err := s.change(func(trusted map[string]string) { trusted[path] = digest }); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "trusted")
	return err
}

// showGrants prints everything in a policy that counts only if it is trusted.
func showGrants(out io.Writer, text []byte) error {
	root, err := policyRoot(text)
	if err != nil {
		return err
	}
	granted := 0
	grant := func(what string, detail canon.Value) error {
		granted++
		spelt, err := detail.AppendCanonical(nil)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "grants  %s %s\n", what, spelt)
		return err
	}
	for key, value := range root.Members() {
		switch setting, _ := value.Text(); {
		case key == "allow", key == "starter", key == "ledger", key == "tools", key == "mode", key == "default" && setting != "deny":
			if err := grant(key, value); err != nil {
				return err
			}
		}
	}
	for rule := range root.Get("rules").Elements() {
		if decision, _ := rule.Get("decision").Text(); decision == "allow" {
			if err := grant("rule", rule); err != nil {
				return err
			}
		}
	}
	if granted == 0 {
		_, err = fmt.Fprintln(out, "grants  nothing: all that is in it counts without trust")
	}
	return err
}

// policyRoot reads a policy's text, which is JSON or YAML.
func policyRoot(text []byte) (canon.Value, error) {
	if root, err := canon.Parse(text); err == nil {
		return root, nil
	}
	doc, err := yaml.Parse(text)
	if err != nil {
		return canon.Value{}, err
	}
	return canon.Parse(doc.JSON)
}

// list prints the trusted files.
func (s *trustStore) list(out io.Writer) error {
	trusted, err := s.read()
	if err != nil {
		return err
	}
	if len(trusted) == 0 {
		_, err := fmt.Fprintln(out, "no file is trusted")
		return err
	}
	for _, path := range sortedKeys(trusted) {
		state := "trusted"
		if text, err := os.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
			state = "gone"
		} else if err != nil {
			state = "unreadable"
		} else if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != trusted[path] {
			state = "changed"
		}
		if _, err := fmt.Fprintf(out, "%-10s  %s  %s\n", state, trusted[path], path); err != nil {
			return err
		}
	}
	return nil
}

// forget takes a file out of those that are trusted.
func (s *trustStore) forget(out io.Writer, name string) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	trusted, err := s.read()
	if err != nil {
		return err
	}
	if _, ok := trusted[path]; !ok {
		return withHint(fmt.Errorf("%s is not trusted", path), "see sallyport trust --list")
	}
	if err := confirm("Trust " + path + " no more?"); err != nil {
		return err
	}
	if err := s.change(func(trusted map[string]string) { delete(trusted, path) }); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "removed")
	return err
}

// openTrust is the store in the user's state folder, which need not exist.
func openTrust() (*trustStore, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	return &trustStore{dir: hook.StateDir(home)}, nil
}
