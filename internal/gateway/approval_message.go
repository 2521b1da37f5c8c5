package gateway

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sallyport/internal/bridge"
	"sallyport/internal/canon"
	"sallyport/internal/interlock"
)

// The bounds of what is shown to a person who is to agree to a call, in bytes before anything is escaped.
const (
	maxShownArgs    = 2 << 10
	maxShownMembers = 32 // of arguments that are too long to be shown whole
	maxShownText    = 512
)

// approvalMessage says to a person what a call is, so that it can be agreed to. What comes from the caller stands behind
// what does not, on lines of its own, and can neither begin another line nor turn the direction of the text.
func approvalMessage(a *interlock.Approval) string {
	var b strings.Builder
	b.WriteString("sallyport: the policy asks a person before this call is made.\n")
	line := func(name, text string) { fmt.Fprintf(&b, "%s: %s\n", name, shown(text, maxShownText)) }
	if a.Reason != "" {
		line("Why", a.Reason)
	}
	switch {
	case a.Method == "" || a.Method == toolList.use:
		line("Tool", a.Tool)
	default:
		line("Request", strings.TrimSpace(a.Method+" "+a.Tool))
	}
	if a.Upstream != "" {
		line("Server", a.Upstream)
	}
	line("Approval", a.ID)
	fmt.Fprintf(&b, "Arguments: %s", shownArgs(a))
	return b.String()
}

// shownArgs are the arguments of a call in their canonical spelling, or as they stand where they have none. Where not all
// can be shown the message says so, with the digest by which the call is known, and has a part of each, so that none can
// hide behind another.
func shownArgs(a *interlock.Approval) string {
	args := a.Args
	if a.Method != "" && a.Method != toolList.use {
		args = withoutMeta(args)
	}
	if !args.Exists() {
		return "none, or too long to be shown here (SHA-256 " + a.Digest + ")"
	}
	text := spelt(args)
	if len(text) <= maxShownArgs {
		return shown(text, maxShownArgs)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d bytes, not all of which are shown (SHA-256 %s)", len(text), a.Digest)
	if args.Kind() != canon.Object {
		fmt.Fprintf(&b, "\n%s", shown(text, maxShownArgs))
		return b.String()
	}
	count := 0
	for range args.Members() {
		count++
	}
	share := maxShownArgs / min(count, maxShownMembers)
	left := count
	for key, value := range args.Members() {
		if count-left == maxShownMembers {
			fmt.Fprintf(&b, "\nand %d more", left)
			break
		}
		left--
		fmt.Fprintf(&b, "\n  %s: %s", shown(string(canon.AppendString(nil, key)), share), shown(spelt(value), share))
	}
	return b.String()
}

// spelt is a value in its canonical spelling, or as it stands where it has none.
func spelt(v canon.Value) string {
	text, err := v.AppendCanonical(nil)
	if err != nil {
		text = v.Bytes()
	}
	return string(text)
}

// withoutMeta is params without what is not about the request itself.
func withoutMeta(params canon.Value) canon.Value {
	if params.Kind() != canon.Object {
		return params
	}
	rest, _ := bridge.Without(params, func(key string) bool { return key == "_meta" })
	v, err := canon.Parse(rest)
	if err != nil {
		return params
	}
	return v
}

// shown is a text of somebody else's as a person can read it: no longer than most bytes, and with every character that
// cannot be seen, or that changes how others are seen, written as JSON would escape it.
func shown(text string, most int) string {
	cut := len(text) > most
	if cut {
		for text = text[:most]; !utf8.ValidString(text) && len(text) > most-utf8.UTFMax; {
			text = text[:len(text)-1]
		}
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case visible(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if cut {
		b.WriteString("…")
	}
	return b.String()
}

// visible reports whether a character is one that a person sees, where it stands. Control and format characters, those for
// the direction of text among them, separators but for the space, and what is drawn as nothing are not.
func visible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		r != utf8.RuneError && r != 0x2800 // BRAILLE PATTERN BLANK
}
