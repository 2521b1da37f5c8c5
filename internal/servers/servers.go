// Package servers reads the mcpServers file that every MCP client has, and says what environment a server gets.
//
// The file is another program's: what it has besides servers is left alone, and said so. What is read of it is read
// strictly, and a server never runs with more of our environment than its entry names.
package servers

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/upstream"
)

const (
	maxFile    = 4 << 20 // bytes
	maxServers = 256
	maxName    = 64
	maxNotes   = 64
)

// File is what a servers file says.
type File struct {
	Servers []upstream.Config // in the file's order; those that are switched off are not among them
	Notes   []string          // what was passed over, each one line for the log
}

// Error says what is wrong with a servers file, and where.
type Error struct {
	File      string
	Line, Col int // 0 if the whole file is meant
	Msg       string
	Hint      string // what to do, or ""
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// Read reads a file such as .mcp.json and returns its servers in the file's order.
func Read(name string) ([]upstream.Config, error) {
	f, err := Load(name)
	if err != nil {
		return nil, err
	}
	return f.Servers, nil
}

// Load is Read, and says what was passed over. It fails where sallyports stand behind each other without an end.
func Load(name string) (*File, error) {
	if err := Nested(); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the servers: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the servers: %w", err)
	}
	return Parse(name, text, os.LookupEnv)
}

// Parse reads the text of a servers file. name is for errors, and its folder is where an entry's cwd begins; lookup finds
// the variables that entries name.
func Parse(name string, text []byte, lookup func(string) (string, bool)) (*File, error) {
	r := &reader{file: name, text: text, lookup: lookup}
	if len(text) > maxFile {
		return nil, r.errorf(canon.Value{}, "", "larger than %d MiB", maxFile>>20)
	}
	doc, err := canon.Parse(text)
	if err != nil {
		if e, ok := errors.AsType[*canon.Error](err); ok {
			line, col := canon.Place(text, e.Offset)
			return nil, &Error{name, line, col, e.Detail, "it must be JSON, without comments and without a key twice"}
		}
		return nil, err
	}
	entries, err := r.entries(doc)
	if err != nil {
		return nil, err
	}
	for name, v := range entries.Members() {
		config, ok, err := r.entry(name, v)
		switch {
		case err != nil:
			return nil, err
		case ok && len(r.out.Servers) == maxServers:
			return nil, r.errorf(v, "", "more than %d servers", maxServers)
		case ok:
			r.out.Servers = append(r.out.Servers, config)
		}
	}
	if len(r.out.Servers) == 0 {
		return nil, r.errorf(entries, `an entry looks like "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "DIR"]}`, "it names no server that is switched on")
	}
	return &r.out, nil
}

// reader reads one file.
type reader struct {
	file   string
	text   []byte
	lookup func(string) (string, bool)
	out    File
}

func (r *reader) errorf(at canon.Value, hint, format string, args ...any) error {
	e := &Error{File: r.file, Msg: fmt.Sprintf(format, args...), Hint: hint}
	if at.Exists() {
		e.Line, e.Col = canon.Place(r.text, at.OffsetIn(r.text))
	}
	return e
}

func (r *reader) note(format string, args ...any) {
	if len(r.out.Notes) < maxNotes {
		r.out.Notes = append(r.out.Notes, fmt.Sprintf(format, args...))
	}
}

// entries finds the object of servers: under mcpServers, or under servers as VS Code has it.
func (r *reader) entries(doc canon.Value) (canon.Value, error) {
	if doc.Kind() != canon.Object {
		return doc, r.errorf(doc, "", "it must be an object")
	}
	var found canon.Value
	for key, v := range doc.Members() {
		switch {
		case key != "mcpServers" && key != "servers":
			r.note("%s is another program's key and is passed over", quote(key))
		case found.Exists():
			return doc, r.errorf(v, "leave one of the two", "both mcpServers and servers")
		case v.Kind() != canon.Object:
			return doc, r.errorf(v, "", "%s must be an object of servers", key)
		default:
			found = v
		}
	}
	if !found.Exists() {
		return doc, r.errorf(doc, `the servers stand under "mcpServers", or under "servers" as VS Code has it`, "it has no mcpServers")
	}
	return found, nil
}

// nameLetters are the characters of servers' names.
const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// CheckName reports what is wrong with a server's name. The first __ of SERVER__TOOL must be where the server ends: with a
// server "a_" beside a server "a", the pattern "a__*" would be about both.
func CheckName(name string) error {
	switch {
	case name == "" || len(name) > maxName || strings.Trim(name, nameLetters) != "":
		return fmt.Errorf("a server's name has 1 to %d of the characters A-Z, a-z, 0-9, _, . and -", maxName)
	case strings.Contains(name, "__"):
		return errors.New("a server's name has no __: that stands between server and tool")
	case strings.HasSuffix(name, "_"):
		return errors.New("a server's name does not end with _: __ stands between server and tool")
	}
	return nil
}

// fields are the members of an entry.
type fields struct {
	command, cwd, url, kind string
	args                    []string
	env, headers            map[string]string
	at                      map[string]canon.Value
	off                     bool
}

// entry reads a server; not ok where it is switched off.
func (r *reader) entry(name string, v canon.Value) (config upstream.Config, ok bool, err error) {
	if err := CheckName(name); err != nil {
		return config, false, r.errorf(v, "give the entry another name", "%s: %v", quote(name), err)
	}
	if v.Kind() != canon.Object {
		return config, false, r.errorf(v, "", "server %s must be an object", name)
	}
	f := fields{at: map[string]canon.Value{}}
	for key, member := range v.Members() {
		if err := r.field(name, &f, key, member); err != nil {
			return config, false, err
		}
	}
	if f.off {
		r.note("server %s is switched off", name)
		return config, false, nil
	}
	if err := r.transport(name, v, &f); err != nil {
		return config, false, err
	}
	config = upstream.Config{Name: name}
	if f.url != "" {
		config.URL, config.Header, err = r.remote(name, &f)
		return config, err == nil, err
	}
	return r.local(name, v, &f)
}

// field reads one member of an entry.
func (r *reader) field(server string, f *fields, key string, v canon.Value) (err error) {
	f.at[key] = v
	switch key {
	case "command":
		f.command, err = r.string(server, key, v)
	case "cwd":
		f.cwd, err = r.string(server, key, v)
	case "type", "transport":
		if f.kind != "" {
			return r.errorf(v, "", "server %s: both type and transport", server)
		}
		f.kind, err = r.string(server, key, v)
	case "url", "httpUrl", "serverUrl":
		if f.url != "" {
			return r.errorf(v, "leave one of them", "server %s has two addresses", server)
		}
		if f.url, err = r.string(server, key, v); err == nil && f.url == "" {
			err = r.errorf(v, "", "server %s: %s is empty", server, key)
		}
		f.at["url"] = v
	case "args":
		f.args, err = r.strings(server, key, v)
	case "env":
		f.env, err = r.table(server, key, v)
	case "headers":
		f.headers, err = r.table(server, key, v)
	case "disabled", "enabled":
		is, ok := v.Bool()
		if !ok {
			return r.errorf(v, "", "server %s: %s must be true or false", server, key)
		}
		f.off = f.off || is == (key == "disabled")
	default:
		r.note("server %s: %s is another program's key and is passed over", server, quote(key))
	}
	return err
}

// transport says whether an entry's parts fit each other.
func (r *reader) transport(server string, v canon.Value, f *fields) error {
	var remote bool
	switch f.kind {
	case "":
		remote = f.url != ""
	case "stdio", "local":
	case "http", "streamable-http", "streamableHttp", "streamable_http":
		remote = true
	case "sse":
		return r.errorf(f.at["type"], `if the server speaks streamable HTTP too, give that address and "type": "http"`, "server %s: the SSE transport of 2024-11-05 is not supported", server)
	default:
		return r.errorf(v, "type is stdio or http", "server %s: unknown type %s", server, quote(f.kind))
	}
	switch {
	case f.command != "" && f.url != "":
		return r.errorf(v, "leave one of the two", "server %s has both a command and an address", server)
	case remote && f.url == "":
		return r.errorf(v, "give it a url", "server %s has no address", server)
	case !remote && f.command == "":
		return r.errorf(v, "give it a command or a url", "server %s has no command", server)
	case remote && (f.args != nil || f.env != nil || f.cwd != ""):
		r.note("server %s is reached by its address: its args, env and cwd are passed over", server)
	case !remote && f.headers != nil:
		r.note("server %s is a process: its headers are passed over", server)
	}
	return nil
}

func (r *reader) local(name string, v canon.Value, f *fields) (upstream.Config, bool, error) {
	config := upstream.Config{Name: name, Command: f.command, Args: f.args, Dir: f.cwd}
	for _, word := range append([]string{f.command, f.cwd}, f.args...) {
		if strings.ContainsRune(word, 0) {
			return config, false, r.errorf(v, "", "server %s: a NUL character in its command", name)
		}
	}
	if runsUs(f.command, f.args) {
		return config, false, r.errorf(f.at["command"], "name the server that is behind it, without sallyport in front", "server %s runs sallyport itself", name)
	}
	for key, value := range f.env {
		switch {
		case key == "" || strings.ContainsAny(key, "=\x00") || strings.ContainsRune(value, 0):
			return config, false, r.errorf(f.at["env"], "", "server %s: %s cannot be in an environment", name, quote(key))
		case ours(key):
			return config, false, r.errorf(f.at["env"], "", "server %s: %s is for sallyport itself", name, key)
		}
	}
	if config.Dir != "" && !filepath.IsAbs(config.Dir) {
		folder, err := filepath.Abs(filepath.Dir(r.file))
		if err != nil {
			return config, false, err
		}
		config.Dir = filepath.Join(folder, config.Dir)
	}
	config.Env = Environment(f.env)
	return config, true, nil
}

// runsUs reports whether a command is sallyport itself, where that can be seen. Where it cannot, Nested ends the loop.
func runsUs(command string, args []string) bool {
	is := func(word string) bool { return strings.TrimSuffix(filepath.Base(word), ".exe") == "sallyport" }
	if is(command) {
		return true
	}
	for _, word := range args {
		if launches(command) && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return is(word)
		}
	}
	return false
}

// launches reports whether a program runs the one that its words name.
func launches(command string) bool {
	switch filepath.Base(command) {
	case "env", "sudo", "nice", "nohup", "exec", "npx", "bunx", "uvx", "doas", "setsid", "stdbuf", "time":
		return true
	}
	return false
}

func (r *reader) remote(name string, f *fields) (string, http.Header, error) {
	at := f.at["url"]
	u, err := url.Parse(f.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
		return "", nil, r.errorf(at, "it begins with https:// or http://", "server %s: its address is no http address", name)
	}
	if u.User != nil {
		return "", nil, r.errorf(at, `put them into "headers", such as "Authorization": "Bearer ${TOKEN}"`, "server %s: a name or a password within its address", name)
	}
	header := http.Header{}
	for key, value := range f.headers {
		if err := AddHeader(header, key, value); err != nil {
			return "", nil, r.errorf(f.at["headers"], "", "server %s: %v", name, err)
		}
	}
	if u.Scheme == "http" && len(header) > 0 && !loopback(u.Hostname()) {
		r.note("server %s: its headers go over the network unencrypted", name)
	}
	return f.url, header, nil
}

// AddHeader adds a header that every request to a server is to have. It refuses one that cannot be sent as it is, one that
// is there already, and one that the transport sets itself.
func AddHeader(to http.Header, key, value string) error {
	canonical := http.CanonicalHeaderKey(key)
	switch {
	case !validHeader(key, value):
		return fmt.Errorf("the header %s cannot be sent as it is", quote(key))
	case ownHeader(canonical):
		return fmt.Errorf("the header %s is for sallyport to set", canonical)
	case to[canonical] != nil:
		return fmt.Errorf("the header %s is there twice", canonical)
	}
	to[canonical] = []string{value}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func validHeader(key, value string) bool {
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return key != "" && strings.Trim(key, token) == "" && strings.IndexFunc(value, control) < 0
}

// ownHeader reports whether a header is the transport's own business.
func ownHeader(canonical string) bool {
	switch canonical {
	case "Host", "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Last-Event-Id", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name":
		return true
	}
	return strings.HasPrefix(canonical, "Mcp-Param-")
}
