package cli

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sallyport/internal/hook"
	"sallyport/internal/policy"
)

// errNotConfirmed says that a person at the terminal did not agree.
var errNotConfirmed = errors.New("not confirmed: nothing was done")

// operatorToken is the variable for the token that stands in for a person where there is no terminal.
const operatorToken = "SALLYPORT_OPERATOR_TOKEN"

// confirm asks a person at the controlling terminal, and is nil where the answer is yes. stdin and stdout are not looked
// at: whoever runs us can have put anything there. An agent's hook, and most tools that an agent runs, have no terminal.
// Whoever knows the token whose digest stands in the machine's policy need not be asked.
func confirm(question string) error {
	if err := ownName(); err != nil {
		return err
	}
	if token := os.Getenv(operatorToken); token != "" {
		return confirmByToken(token, hook.ManagedPolicy())
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return withHint(errors.New("this is for a person to confirm, and there is no terminal"),
			"run it yourself, in a terminal of your own")
	}
	defer tty.Close()
	if _, err := fmt.Fprintf(tty, "%s Type yes to go on: ", question); err != nil {
		return fmt.Errorf("asking at the terminal: %w", err)
	}
	answer, err := bufio.NewReader(io.LimitReader(tty, 1024)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading from the terminal: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errNotConfirmed
	}
	return nil
}

// ownName is an error where we were called by another name than our own. The gate's rules know what only a person may run
// by that name; a copy or a link of another name would get past them.
func ownName() error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	for _, path := range []string{own, os.Args[0]} {
		if name := filepath.Base(path); name != "sallyport" && name != "sallyport.exe" {
			return withHint(fmt.Errorf("this is not done under the name %s", name), "call it as sallyport")
		}
	}
	return nil
}

// confirmByToken compares a token with the machine's policy file. A wrong one is not followed by a question.
func confirmByToken(token, managed string) error {
	refuse := func(why string) error {
		return withHint(fmt.Errorf("%s is set, but %s", operatorToken, why), "unset it to be asked at the terminal")
	}
	text, err := readSetting(managed)
	if err != nil {
		return refuse("the machine's policy file, which would say what it must be, cannot be read: " + err.Error())
	}
	p, err := policy.Parse(managed, text)
	switch {
	case err != nil:
		return err
	case p.OperatorToken() == "":
		return refuse(managed + " names no operator_token")
	}
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(p.OperatorToken())) != 1 {
		return refuse("it is not the one that " + managed + " names")
	}
	return nil
}
