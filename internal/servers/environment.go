package servers

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// nestedVariable counts how many sallyports stand in front of a process.
const nestedVariable = "SALLYPORT_NESTED"

// maxNested is how many may: a second one is unusual, and more are a loop.
const maxNested = 2

// inherited are the variables that every server gets, if we have them: what a program needs to start, find its home and
// speak the user's language. It is the list of the official MCP SDKs, with time zone, language and temporary folder. None
// of them holds a secret; a server that needs a proxy or a key has it named in its entry.
func inherited() []string {
	return []string{
		"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
		"LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ",
		"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
		"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
	}
}

// Environment returns the whole environment of a server, KEY=VALUE, sorted: what its entry names, and of ours only what
// every program needs. Nothing that is for sallyport itself is in it.
func Environment(extra map[string]string) []string {
	all := map[string]string{}
	for _, key := range inherited() {
		// Values that begin like this are exported functions of a shell, as in the SDKs.
		if value, ok := os.LookupEnv(key); ok && !strings.HasPrefix(value, "()") {
			all[key] = value
		}
	}
	for key, value := range extra {
		if !ours(key) {
			all[key] = value
		}
	}
	return list(all)
}

// Inherited returns our whole environment but for what is for sallyport itself: for a server whose client has given us the
// environment that it is to have.
func Inherited() []string {
	all := map[string]string{}
	for _, entry := range os.Environ() {
		key, value, ok := strings.Cut(entry, "=")
		if ok && key != "" && !ours(key) && key != "POLICY_PATH" && key != "LEDGER_DIR" && key != "CRASH_MARKER" {
			all[key] = value
		}
	}
	return list(all)
}

// list spells an environment, and counts us in.
func list(all map[string]string) []string {
	all[nestedVariable] = strconv.Itoa(nested() + 1)
	var entries []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, key+"="+all[key])
	}
	return entries
}

// ours reports whether a variable is for sallyport itself.
func ours(key string) bool { return strings.HasPrefix(strings.ToUpper(key), "SALLYPORT_") }

func nested() int {
	n, err := strconv.Atoi(os.Getenv(nestedVariable))
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxNested)
}

// Nested is an error where too many sallyports stand in front of us already: one of them runs the next. Whoever is about
// to start servers must ask.
func Nested() error {
	if nested() >= maxNested {
		return errors.New("sallyport runs itself as its own server, without an end: name the server behind it instead")
	}
	return nil
}
