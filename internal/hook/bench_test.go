package hook

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkLargeWrite judges a Write of 6 MB, from its bytes to its record.
func BenchmarkLargeWrite(b *testing.B) {
	p := newPlace(b, testPolicy)
	text := p.event("PreToolUse", "Edit", `{"file_path":"/w/a.txt","new_string":"@@"}`)
	text = strings.Replace(text, "@@", strings.Repeat("a line of text with some words\\n", 6_000_000/33), 1)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p.run(Options{Deadline: 20 * time.Second}, System{Stdin: strings.NewReader(text)})
	}
}

// BenchmarkCall is a short call, from its bytes to its record.
func BenchmarkCall(b *testing.B) {
	p := newPlace(b, testPolicy)
	text := p.event("PreToolUse", "Bash", `{"command":"go test ./... && git status"}`)
	for b.Loop() {
		p.run(Options{Deadline: 20 * time.Second}, System{Stdin: strings.NewReader(text)})
	}
}

// BenchmarkAfterWrite is the event after a short write that nobody asks to be verified, BenchmarkVerifiedWrite one that is.
func BenchmarkAfterWrite(b *testing.B)    { benchmarkAfter(b, testPolicy) }
func BenchmarkVerifiedWrite(b *testing.B) { benchmarkAfter(b, contentPolicy) }

func benchmarkAfter(b *testing.B, policyText string) {
	v := newVerified(b, "claude")
	v.write(v.policy, policyText)
	v.file("a", "x")
	text := strings.ReplaceAll(`{"session_id":"s-1","cwd":"@","hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"@/a","content":"x"}}`, "@", v.dir)
	for b.Loop() {
		v.run(Options{Deadline: 20 * time.Second}, System{Stdin: strings.NewReader(text)})
	}
	if len(v.stopped()) > 0 {
		b.Fatal(v.stopped())
	}
}
