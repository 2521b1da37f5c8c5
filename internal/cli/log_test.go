package cli

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestLogNeverWaitsForItsReader(t *testing.T) {
	r, w := io.Pipe()
	l := newLogWriter(w)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	start := time.Now()
	for range 1000 {
		if n, err := l.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("logging took %v although nobody reads", took)
	}
	l.close() // does not wait for ever
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(r)
		read <- string(text)
	}()
	for l.busy() {
		time.Sleep(time.Millisecond)
	}
	w.Close()
	text := <-read
	kept := strings.Count(text, "x\n")
	if kept < 256 || kept > 2*256+10 {
		t.Errorf("%d lines were kept", kept)
	}
	if !strings.Contains(text, " lines of the log were dropped, since nobody read it") {
		t.Error("nothing says that lines were dropped")
	}
}

func (l *logWriter) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.idle != nil
}
