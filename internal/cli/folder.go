package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

// defaultLedgerDir is where serve keeps its state, below the working folder.
const defaultLedgerDir = ".ledger"

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
	return ""
}
