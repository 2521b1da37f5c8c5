//go:build unix

package attacks_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A puppet is an upstream server that does what its call says. What it gets it writes to DIR/received as it came. DIR/era is
// "modern" for one of the newer era; DIR/METHOD with "-" for "/" is what it says to a method, as lines, in place of its own answer.
//
// Its tool "puppet" says the lines of the argument "say", in which $ID is the id of the request, waits for "wait"
// milliseconds before, and ends with "exit". Its tool "count" adds a line to DIR/effects.

type order struct {
	Say  []string `json:"say"`
	Wait int      `json:"wait"`
	Exit bool     `json:"exit"`
	Pad  int      `json:"pad"` // $PAD is as many letters
}

const puppetTools = `{"tools":[` +
	`{"name":"puppet","inputSchema":{"type":"object"}},` +
	`{"name":"count","inputSchema":{"type":"object"}},` +
	`{"name":"hidden","inputSchema":{"type":"object"}}]}`

func playPuppet(dir string) {
	received, err := os.OpenFile(filepath.Join(dir, "received"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_ = os.WriteFile(filepath.Join(dir, "environment"), []byte(strings.Join(os.Environ(), "\n")), 0o600)
	era, _ := os.ReadFile(filepath.Join(dir, "era"))
	out := make(chan []byte, 1000)
	go func() {
		for text := range out {
			_, _ = os.Stdout.Write(text)
		}
	}()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			_, _ = received.Write(line)
		}
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &m) != nil || m.Method == "" || len(m.ID) == 0 {
			continue
		}
		if own, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(m.Method, "/", "-"))); err == nil {
			out <- bytes.ReplaceAll(own, []byte("$ID"), m.ID)
			continue
		}
		say := func(format string, args ...any) { out <- []byte(fmt.Sprintf(format, args...) + "\n") }
		done := func(result string) { say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
		modern := string(era) == "modern"
		switch {
		case m.Method == "initialize" && !modern:
			done(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}},"serverInfo":{"name":"puppet","version":"1"}}`)
		case m.Method == "server/discover" && modern:
			done(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
		case m.Method == "tools/list":
			tools := puppetTools
			if modern {
				tools = strings.TrimSuffix(tools, "}") + `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
			}
			done(tools)
		case m.Method == "tools/call" && m.Params.Name == "puppet":
			var o order
			_ = json.Unmarshal(m.Params.Arguments, &o)
			id := string(m.ID)
			obey := func() {
				time.Sleep(time.Duration(o.Wait) * time.Millisecond)
				for _, text := range o.Say {
					text = strings.ReplaceAll(text, "$ID", id)
					if o.Pad > 0 {
						text = strings.ReplaceAll(text, "$PAD", strings.Repeat("x", o.Pad))
					}
					out <- []byte(text)
				}
				if o.Exit {
					time.Sleep(20 * time.Millisecond)
					os.Exit(3)
				}
			}
			if o.Wait > 0 {
				go obey()
			} else {
				obey()
			}
		case m.Method == "tools/call" && m.Params.Name == "count":
			f, _ := os.OpenFile(filepath.Join(dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			fmt.Fprintln(f, m.Params.Name)
			_ = f.Close()
			done(`{"content":[{"type":"text","text":"counted"}],"resultType":"complete"}`)
		case m.Method == "server/discover" || m.Method == "initialize":
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		default:
			done(`{"puppet":"did ` + m.Method + `"}`)
		}
	}
}
