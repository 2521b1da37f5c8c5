package effects

import (
	"strings"
)

// spellings returns the absolute paths that a text may mean, not yet clean, with slashes.
func (w *World) spellings(text string, dirs []string) []string {
	text = withoutFileURL(text)
	var found []string
	w.eachAbsolute(text, dirs, &found)
	if trimmed := strings.TrimSpace(text); trimmed != text { // as some hosts take it
		w.eachAbsolute(trimmed, dirs, &found)
	}
	if strings.Contains(text, `\`) { // a separator for Windows, a character of the name elsewhere
		w.eachAbsolute(strings.ReplaceAll(text, `\`, "/"), dirs, &found)
	}
	for _, path := range found {
		if drive, ok := driveOf(path); ok {
			found = append(found, drive)
		}
		found = appendProcess(found, path, dirs)
	}
	return found
}

// eachAbsolute appends what a text with slashes may mean before drives are mapped.
func (w *World) eachAbsolute(text string, dirs []string, found *[]string) {
	text, shared := withoutShare(text)
	switch {
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, unknownText):
		*found = append(*found, text)
		return
	case len(text) >= 2 && isDrive(text[:2]) && (len(text) == 2 || text[2] == '/'):
		*found = append(*found, strings.ToLower(text[:1])+text[1:])
		return
	case shared:
		*found = append(*found, "/"+text)
		return
	}
	if strings.HasPrefix(text, "~") {
		name, rest, _ := strings.Cut(text, "/")
		for _, home := range w.homesOf(name, dirs) {
			*found = append(*found, home+"/"+rest)
		}
		if !w.named(name, dirs) {
			return
		}
	}
	for _, dir := range dirs {
		*found = append(*found, inDir(dir, text))
		if len(text) > 2 && isDrive(text[:2]) { // relative to the folder of a drive
			*found = append(*found, inDir(dir, text[2:]))
		}
	}
}

// inDir returns a relative path in a folder, "" being one that is not known.
func inDir(dir, path string) string {
	if dir == "" {
		return unknownText + "/" + path
	}
	return slashed(dir) + "/" + path
}

// slashed returns the path of a folder that the caller knows, with slashes and a drive in lower case.
func slashed(dir string) string {
	if len(dir) >= 2 && isDrive(dir[:2]) {
		return strings.ToLower(dir[:1]) + strings.ReplaceAll(dir[1:], `\`, "/")
	}
	if strings.HasPrefix(dir, `\\`) {
		return strings.ReplaceAll(dir, `\`, "/")
	}
	return dir
}

// homesOf returns the folders that ~ or ~name may be. The homes of others are guessed from where systems have them.
func (w *World) homesOf(tilde string, dirs []string) []string {
	user := tilde[1:]
	switch {
	case user == "+":
		var found []string
		for _, dir := range dirs {
			found = append(found, inDir(dir, "."))
		}
		return found
	case user == "" || w.User != "" && user == w.User:
		if len(w.Homes) == 0 {
			return []string{unknownText}
		}
		found := make([]string, len(w.Homes))
		for i, home := range w.Homes {
			found[i] = slashed(home)
		}
		return found
	case user == "root":
		return []string{"/root", "/var/root"}
	case user == "-" || hasUnknown(user):
		return []string{unknownText}
	}
	found := []string{"/home/" + user, "/Users/" + user}
	for _, home := range w.Homes { // beside ours
		home = slashed(home)
		if i := strings.LastIndexByte(home, '/'); i >= 0 {
			found = append(found, home[:i+1]+user)
		}
	}
	return found
}

// named reports whether a file that is really named ~ or ~name stands in one of the folders.
func (w *World) named(name string, dirs []string) bool {
	for _, dir := range dirs {
		if dir == "" || hasUnknown(dir+name) || !isNative(slashed(dir)) {
			continue
		}
		found, looked := w.look().at([]byte(clean(inDir(dir, name))))
		if !looked || found.kind != entryAbsent {
			return true
		}
	}
	return false
}

// withoutFileURL returns the path of a file: URL, or of one by which VS Code names a file, and any other text as it is.
func withoutFileURL(text string) string {
	if len(text) > 9 && strings.EqualFold(text[:6], "vscode") {
		if scheme, rest, found := strings.Cut(text, "://"); found && !strings.Contains(scheme, "/") {
			text = "file://" + rest
		}
	}
	if len(text) < 6 || !strings.EqualFold(text[:5], "file:") || text[5] != '/' && text[5] != '\\' {
		return text
	}
	path := strings.ReplaceAll(text[5:], `\`, "/")
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if strings.HasPrefix(path, "//") {
		host, rest, _ := strings.Cut(path[2:], "/")
		switch {
		case len(host) == 2 && isDrive(host): // file://c:/x
			path = host + "/" + rest
		default:
			path = "/" + rest
		}
	}
	path = percentDecoded(path)
	if len(path) >= 3 && path[0] == '/' && isDrive(path[1:3]) {
		path = path[1:]
	}
	return path
}

// percentDecoded returns a text with its %xx resolved; one that is none stays as it is.
func percentDecoded(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	decoded := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, highOK := hexDigit(text[i+1])
			low, lowOK := hexDigit(text[i+2])
			if highOK && lowOK {
				decoded = append(decoded, high<<4|low)
				i += 2
				continue
			}
		}
		decoded = append(decoded, text[i])
	}
	return string(decoded)
}

func hexDigit(b byte) (value byte, ok bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b|0x20 && b|0x20 <= 'f':
		return b | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// withoutShare takes away the clothes of Windows: \\?\C:\x and \\.\C:\x are C:\x, \\localhost\c$\x is c:\x, and
// \\wsl.localhost\Debian\x is /x. Rooted says that what is left begins at the root.
func withoutShare(text string) (path string, rooted bool) {
	if !strings.HasPrefix(text, "//") {
		return text, false
	}
	host, rest, _ := strings.Cut(text[2:], "/")
	switch strings.ToLower(host) {
	case "?", ".":
		if len(rest) >= 4 && strings.EqualFold(rest[:4], "UNC/") {
			return withoutShare("//" + rest[4:])
		}
		return rest, true
	case "wsl$", "wsl.localhost":
		_, rest, _ = strings.Cut(rest, "/")
		return rest, true
	case "localhost", "127.0.0.1":
		if len(rest) >= 2 && isLetter(rest[0]) && rest[1] == '$' {
			return rest[:1] + ":" + rest[2:], true
		}
	}
	return text, false
}

// driveOf returns the path on a Windows drive that a path of Git Bash, Cygwin or WSL means: c:/x for /c/x, /cygdrive/c/x
// and /mnt/c/x.
func driveOf(path string) (drive string, ok bool) {
	for _, prefix := range [...]string{"/mnt/", "/cygdrive/", "/"} {
		rest, found := strings.CutPrefix(path, prefix)
		if found && len(rest) >= 1 && isLetter(rest[0]) && (len(rest) == 1 || rest[1] == '/') {
			return strings.ToLower(rest[:1]) + ":" + rest[1:], true
		}
	}
	return "", false
}

// appendProcess appends what a path below /proc/self/cwd or /proc/self/root is for the process that will use it.
func appendProcess(found []string, path string, dirs []string) []string {
	if !strings.Contains(path, "/proc/") {
		return found
	}
	link, rest, ok := processLink(clean(path))
	if !ok {
		return found
	}
	if link == "root" {
		return append(found, "/"+rest)
	}
	for _, dir := range dirs {
		found = append(found, inDir(dir, rest))
	}
	return found
}

// processLink splits a clean path that begins with a link which each process has of its own: /proc/PID/cwd and the root.
func processLink(path string) (link, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, "/proc/")
	if !ok {
		return "", "", false
	}
	process, path, _ := strings.Cut(path, "/")
	if process != "self" && process != "thread-self" && strings.Trim(process, "0123456789") != "" && !hasUnknown(process) {
		return "", "", false
	}
	if thread, below := strings.CutPrefix(path, "task/"); below {
		_, path, _ = strings.Cut(thread, "/")
	}
	link, rest, _ = strings.Cut(path, "/")
	return link, rest, link == "cwd" || link == "root"
}

// trimmed returns a clean path as Windows reads its names: without streams ("x::$DATA") and trailing dots and blanks.
func trimmed(path string) string {
	if !hasTrimmable(path) {
		return path
	}
	names := splitNames(path)
	changed := false
	for i, name := range names {
		short := name
		if colon := strings.IndexByte(name, ':'); colon > 0 && !(i == 0 && isDrive(name)) {
			short = name[:colon]
		}
		short = strings.TrimRight(short, ". ")
		if short == "" || short == name {
			continue
		}
		if !changed {
			names, changed = append([]string(nil), names...), true
		}
		names[i] = short
	}
	if !changed {
		return path
	}
	return joinNames(names)
}

// hasTrimmable reports whether Windows might read a name of a path as a shorter one.
func hasTrimmable(path string) bool {
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case ':':
			return true
		case '.', ' ':
			if i+1 == len(path) || path[i+1] == '/' {
				return true
			}
		}
	}
	return false
}
