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
	"regexp"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

func newStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [PATH]",
		Short: "Show the servers alive on a ledger, their policy, and whether it is stale",
		Long: `Lists the servers that are alive on a ledger, with the policy that each decides by. A policy is stale where its
file was changed and the server still decides by the old one: because nobody sent SIGHUP, or because the new file
is bad. PATH is the ledger's folder; else LEDGER_DIR, else .ledger.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := ledgerPath(args, "")
			if _, err := os.Stat(dir); err != nil {
				return withHint(err, "name the ledger's folder, or set LEDGER_DIR")
			}
			servers, err := living(dir)
			if err != nil {
				return err
			}
			if asJSON {
				return printServersJSON(cmd.OutOrStdout(), servers)
			}
			printServers(cmd.OutOrStdout(), servers)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// server is what a living server says of itself, and what its policy's file says now.
type server struct {
	pid, started, policyVersion          int64
	version, policy, digest, staleReason string
}

// serverFile is what announce names a server's file.
var serverFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+-[0-9a-f]{16}\.json$`) })

// living reads the files of the servers in a ledger's folder, and removes those of the dead. What
// is not named like one of ours is not ours to touch, nor is a folder that is.
func living(dir string) ([]server, error) {
	dir = filepath.Join(dir, serversDir)
	if err := durable.OS.IsOwnDir(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	names, err := durable.OS.Names(dir)
	if err != nil {
		return nil, err
	}
	var servers []server
	for _, name := range names {
		if !serverFile().MatchString(name) {
			continue
		}
		name = filepath.Join(dir, name)
		if dead, err := durable.RemoveIfDead(durable.OS, name); err != nil {
			return nil, err
		} else if dead {
			continue
		}
		s, err := readServer(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it left just now
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// writingTime is how long a server's file may be half written, or empty, by a server that lives on a busy machine.
const writingTime = 3 * time.Second

// readServer reads a server's file. One that is being written just now is read again.
func readServer(name string) (server, error) {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(name)
		if err != nil {
			return server{}, err
		}
		v, err := canon.Parse(text)
		if err == nil {
			return serverOf(v), nil
		}
		if time.Since(began) > writingTime {
			return server{}, err
		}
	}
}

func serverOf(v canon.Value) server {
	var s server
	s.pid, _ = v.Get("pid").Int()
	s.started, _ = v.Get("started").Int()
	s.version, _ = v.Get("version").Text()
	p := v.Get("policy")
	s.policy, _ = p.Get("name").Text()
	s.digest, _ = p.Get("digest").Text()
	s.policyVersion, _ = p.Get("version").Int()
	s.staleReason, _ = v.Get("stale").Get("error").Text()
	if s.staleReason == "" && filepath.IsAbs(s.policy) {
		s.staleReason = fileChanged(s.policy, s.digest)
	}
	return s
}

// fileChanged says how a policy's file differs from what was loaded, or "".
func fileChanged(name, digest string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return "the file cannot be read any more: " + err.Error()
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		return "the file was changed and not loaded again: send the server SIGHUP"
	}
	return ""
}

func printServers(w io.Writer, servers []server) {
	if len(servers) == 0 {
		fmt.Fprintln(w, "no server is alive on this ledger")
	}
	for _, s := range servers {
		fmt.Fprintf(w, "server %d, sallyport %s, up since %s\n", s.pid, s.version, time.Unix(0, s.started).Format(time.RFC3339))
		fmt.Fprintf(w, "  policy %s, version %d, sha256 %s\n", s.policy, s.policyVersion, s.digest)
		if s.staleReason != "" {
			fmt.Fprintf(w, "  STALE: the server decides by an older policy: %s\n", s.staleReason)
		}
	}
}

func printServersJSON(w io.Writer, servers []server) error {
	b := []byte(`{"servers":[`)
	for i, s := range servers {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"pid":%d,"started":%d,"version":"%s","policy":`, s.pid, s.started, s.version)
		b = canon.AppendString(b, s.policy)
		b = fmt.Appendf(b, `,"policy_version":%d,"policy_digest":"%s","stale":%t,"stale_reason":`, s.policyVersion, s.digest, s.staleReason != "")
		b = canon.AppendString(b, s.staleReason)
		b = append(b, '}')
	}
	_, err := w.Write(append(b, "]}\n"...))
	return err
}
