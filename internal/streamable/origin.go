package streamable

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Refusal is what a request is not let in by.
type Refusal string

// What a request is not let in by.
const (
	ByHost   Refusal = "host"
	ByOrigin Refusal = "origin"
	ByToken  Refusal = "token"
)

// strangeWords say so to who sent it.
var strangeWords = map[Refusal]string{
	ByHost:   "this host name is not served: add it to those that are",
	ByOrigin: "this origin is not let in: add it to those that are",
}

// strange says by what a request is not let in that comes from elsewhere, "" if it is let in. A page on the web can make a browser send
// us requests; it cannot hide its Origin. A name on the web can be made to mean this machine (DNS rebinding); then Host
// is that name (MCP, streamable HTTP, Security).
func (h *Handler) strange(r *http.Request) Refusal {
	if !h.knownHost(r.Host) {
		return ByHost
	}
	origins := r.Header.Values("Origin")
	switch {
	case len(origins) == 0:
		return ""
	case len(origins) > 1 || !h.knownOrigin(origins[0], r):
		return ByOrigin
	}
	return ""
}

// knownHost reports whether host, the value of a Host header, is loopback's or listed.
func (h *Handler) knownHost(host string) bool {
	name := hostname(host)
	if isLoopback(name) {
		return true
	}
	return slices.ContainsFunc(h.Hosts, func(known string) bool {
		return host != "" && (strings.EqualFold(known, host) || strings.EqualFold(known, name))
	})
}

// hostname returns host without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

// knownOrigin reports whether origin is that of the host that the request names, or listed. An origin that tells nobody
// where it is from, "null", is neither.
func (h *Handler) knownOrigin(origin string, r *http.Request) bool {
	if origin == "" || strings.EqualFold(origin, "null") {
		return false
	}
	if slices.ContainsFunc(h.Origins, func(known string) bool { return strings.EqualFold(known, origin) }) {
		return true
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	from, err := url.Parse(origin)
	if err != nil || from.Scheme != scheme || from.User != nil || from.Path != "" || from.RawQuery != "" || from.Fragment != "" {
		return false
	}
	return strings.EqualFold(withPort(from.Host, scheme), withPort(r.Host, scheme))
}

// withPort returns host with its port, also where that is the one which the scheme implies.
func withPort(host, scheme string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	port := "80"
	if scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(hostname(host), port)
}
