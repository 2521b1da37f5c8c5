// Command upstream is a small MCP server on stdin and stdout, in both eras, for the bench to put things in front of. Its
// tools:
//
//	read     {"size": N}          answers with N bytes
//	keep     {"request_id": ID}   counts, and answers with the count
//	hold     {}                   is answered when release is called
//	held     {}                   answers with how many calls are held
//	release  {}                   answers all of them, then itself
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"sallyport/internal/canon"
)

func main() {
	s := server{out: bufio.NewWriterSize(os.Stdout, 128<<10)}
	if err := s.serve(bufio.NewReaderSize(os.Stdin, 128<<10)); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// server is what the upstream remembers.
type server struct {
	out  *bufio.Writer
	kept int
	held [][]byte // ids
}

func (s *server) serve(in *bufio.Reader) error {
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return s.out.Flush()
		}
		if err != nil {
			return err
		}
		m, err := canon.Parse(line)
		if err != nil {
			return err
		}
		if id := m.Get("id"); id.Exists() && m.Get("method").Exists() {
			s.request(id.Bytes(), m)
		}
		if in.Buffered() == 0 {
			if err := s.out.Flush(); err != nil {
				return err
			}
		}
	}
}

const (
	serverInfo = `"serverInfo":{"name":"upstream","version":"1"}`
	tools      = `[{"name":"read","inputSchema":{"type":"object","properties":{"size":{"type":"integer"}}}},` +
		`{"name":"keep","inputSchema":{"type":"object","properties":{"request_id":{"type":"string"}},"required":["request_id"]}},` +
		`{"name":"hold","inputSchema":{"type":"object"}},{"name":"held","inputSchema":{"type":"object"}},` +
		`{"name":"release","inputSchema":{"type":"object"}}]`
)

// request answers one request.
func (s *server) request(id []byte, m canon.Value) {
	switch method, _ := m.Get("method").Text(); method {
	case "initialize":
		s.answer(id, `"protocolVersion":"2025-11-25","capabilities":{"tools":{}},`+serverInfo)
	case "server/discover":
		s.answer(id, `"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,`+
			`"cacheScope":"private","_meta":{"io.modelcontextprotocol/`+serverInfo[1:]+`}`)
	case "tools/list":
		s.answer(id, `"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":`+tools)
	case "tools/call":
		s.call(id, m.Get("params"))
	default:
		fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", id)
	}
}

func (s *server) call(id []byte, params canon.Value) {
	switch name, _ := params.Get("name").Text(); name {
	case "read":
		size, _ := params.Get("arguments").Get("size").Int()
		s.text(id, bytes.Repeat([]byte("x"), int(max(size, 0))))
	case "keep":
		s.kept++
		s.text(id, strconv.AppendInt(nil, int64(s.kept), 10))
	case "hold":
		s.held = append(s.held, bytes.Clone(id))
	case "held":
		s.text(id, strconv.AppendInt(nil, int64(len(s.held)), 10))
	case "release":
		for _, held := range append(s.held, id) {
			s.text(held, []byte("released"))
		}
		s.held = nil
	default:
		fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such tool"}}`+"\n", id)
	}
}

// text answers a call with a text that needs no escapes.
func (s *server) text(id, text []byte) {
	fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":"`, id)
	s.out.Write(text)
	s.out.WriteString("\"}]}}\n")
}

// answer gives a result of these members.
func (s *server) answer(id []byte, members string) {
	fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"result":{%s}}`+"\n", id, members)
}
