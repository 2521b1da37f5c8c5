package gateway

import (
	"strings"
	"testing"
	"unicode"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
)

func parsed(t testing.TB, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestWhatAPersonIsShownOfACall(t *testing.T) {
	matter := interlock.Matter{Upstream: "fs", Tool: "fs__write", Digest: "d1"}
	for name, tt := range map[string]struct {
		approval interlock.Approval
		want     string
	}{
		"a call": {
			interlock.Approval{ID: "a1", Matter: matter, Reason: "Ask first.", Args: parsed(t, `{"b":1.0,"a":"é\n"}`)},
			"Why: Ask first.\nTool: fs__write\nServer: fs\nApproval: a1\nArguments: {\"a\":\"é\\n\",\"b\":1.0}",
		},
		"another line": {
			interlock.Approval{ID: "a1", Matter: interlock.Matter{Tool: "t\nServer: good"}, Args: parsed(t, `{}`)},
			"Tool: t\\u000aServer: good\nApproval: a1\nArguments: {}",
		},
		"text that runs backwards": {
			interlock.Approval{ID: "a1", Matter: matter, Args: parsed(t, `{"p":"\u202egpj.exe\u2066\u200b\ufeff\u00ad\u00a0\u2028\u3164\ufe0f`+"\U000e0041"+`\u001b[2J\u0085"}`)},
			"Tool: fs__write\nServer: fs\nApproval: a1\nArguments: {\"p\":\"\\u202egpj.exe\\u2066\\u200b\\ufeff\\u00ad\\u00a0\\u2028\\u3164\\ufe0f\\udb40\\udc41\\u001b[2J\\u0085\"}",
		},
		"another method": {
			interlock.Approval{ID: "a1", Matter: interlock.Matter{Upstream: "fs", Method: "resources/read", Tool: "x://y"}, Args: parsed(t, `{"_meta":{"a":1},"uri":"x://y"}`)},
			"Request: resources/read x://y\nServer: fs\nApproval: a1\nArguments: {\"uri\":\"x://y\"}",
		},
		"no arguments": {
			interlock.Approval{ID: "a1", Matter: matter},
			"Tool: fs__write\nServer: fs\nApproval: a1\nArguments: none, or too long to be shown here (SHA-256 d1)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := strings.CutPrefix(approvalMessage(&tt.approval), "sallyport: the policy asks a person before this call is made.\n")
			if !ok || got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// What matters must not hide behind what is long.
func TestLongArgumentsHideNoOther(t *testing.T) {
	long := strings.Repeat("x", 60<<10)
	got := approvalMessage(&interlock.Approval{ID: "a1", Matter: interlock.Matter{Tool: "t", Digest: "d1"},
		Args: parsed(t, `{"aaa":"`+long+`","path":"/etc/passwd","zzz":"`+long+`"}`)})
	for _, want := range []string{`"path": "/etc/passwd"`, `"aaa": "xxx`, `"zzz": "xxx`, "not all of which are shown", "SHA-256 d1", "…"} {
		if !strings.Contains(got, want) {
			t.Errorf("the message lacks %q: %s", want, got)
		}
	}
	if len(got) > 4<<10 {
		t.Errorf("the message has %d bytes", len(got))
	}
	many := `{"k0":"` + long + `"`
	for range 1000 {
		many += `,"` + strings.Repeat("k", len(many)%50+1) + string(rune('a'+len(many)%26)) + strings.Repeat("i", len(many)%97) + `":1`
	}
	// A key that is there twice is refused before: this one is for its length.
	if v, err := canon.Skim([]byte(many + "}")); err != nil {
		t.Fatal(err)
	} else if got := approvalMessage(&interlock.Approval{Args: v}); !strings.Contains(got, "and 969 more") || len(got) > 8<<10 {
		t.Errorf("the message has %d bytes: %s", len(got), got)
	}
	list := approvalMessage(&interlock.Approval{Args: parsed(t, `["`+long+`"]`)})
	if len(list) > 4<<10 || !strings.Contains(list, "not all of which are shown") {
		t.Errorf("the message has %d bytes: %s", len(list), list)
	}
}

// FuzzShown holds what is shown to what it promises: it is as long as it may be, and no character in it is unseen, begins
// another line or turns the direction of the text.
func FuzzShown(f *testing.F) {
	for _, seed := range []string{"plain", "\u202e", "a\nb", "\xff\xfe", "é…\U0001f600", "\U000e0041", strings.Repeat("é", 100)} {
		f.Add(seed, 16)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(4, most%1000)
		got := shown(text, most)
		if len(got) > 6*most+len("…") {
			t.Errorf("%q: %d bytes are shown, want at most %d", text, len(got), 6*most)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q is shown as %q", text, got)
			}
		}
	})
}
