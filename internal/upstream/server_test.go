//go:build unix

package upstream

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/internal/canon"
)

// The test binary is also the server that the tests start: what it does is named by this variable.
const serverVariable = "SALLYPORT_TEST_SERVER"

func TestMain(m *testing.M) {
	switch does := os.Getenv(serverVariable); does {
	case "":
		os.Exit(m.Run())
	case "keeper":
		keepAndWait()
	case "stubborn":
		beStubborn()
	default:
		serve(does)
	}
}

// self is this test binary as a server that does that.
func self(t testing.TB, does string, more ...string) Config {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Name: "fake", Command: path, Env: append([]string{serverVariable + "=" + does}, more...),
		ProbeTimeout: 30 * time.Second, // the machine may be slow
	}
}

// serve answers requests on stdin: the method says how.
func serve(does string) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		v, err := canon.Parse(line)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(9)
		}
		method, _ := v.Get("method").Text()
		if !answerHandshake(does, method, v) {
			answer(method, v)
		}
	}
}

func reply(v canon.Value, member string) {
	if _, err := fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", v.Get("id").Bytes(), member); err != nil {
		os.Exit(8)
	}
}

// answerHandshake reports whether it dealt with the request as a server of that kind.
func answerHandshake(does, method string, v canon.Value) bool {
	const (
		discovered  = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`
		initialized = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":%s,"version":"1"}}`
		unsupported = `"error":{"code":-32022,"message":"unsupported","data":{"supported":%s,"requested":"2026-07-28"}}`
	)
	if method == methodInitialize && does != "modern only" && does != "dies at initialize" {
		if strings.HasPrefix(does, "speaks ") {
			reply(v, `"result":{"protocolVersion":"`+strings.TrimPrefix(does, "speaks ")+`"}`)
			return true
		}
		reply(v, fmt.Sprintf(initialized, v.Get("id").Bytes()))
		return true
	}
	if method == methodInitialize && does == "modern only" {
		reply(v, fmt.Sprintf(unsupported, `["2026-07-28"]`))
		return true
	}
	if method == methodInitialize {
		os.Exit(4)
	}
	if method != methodDiscover {
		return false
	}
	switch kind, data, _ := strings.Cut(does, " with "); {
	case does == "modern":
		reply(v, discovered)
	case does == "modern only": // and slow at first
		if string(v.Get("id").Bytes()) == `"sallyport-handshake-1"` {
			time.Sleep(3 * time.Second)
		}
		reply(v, discovered)
	case does == "exits on probe", does == "dies at initialize":
		os.Exit(3)
	case does == "silent on probe":
	case does == "empty":
		reply(v, `"result":{}`)
	case kind == "unsupported":
		reply(v, fmt.Sprintf(unsupported, data))
	case kind == "error":
		reply(v, `"error":{"code":`+data+`,"message":"no\u001b[31m"}`)
	case kind == "supports":
		reply(v, `"result":{"supportedVersions":`+data+`}`)
	default:
		reply(v, `"error":{"code":-32601,"message":"Method not found"}`)
	}
	return true
}

// answer does what the method says.
func answer(method string, v canon.Value) {
	switch name, argument, _ := strings.Cut(method, ":"); name {
	case "echo":
		reply(v, `"result":`+string(v.Get("params").Bytes()))
	case "hang":
	case "exit":
		code, _ := strconv.Atoi(argument)
		os.Exit(code)
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "close":
		os.Stdout.Close()
		time.Sleep(time.Hour)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		reply(v, `"result":{}`)
		time.Sleep(time.Hour)
	case "orphan":
		reply(v, `"result":`+strconv.Itoa(startStubborn()))
	case "stderr":
		n, _ := strconv.Atoi(argument)
		for i := range n {
			fmt.Fprintf(os.Stderr, "line %d \x1b[31m\u202eof stderr\n", i)
		}
		reply(v, `"result":{}`)
	case "world":
		dir, _ := os.Getwd()
		group := syscall.Getpgrp()
		flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, 0, syscall.F_GETFL, 0)
		text, err := json.Marshal(map[string]any{
			"env": os.Environ(), "dir": dir, "args": os.Args[1:], "leads": group == os.Getpid(),
			"nonblocking": flags&syscall.O_NONBLOCK != 0,
		})
		if err != nil {
			os.Exit(7)
		}
		reply(v, `"result":`+string(text))
	}
}

// startStubborn starts a process in our group that minds neither the end of its input nor SIGTERM, and returns its number.
func startStubborn() int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{serverVariable + "=stubborn"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // so that it holds our pipes as well
	ready, says, err := os.Pipe()
	if err == nil {
		cmd.ExtraFiles = []*os.File{says}
		err = cmd.Start()
	}
	if err == nil {
		_, err = ready.Read(make([]byte, 1)) // until it ignores signals
	}
	if err != nil {
		os.Exit(6)
	}
	return cmd.Process.Pid
}

func beStubborn() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if _, err := os.NewFile(3, "ready").WriteString("!"); err != nil {
		os.Exit(6)
	}
	time.Sleep(time.Minute)
}

// keepAndWait is a gateway that starts a server which starts a process, tells both their numbers, and waits to be killed.
func keepAndWait() {
	s := New(Config{Name: "kept", Command: os.Args[0], Env: []string{serverVariable + "=legacy"}})
	link, err := s.Open(contextOfProcess(), nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(5)
	}
	m, err := link.Call(contextOfProcess(), parsed(`{"jsonrpc":"2.0","id":1,"method":"orphan"}`))
	if err != nil {
		fmt.Println(err)
		os.Exit(5)
	}
	fmt.Println(link.(*conducted).Link.(*conversation).process.cmd.Process.Pid, string(m.Result.Bytes()))
	select {}
}
