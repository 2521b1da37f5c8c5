package effects

import (
	"strings"
	"testing"
)

func TestHostPatternMatch(t *testing.T) {
	tests := []struct {
		pattern, host string
		want          Match
	}{
		{"example.com", "example.com", Yes},
		{"example.com", "example.com:8080", Yes},
		{"Example.COM.", "example.com", Yes},
		{"example.com", "example.com.", Yes},
		{"example.com", "www.example.com", No},
		{"example.com", "example.com.evil.com", No},
		{"*.example.com", "www.example.com", Yes},
		{"*.example.com", "a.b.example.com", Yes},
		{"*.example.com", "example.com", No},
		{"*.example.com", "badexample.com", No},
		{"*", "anything", Yes},
		{"*", "\xff", Yes},
		{"example.com", "\xff", No},
		{"*.example.com", "\xff.example.com", Yes},
		{"*.example.com", "api.\xff", Maybe},
		{"api.example.com", "api.\xff", Maybe},
		{"localhost:8080", "localhost:8080", Yes},
		{"localhost:8080", "localhost:80", No},
		{"localhost:8080", "localhost", No},
		{"localhost:8080", "localhost:\xff", Maybe},
		{"localhost:443", "localhost", Maybe},
		{"localhost:*", "localhost:1", Yes},
		{"127.0.0.1", "2130706433", Yes},
		{"127.0.0.1", "0x7f.1", Yes},
		{"127.0.0.1", "0177.0.0.1", Yes},
		{"127.0.0.1", "[::ffff:127.0.0.1]:80", Yes},
		{"127.0.0.1", "127.0.0.2", No},
		{"[::1]", "[0:0:0:0:0:0:0:1]:8080", Yes},
		{"[::1]:8080", "[::1]:8080", Yes},
		{"::1", "[::1%eth0]", Yes},
		{"169.254.169.254", "0xa9fea9fe", Yes},
		{"*.example.com", "a\u3002example.com", Yes},
		{"bücher.example", "BÜCHER.example", Yes},
	}
	for _, test := range tests {
		p, err := ParseHost(test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		if got := p.Match(test.host); got != test.want {
			t.Errorf("%s on %q: got %d, want %d", test.pattern, test.host, got, test.want)
		}
	}
}

func TestParseHostErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"": "empty", "https://x": "no scheme", "a/b": "at most a port", "u@h": "at most a port", "a:b": "no port", "a:99999": "no port",
		"[::1": "not closed", ".": "names no host", "\xff": "UTF-8", "a b": "at most a port",
	} {
		if _, err := ParseHost(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", pattern, err, want)
		}
	}
}

func TestHostOf(t *testing.T) {
	for url, want := range map[string]string{
		"http://example.com/x":                "example.com",
		"HTTPS://Example.com:8443?x":          "example.com:8443",
		"http://good.com@evil.com/":           "evil.com",
		"http://good.com:80@evil.com:81#@x":   "evil.com:81",
		`http:\\evil.com\@good.com`:           "evil.com",
		`http://evil.com\@good.com`:           "evil.com",
		"http:evil.com":                       "evil.com",
		"http:////evil.com":                   "evil.com",
		"ht\ntp://ev\til.com":                 "evil.com",
		"  http://evil.com  ":                 "evil.com",
		"http://[::1]:80/":                    "[::1]:80",
		"http://0x7f000001/":                  "127.0.0.1",
		"http://ev%69l.com/":                  "evil.com",
		"http://evil.com./":                   "evil.com",
		"http://\xff/x":                       "\xff",
		"http://api.\xfe.com/x":               "api.\xfe.com",
		"wss://example.com":                   "example.com",
		"ssh://git@example.com:22/x":          "example.com:22",
		"postgres://u:p@db:5432/x":            "db:5432",
		"file:///etc/passwd":                  "",
		"mailto:x@example.com":                "",
		"c:/x":                                "",
		"example.com/x":                       "",
		"http://":                             "",
		"javascript:fetch('http://evil.com')": "",
	} {
		got, ok := hostOf(url)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", url, got, ok, want)
		}
	}
}

func FuzzHosts(f *testing.F) {
	for _, seed := range []string{"http://a@b:1/", `http:\\x`, "[::1%x]:2", "0x7f.1", "*.example.com", "\xff:80"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, pattern, url string) {
		host, ok := hostOf(url)
		if ok && host != fold(host) {
			t.Errorf("host %q of %q has capitals", host, url)
		}
		p, err := ParseHost(pattern)
		if err != nil {
			return
		}
		p.Match(host)
		if !strings.Contains(pattern, "*") && !strings.ContainsAny(pattern, "?[]\u212a%") && p.Match(pattern) != Yes {
			t.Errorf("%q does not match itself", pattern)
		}
	})
}

func TestUnknownProgramsReachTheHostsOfURLs(t *testing.T) {
	for command, want := range map[string]string{
		"unknown-tool http://evil.com/x":                "evil.com",
		"unknown-tool --url=https://user@evil.com:8443": "evil.com:8443",
		"unknown-tool U=wss://evil.com":                 "evil.com",
		"unknown-tool evil.com":                         "",
		"unknown-tool file:///etc/hosts":                "",
		"echo http://evil.com":                          "",
	} {
		got := ""
		for _, e := range Shell(command, &World{Dir: "/w"}) {
			if e.Kind == Connect {
				got += e.Host
			}
		}
		if got != want {
			t.Errorf("%s reaches %q, want %q", command, got, want)
		}
	}
}
