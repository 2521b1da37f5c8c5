package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/internal/servers"
	"sallyport/internal/upstream"
)

type wrapOptions struct {
	serveOptions
	name, url   string
	header, env []string
}

func newWrap() *cobra.Command {
	var opt wrapOptions
	cmd := &cobra.Command{
		Use:   "wrap [flags] -- COMMAND [ARG...]",
		Short: "Put the gate in front of one MCP server",
		Long: `Starts COMMAND, which is an MCP server on stdin and stdout, and serves what it serves on ours: every call is decided by the
policy and recorded, and what the policy can never allow is not shown. Nothing else is altered: names, ids, results and
errors pass byte for byte, in both protocol eras. With --url the server is one on streamable HTTP.
Without --policy the user's and the project's policies and the starter pack count, as in a hook. The ledger and the claims
are in ~/.local/state/sallyport, whatever the working folder. The server gets our environment without SALLYPORT_*,
POLICY_PATH and LEDGER_DIR; with --env only what is named, and the few variables that programs need to start.`,
		Example: `  sallyport wrap --policy policy.yaml -- npx -y @modelcontextprotocol/server-filesystem /srv/data`,
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := opt.upstream(args)
			if err != nil {
				return err
			}
			opt.behind = []upstream.Config{config}
			return opt.run(cmd)
		},
	}
	flags := cmd.Flags()
	opt.gateFlags(flags)
	flags.StringVar(&opt.name, "name", "", "the server's `NAME` in logs, claims and sallyport.lock (else made of the command)")
	flags.StringVar(&opt.url, "url", "", "the `URL` of a server on streamable HTTP, instead of a command")
	flags.StringArrayVar(&opt.header, "header", nil, "a header `NAME=VALUE` for --url; ${VAR} is taken from the environment")
	flags.StringArrayVar(&opt.env, "env", nil, "a variable `NAME` or NAME=VALUE for the server, which then gets no others")
	return cmd
}

// upstream is the server that the command line describes.
func (o *wrapOptions) upstream(args []string) (upstream.Config, error) {
	config := upstream.Config{Name: o.name}
	if o.name != "" {
		if err := servers.CheckName(o.name); err != nil {
			return config, withHint(fmt.Errorf("--name: %w", err), "see sallyport wrap --help")
		}
	}
	switch {
	case o.url == "" && len(args) == 0:
		return config, withHint(errors.New("no server to wrap"), "write the server's own command line behind --, or its URL with --url")
	case o.url != "" && len(args) > 0:
		return config, withHint(errors.New("both --url and a command"), "a server is either a process or a URL")
	case o.url == "" && len(o.header) > 0:
		return config, withHint(errors.New("--header without --url"), "give a process its secrets with --env")
	case o.url != "":
		config.URL = o.url
		return config, o.headers(&config)
	}
	wrapped, err := servers.Wrapped(args)
	if err != nil {
		return config, withHint(err, "write the server's own command line behind --")
	}
	if wrapped.Env = o.environment(); o.name != "" {
		wrapped.Name = o.name
	}
	return wrapped, nil
}

// headers reads the --header flags. Their values may be secrets, which are better not on a command line.
func (o *wrapOptions) headers(config *upstream.Config) error {
	address, err := url.Parse(o.url)
	if err != nil || address.Hostname() == "" || address.Scheme != "http" && address.Scheme != "https" {
		return withHint(errors.New("--url is no URL of a server"), "write it as https://mcp.example.com/mcp")
	}
	if config.Name == "" {
		config.Name = servers.NameOf([]string{address.Hostname()})
	}
	config.Header = http.Header{}
	for _, h := range o.header {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return withHint(fmt.Errorf("--header %q has no value", name), "write it as NAME=VALUE")
		}
		missing := ""
		value = os.Expand(value, func(variable string) string {
			found, ok := os.LookupEnv(variable)
			if !ok {
				missing = variable
			}
			return found
		})
		if missing != "" {
			return withHint(fmt.Errorf("--header %s: there is no variable %s", name, missing), "set it, or write the value")
		}
		if err := servers.AddHeader(config.Header, name, value); err != nil {
			return withHint(fmt.Errorf("--header %s: %w", name, err), "see sallyport wrap --help")
		}
	}
	return nil
}

// environment is what the server gets: all that its client gave us but what is ours, or what --env names.
func (o *wrapOptions) environment() []string {
	if len(o.env) > 0 {
		extra := map[string]string{}
		for _, e := range o.env {
			name, value, given := strings.Cut(e, "=")
			if !given {
				value = os.Getenv(name)
			}
			extra[name] = value
		}
		return servers.Environment(extra)
	}
	return servers.Inherited()
}
