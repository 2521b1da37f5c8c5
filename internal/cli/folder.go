package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sallyport/internal/hook"
	"sallyport/internal/ledger"
	"sallyport/internal/plan"
	"sallyport/internal/policy"
)

// defaultLedgerDir is where serve keeps its state, below the working folder.
const defaultLedgerDir = ledger.DirName

// setting is a flag's value, or else the environment's, or else the default.
func setting(flag, env, fallback string) string {
	if flag != "" {
		return flag
	}
	if value := os.Getenv(env); value != "" {
		return value
	}
	return fallback
}

// ledgerPath is PATH, else the flag, else LEDGER_DIR, else the default.
func ledgerPath(args []string, flag string) string {
	if len(args) > 0 {
		return args[0]
	}
	return setting(flag, "LEDGER_DIR", defaultLedgerDir)
}

// ledgerFile is the ledger's file: PATH itself, or the one in the folder that PATH, the flag,
// LEDGER_DIR or the default names.
func ledgerFile(args []string, flag string) (string, error) {
	path := ledgerPath(args, flag)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", withHint(err, "name the ledger's folder or file, or set LEDGER_DIR")
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		path = filepath.Join(path, ledger.FileName)
	}
	if _, err := os.Lstat(path); err != nil {
		return "", withHint(err, "there is no ledger in that folder; name another, or set LEDGER_DIR")
	}
	return path, nil
}

// claimsFolder is the folder of the flag, of LEDGER_DIR, the one below the working folder, or that of wrapped servers.
func claimsFolder(flag string) (string, error) {
	dirs, err := ledgersAsked(flag)
	if err != nil {
		return "", err
	}
	return dirs[0], nil
}

// ledgersAsked returns the folders of the ledgers that a person may mean, one at least.
func ledgersAsked(flag string) ([]string, error) {
	files, err := ledgerFiles(flag)
	dirs := make([]string, len(files))
	for i, file := range files {
		dirs[i] = filepath.Dir(file)
	}
	return dirs, err
}

// ledgerFiles returns the files of the ledgers that a person may mean, one at least: that of the flag or of LEDGER_DIR, or,
// where neither is named, the one below the working folder and that of wrapped servers and hooks. What holds an agent back
// must not hide behind a folder that happens to be there, so that who looks for such things looks into both.
func ledgerFiles(flag string) ([]string, error) {
	file, err := ledgerFile(nil, flag)
	if setting(flag, "LEDGER_DIR", "") != "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return oneFile(file, err)
	}
	home, homeErr := os.UserHomeDir()
	if homeErr != nil {
		return oneFile(file, err)
	}
	users, usersErr := ledgerFile([]string{hook.StateDir(home)}, "")
	switch {
	case usersErr != nil, sameFile(file, users):
		return oneFile(file, err)
	case err != nil:
		return []string{users}, nil
	}
	return []string{file, users}, nil
}

func oneFile(file string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	return []string{file}, nil
}

// sameFile reports whether two names lead to one file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// hintOf is what to try after err, or "".
func hintOf(err error) string {
	var h *hinted
	if errors.As(err, &h) {
		return h.hint
	}
	var p *policy.Error
	if errors.As(err, &p) {
		return p.Hint
	}
	var inPlan *plan.Error
	if errors.As(err, &inPlan) {
		return inPlan.Hint
	}
	return ""
}
