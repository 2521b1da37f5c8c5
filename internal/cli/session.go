package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/internal/pretool"
)

func newSession() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Write the session files that the pre-tool checks read",
		Long: `Writes the files of an agent's sessions below its configuration folder (CLAUDE_CONFIG_DIR, else ~/.claude), each at once
and whole. Other programs may write them too: their format is in docs/reference/session-files.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionStart(), newSessionFlag(), newSessionTrace())
	return cmd
}

func newSessionStart() *cobra.Command {
	return &cobra.Command{
		Use:   "start [ID]",
		Short: "Start a session, make it the current one, and print its id",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sessions := openSessions()
			id := sessions.NewSessionID()
			if len(args) > 0 {
				id = args[0]
			}
			if err := sessions.Start(id); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), id)
			return err
		},
	}
}

func newSessionFlag() *cobra.Command {
	var session, skill, skillType string
	var clear bool
	cmd := &cobra.Command{
		Use:   "flag NAME",
		Short: "Set or clear a flag of a session",
		Long:  "Sets a flag as of now, or clears it. NAME is one of " + strings.Join(pretool.FlagNames, ", ") + ".",
		Example: `  sallyport session flag skill-selection-pending --skill python-core --type skill
  sallyport session flag checkpoint-pending --clear`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			sessions := openSessions()
			id := sessionID(sessions, session)
			if clear {
				_, err := sessions.ClearFlag(id, args[0])
				return sessionError(err)
			}
			return sessionError(sessions.SetFlag(id, args[0], skill, skillType))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&session, "session", "", "the session's `ID`; else the current one")
	flags.StringVar(&skill, "skill", "", "the `SKILL` that is required")
	flags.StringVar(&skillType, "type", "", "what is required, such as skill or agent")
	flags.BoolVar(&clear, "clear", false, "clear the flag")
	cmd.MarkFlagsMutuallyExclusive("clear", "skill")
	cmd.MarkFlagsMutuallyExclusive("clear", "type")
	return cmd
}

func newSessionTrace() *cobra.Command {
	var session string
	var newEntry bool
	cmd := &cobra.Command{
		Use:   "trace STEP...",
		Short: "Add steps to a session's flow trace",
		Long: `Adds steps to the last entry of the flow trace. The checks know LEVEL_1_CONTEXT, LEVEL_1_SESSION, LEVEL_2_STANDARDS and
STANDARDS; other steps may be there.`,
		Example: `  sallyport session trace LEVEL_1_SESSION LEVEL_1_CONTEXT`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !newEntry {
				return withHint(errors.New("no step is named"), "see "+cmd.CommandPath()+" --help")
			}
			sessions := openSessions()
			return sessionError(sessions.AddSteps(sessionID(sessions, session), args, newEntry))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&session, "session", "", "the session's `ID`; else the current one")
	flags.BoolVar(&newEntry, "new", false, "begin a new entry, which lacks every step so far")
	return cmd
}

// sessionID is the session of the flag, or else the current one; "" if there is none.
func sessionID(sessions *pretool.Sessions, flag string) string {
	if flag != "" {
		return flag
	}
	return sessions.Current()
}

func sessionError(err error) error {
	if errors.Is(err, pretool.ErrNoSession) {
		return withHint(err, "run sallyport session start, set CLAUDE_SESSION_ID, or name one with --session")
	}
	return err
}
