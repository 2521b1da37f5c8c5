package wire

import (
	"bufio"
	"context"
	"io"
	"os"
	"testing"
	"time"
)

// BenchmarkRoundTrip asks over a pair of pipes and waits for the answer, and reports how much longer that takes than
// with a server that sends each line back as it is.
func BenchmarkRoundTrip(b *testing.B) {
	const line = `{"jsonrpc":"2.0","id":1,"method":"queued","params":{"name":"write_note","arguments":` +
		`{"request_id":"note-00000017","text":"Buy milk, eggs and a very long loaf of bread."}}}` + "\n"
	copying := func(r io.Reader, w io.Writer) {
		lines := bufio.NewReader(r)
		for {
			text, err := lines.ReadSlice('\n')
			if err != nil {
				return
			}
			w.Write(text)
		}
	}
	serving := func(r io.Reader, w io.Writer) {
		s := &Session{}
		s.Initialize("")
		if err := ServeLines(context.Background(), s, newEcho(), r, w, Options{}); err != nil {
			b.Error(err)
		}
	}
	ask := roundTrips(b, serving)
	copied := roundTrips(b, copying)
	var asked, floor time.Duration
	for b.Loop() {
		floor += copied(line)
		asked += ask(line)
	}
	b.ReportMetric(float64(asked.Nanoseconds())/float64(b.N), "ns/served")
	b.ReportMetric(asked.Seconds()/floor.Seconds(), "of-copying")
}

// roundTrips starts a server over pipes and returns a function that sends it a line and takes the time to its answer.
func roundTrips(b *testing.B, server func(io.Reader, io.Writer)) func(line string) time.Duration {
	r, in, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server(r, w)
	}()
	b.Cleanup(func() {
		in.Close()
		<-done
		for _, end := range []*os.File{r, out, w} {
			end.Close()
		}
	})
	answers := bufio.NewReader(out)
	return func(line string) time.Duration {
		began := time.Now()
		if _, err := io.WriteString(in, line); err != nil {
			b.Fatal(err)
		}
		if _, err := answers.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
}

func BenchmarkScan(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"write_note","arguments":` +
		`{"request_id":"note-00000017","text":"Buy milk, eggs and a very long loaf of bread.\nThen come home."},` +
		`"_meta":{"progressToken":17,"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Scan(line); err != nil {
			b.Fatal(err)
		}
	}
}
