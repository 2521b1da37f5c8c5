package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/internal/install"
	"sallyport/internal/principal"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make bearer tokens for serve --http",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenNew())
	return cmd
}

// tokenRequest is what token new was asked for.
type tokenRequest struct{ file, tenant, expires string }

func newTokenNew() *cobra.Command {
	var t tokenRequest
	cmd := &cobra.Command{
		Use:   "new PRINCIPAL",
		Short: "Print a new bearer token and keep its digest",
		Long: `Makes a random bearer token for PRINCIPAL, adds its digest to a token file, which is made if it is not there, and prints
the token. It is printed this once: the file has no way back to it. A server that runs reads the file anew on SIGHUP.`,
		Example: `  sallyport token new ci --file tokens.json --tenant acme --expires 90d`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.run(cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], time.Now())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&t.file, "file", "", "the token `FILE`")
	flags.StringVar(&t.tenant, "tenant", "", "the `TENANT` that the principal belongs to")
	flags.StringVar(&t.expires, "expires", "", "how long the token is good for, a `TIME` such as 90d or 12h (else without an end)")
	return cmd
}

func (t *tokenRequest) run(out, stderr io.Writer, name string, now time.Time) error {
	if t.file == "" {
		return withHint(errors.New("there is no file to keep the digest in"), "name one with --file; serve --http takes it as --tokens")
	}
	expires, err := parseLifetime(t.expires, now)
	if err != nil {
		return err
	}
	file, err := install.Read(t.file)
	if err != nil {
		return withHint(fmt.Errorf("reading the tokens: %w", err), "name another file with --file")
	}
	tokens, err := principal.Read(t.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && file.Text == nil:
		tokens = &principal.Tokens{}
	case err != nil:
		return withHint(fmt.Errorf("reading the tokens: %w", err), "mend the file, or name another with --file")
	}
	token, digest := principal.New()
	more, err := tokens.With(principal.Token{SHA256: digest, Who: principal.Who{Name: name, Tenant: t.tenant}, Expires: expires})
	if err != nil {
		return err
	}
	if err := file.Replace(more.Text(), 0o600); err != nil {
		return fmt.Errorf("writing the tokens: %w", err)
	}
	if _, err := fmt.Fprintln(out, token); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stderr, "kept the digest in %s (%d tokens); the token itself is shown this once\n", t.file, more.Len())
	return err
}

// parseLifetime reads a time such as 90d or 12h, and returns when it is over; a zero time for none.
func parseLifetime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	const most = 3650 // days
	life, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		life = time.Duration(min(n, most+1)) * 24 * time.Hour
	}
	if err != nil || life < time.Minute || life > most*24*time.Hour {
		return time.Time{}, withHint(fmt.Errorf("%q is no time for a token to be good for", text), "it is from 1m to 3650d, such as 90d or 12h")
	}
	return now.Add(life).Truncate(time.Second), nil
}
