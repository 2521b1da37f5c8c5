package effects

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// HostPattern is a pattern of a policy for hosts: "*.example.com", "localhost:8080". A * stands for any text, dots too;
// "*.example.com" is the hosts below example.com and not that one itself, and "*" is any host. A pattern without a port
// speaks of every port. Addresses are compared as numbers, so 2130706433 is 127.0.0.1.
type HostPattern struct {
	text string
	host segment
	port string
}

// ParseHost reads a pattern for hosts. An error is a phrase that says what is wrong.
func ParseHost(text string) (*HostPattern, error) {
	switch {
	case text == "":
		return nil, errors.New("the host pattern is empty")
	case !utf8.ValidString(text):
		return nil, errors.New("the host pattern is not UTF-8")
	case strings.Contains(text, "://"):
		return nil, errors.New("a host pattern has no scheme: write the host alone")
	case strings.ContainsAny(text, "/\\@?# \t\r\n"):
		return nil, errors.New("a host pattern is a host and at most a port")
	}
	name, port := splitPort(fold(text))
	if strings.HasPrefix(name, "[") && !strings.HasSuffix(name, "]") {
		return nil, errors.New("a bracket is not closed")
	}
	name = plainHost(name)
	if name == "" {
		return nil, errors.New("the host pattern names no host")
	}
	if number, err := strconv.Atoi(port); port != "" && port != "*" && (err != nil || number < 0 || number > 65535) {
		return nil, fmt.Errorf("%q is no port", port)
	}
	if port == "*" {
		port = ""
	}
	host, err := parseSegment(strings.ReplaceAll(name, "**", "*"))
	if err != nil {
		return nil, err
	}
	return &HostPattern{text: text, host: host, port: port}, nil
}

// String returns the pattern as it was written.
func (p *HostPattern) String() string { return p.text }

// Match says whether the pattern speaks of an Effect's Host. One that is not known at all is no reason for an alarm.
func (p *HostPattern) Match(host string) Match {
	name, port := splitPort(fold(host))
	name = strings.ReplaceAll(plainHost(name), unknownText, "\xfe")
	match := No
	switch {
	case name == "":
		return No
	case p.host.matches(name, true):
		match = Yes
	case hasUnknown(name) && p.host.could(name, charSupport):
		match = Maybe
	}
	switch {
	case p.port == "" || p.port == port:
		return match
	case hasUnknown(port), port == "" && (p.port == "443" || p.port == "80"): // the port of some schemes
		return min(match, Maybe)
	}
	return No
}

// splitPort splits "host:port". An address of IPv6 has its port behind brackets.
func splitPort(text string) (host, port string) {
	if end := strings.LastIndexByte(text, ']'); strings.HasPrefix(text, "[") && end > 0 {
		return text[:end+1], strings.TrimPrefix(text[end+1:], ":")
	}
	host, port, found := strings.Cut(text, ":")
	if found && strings.Contains(port, ":") {
		return text, ""
	}
	return host, port
}

// plainHost returns a host in lower case without what makes two spellings of it: brackets, a dot at the end, the dots of
// other scripts, escapes, and the many ways to write an address.
func plainHost(host string) string {
	if strings.HasPrefix(host, "[") {
		host = strings.TrimSuffix(host[1:], "]")
	}
	host = percentDecoded(host)
	for _, dot := range [...]string{"。", "．", "｡"} {
		host = strings.ReplaceAll(host, dot, ".")
	}
	host = fold(strings.TrimSuffix(host, "."))
	host, _, _ = strings.Cut(host, "%") // the zone of an address
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().String()
	}
	if address, ok := oldAddress(host); ok {
		return address.String()
	}
	return host
}

// oldAddress reads the spellings of an IPv4 address that inet_aton takes: 127.1, 0x7f000001, 017700000001.
func oldAddress(host string) (address netip.Addr, ok bool) {
	parts := strings.Split(host, ".")
	if host == "" || len(parts) > 4 {
		return netip.Addr{}, false
	}
	var number uint64
	for i, part := range parts {
		base := 10
		digits := part
		switch {
		case strings.HasPrefix(part, "0x"):
			base, digits = 16, part[2:]
		case len(part) > 1 && part[0] == '0':
			base = 8
		}
		if base == 16 && digits == "" {
			digits = "0"
		}
		value, err := strconv.ParseUint(digits, base, 32)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if err != nil || value >= 1<<bits {
			return netip.Addr{}, false
		}
		number = number<<bits | value
	}
	return netip.AddrFrom4([4]byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)}), true
}

// hostOf returns the host that a URL names, with its port where one is written, as browsers read it (the URL standard,
// 4.4): a backslash is a slash, and what stands before the last @ is a user's name. ok is false for a URL without a
// host, and for what is none.
func hostOf(url string) (host string, ok bool) {
	url = strings.Trim(url, " \t\r\n\f\v")
	if strings.ContainsAny(url, "\t\r\n") {
		url = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(url)
	}
	scheme, rest, found := strings.Cut(url, ":")
	if !found || !isURLScheme(scheme) {
		return "", false
	}
	scheme = strings.ToLower(scheme)
	switch scheme {
	case "http", "https", "ws", "wss", "ftp":
		rest = strings.TrimLeft(rest, `/\`)
	case "file", "data", "javascript", "mailto", "about", "blob":
		return "", false
	default:
		if !strings.HasPrefix(rest, "//") {
			return "", false
		}
		rest = rest[2:]
	}
	return authorityHost(rest)
}

// authorityHost returns the host at the start of what follows "scheme://".
func authorityHost(rest string) (host string, ok bool) {
	if end := strings.IndexAny(rest, `/\?#`); end >= 0 {
		rest = rest[:end]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	name, port := splitPort(fold(rest))
	name = plainHost(name)
	if name == "" {
		return "", false
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if port != "" {
		name += ":" + port
	}
	return name, true
}

// isURLScheme reports whether a text can be the scheme of a URL. One letter is a drive of Windows.
func isURLScheme(text string) bool {
	for i := range len(text) {
		b := text[i]
		if !isLetter(b) && (i == 0 || !('0' <= b && b <= '9') && b != '+' && b != '-' && b != '.') {
			return false
		}
	}
	return len(text) > 1
}
