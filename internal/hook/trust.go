package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"sallyport/internal/canon"
)

// trustFile is where "sallyport trust" writes which project files are trusted: {"version":1,"trusted":{PATH:SHA256}}.
const trustFile = "trust.json"

// trust is which project files the user trusts, each as it was when it was trusted.
type trust struct{ trusted canon.Value }

// readTrust reads what is trusted. What cannot be read trusts nothing.
func readTrust(state string) *trust {
	if state == "" {
		return &trust{}
	}
	text, err := readPolicy(filepath.Join(state, trustFile))
	if err != nil {
		return &trust{}
	}
	v, err := canon.Parse(text)
	if err != nil {
		return &trust{}
	}
	if version, _ := v.Get("version").Int(); version != 1 {
		return &trust{}
	}
	return &trust{v.Get("trusted")}
}

// holds reports whether a file is trusted with this very text.
func (t *trust) holds(path, sum string) bool {
	if is, ok := t.trusted.Get(path).Text(); ok && is == sum {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real == path {
		return false
	}
	is, ok := t.trusted.Get(real).Text()
	return ok && is == sum
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
