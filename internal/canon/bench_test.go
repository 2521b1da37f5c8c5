package canon_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"sallyport/internal/canon"
)

// BenchmarkCheckObject reports how many lines a second are checked and hashed, as a share of how many are only hashed:
// the ceiling of any verifier, taken in the same run.
func BenchmarkCheckObject(b *testing.B) {
	chain, err := os.ReadFile("../../testdata/conformance/chains/valid-1000.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	for _, set := range []struct {
		name  string
		lines [][]byte
	}{
		{"records", records(1000)},
		{"chain", bytes.Split(bytes.TrimSpace(chain), []byte("\n"))},
	} {
		b.Run(set.name, func(b *testing.B) { benchmarkCheckObject(b, set.lines) })
	}
}

func benchmarkCheckObject(b *testing.B, lines [][]byte) {
	var (
		hashing, checking []time.Duration // of all lines, in each round
		sink              byte
		spans, size       int
	)
	visit := func(key, value []byte, start, end int) { spans += end - start }
	for b.Loop() {
		begin := time.Now()
		for _, line := range lines {
			sum := sha256.Sum256(line)
			sink ^= sum[0]
		}
		middle := time.Now()
		for _, line := range lines {
			if err := canon.CheckObject(line, visit); err != nil {
				b.Fatal(err)
			}
			sum := sha256.Sum256(line)
			sink ^= sum[0]
		}
		hashing = append(hashing, middle.Sub(begin))
		checking = append(checking, time.Since(middle))
	}
	for _, line := range lines {
		size += len(line)
	}
	// Medians, so that a round in which another process had the processor does not count.
	slices.Sort(hashing)
	slices.Sort(checking)
	hash, check, n := hashing[len(hashing)/2], checking[len(checking)/2], float64(len(lines))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(size)/n, "B/line")
	b.ReportMetric(float64(hash.Nanoseconds())/n, "ns/hash")
	b.ReportMetric(float64(check.Nanoseconds())/n, "ns/check+hash")
	b.ReportMetric(hash.Seconds()/check.Seconds(), "of-ceiling")
}

// records makes n lines like those of the ledger.
func records(n int) [][]byte {
	lines := make([][]byte, n)
	digest := func(what string, i int) string {
		sum := sha256.Sum256(fmt.Append(nil, what, i))
		return hex.EncodeToString(sum[:])
	}
	for i := range lines {
		lines[i] = fmt.Appendf(nil, `{"args_digest":"%s","decision":"allow","outcome":"committed","policy_sha256":"%s",`+
			`"prev_sha256":"%s","principal":"local","request_id":"note-%08d","seq":%d,"sha256":"%s","tool":"write_note",`+
			`"trace_id":"%s","ts":"2026-11-30T09:06:12.%06dZ","v":1}`,
			digest("args", i), digest("policy", 0), digest("line", i), i, i, digest("line", i+1), digest("trace", i)[:32], i)
	}
	return lines
}

func BenchmarkParse(b *testing.B) {
	message := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"write_note","arguments":` +
		`{"request_id":"note-00000017","text":"Buy milk, eggs and a very long loaf of bread.\nThen come home."},` +
		`"_meta":{"progressToken":17,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	large := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"write_note","arguments":{"text":"%s"}}}`,
		bytes.Repeat([]byte(`All work and no play.\n`), 100_000))
	for _, set := range []struct {
		name string
		text []byte
	}{
		{"message", message},
		{"record", records(1)[0]},
		{"large", large},
		{"keys", manyKeys(1_000_000)},
	} {
		b.Run(set.name, func(b *testing.B) {
			b.SetBytes(int64(len(set.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := canon.Parse(set.text); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(set.name+"/canonical", func(b *testing.B) {
			b.SetBytes(int64(len(set.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := canon.Canonical(set.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// manyKeys makes an object of n members, which are not in order.
func manyKeys(n int) []byte {
	text := []byte{'{'}
	for i := range n {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `"k%d":%d`, uint32(i)*2654435761, i)
	}
	return append(text, '}')
}
