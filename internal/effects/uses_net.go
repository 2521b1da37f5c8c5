package effects

import "strings"

// reach judges a word that may name a host: a URL, host:path if the use is u, host[:port] if it is U or h.
func (c *call) reach(w Word, use byte) {
	text := w.Text
	if scheme, rest, found := strings.Cut(text, "://"); found && hasScheme(scheme) {
		if strings.EqualFold(scheme, "file") {
			c.file(Word{Text: strings.TrimPrefix(rest, "localhost"), Splits: w.Splits}, operand{read: true})
			return
		}
		c.addHost(authority(rest))
		return
	}
	if command, found := strings.CutPrefix(text, "ext::"); found { // git-remote-ext
		words := unescapeExt(command)
		c.startWords(words...)
		return
	}
	switch host, _, remote := remotePath(text); {
	case use == 'u' && remote:
		c.addHost(authority(host))
	case use == 'u' && strings.ContainsAny(text, "/\\.~"): // a repository in a folder
		c.file(w, operand{read: true})
	case use == 'U', use == 'h':
		c.addHost(authority(text))
	}
}

// local judges a word that names a file, perhaps on another host.
func (c *call) local(w Word, o operand) {
	if scheme, rest, found := strings.Cut(w.Text, "://"); found && hasScheme(scheme) {
		c.addHost(authority(rest))
		return
	}
	if host, _, remote := remotePath(w.Text); remote {
		c.addHost(authority(host))
		return
	}
	c.file(w, o)
}

// remotePath parts [USER@]HOST:PATH. What has a slash before the colon is a local path (scp(1), git-clone(1)).
func remotePath(text string) (host, path string, remote bool) {
	if strings.HasPrefix(text, "[") || strings.Contains(text, "@[") { // an IPv6 address
		if end := strings.Index(text, "]:"); end >= 0 {
			return text[:end+1], text[end+2:], true
		}
	}
	host, path, found := strings.Cut(text, ":")
	if !found || host == "" || strings.ContainsAny(host, `/\`) || len(host) == 1 && host[0]|0x20 >= 'a' && host[0]|0x20 <= 'z' {
		return "", text, false // C:\x is local, too
	}
	return host, path, true
}

// authority returns host[:port] of what stands behind the scheme of a URL.
func authority(text string) string {
	if end := strings.IndexAny(text, "/?#\\"); end >= 0 {
		text = text[:end]
	}
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		text = text[at+1:]
	}
	return lower(strings.TrimSuffix(text, ":"))
}

// lower returns a text with its ASCII letters in lower case, and the bytes that stand for the unknown as they are.
func lower(text string) string {
	for i := range len(text) {
		if text[i] >= 'A' && text[i] <= 'Z' {
			low := []byte(text)
			for j := i; j < len(low); j++ {
				if low[j] >= 'A' && low[j] <= 'Z' {
					low[j] |= 0x20
				}
			}
			return string(low)
		}
	}
	return text
}

// addHost adds a host that is reached.
func (c *call) addHost(host string) {
	if host != "" {
		c.hosts = append(c.hosts, host)
	}
}

// hasScheme reports whether what stands before :// may be the scheme of a URL, of any case (RFC 3986, 3.1).
func hasScheme(text string) bool {
	for i := range len(text) {
		if b := text[i]; !isLetter(b) && (i == 0 || b != '+' && b != '-' && b != '.' && (b < '0' || b > '9')) {
			return false
		}
	}
	return len(text) > 1
}

// unescapeExt returns the words of a command of git-remote-ext(1): "% " is a blank within one, "%%" a percent sign, and
// %s, %S, %G and %V are replaced by names of services.
func unescapeExt(text string) (words []Word) {
	for field := range strings.SplitSeq(strings.ReplaceAll(text, "% ", "%\x00"), " ") {
		var b strings.Builder
		for i := 0; i < len(field); i++ {
			if field[i] != '%' || i+1 == len(field) {
				b.WriteByte(field[i])
				continue
			}
			switch i++; field[i] {
			case '\x00':
				b.WriteByte(' ')
			case '%':
				b.WriteByte('%')
			}
		}
		if b.Len() > 0 {
			words = append(words, Word{Text: b.String()})
		}
	}
	return words
}
