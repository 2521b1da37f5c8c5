package gateway_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/gate"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// guarded is a real gate over a disk in memory.
type guarded struct {
	*gate.Gate
	disk *crashfs.FS
}

// openGate is a real gate that allows everything.
func openGate() *guarded { return gateWith("version: 2\ndefault: allow\n") }

// gateWith is a real gate with that policy.
func gateWith(text string) *guarded {
	g := &guarded{disk: crashfs.New()}
	g.disk.OwnDir("d")
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	claims, err := mutation.Open(g.disk, "d", func() (bool, error) { return false, nil })
	if err != nil {
		panic(err)
	}
	l, err := ledger.Open(g.disk, "d")
	if err != nil {
		panic(err)
	}
	g.Gate = gate.New(p, l, claims, slog.New(slog.DiscardHandler))
	return g
}

// records are what the ledger says: method, name, decision, outcome and rule of each record.
func (g *guarded) records(t *testing.T) []string {
	t.Helper()
	text, err := g.disk.ReadFile("d/" + ledger.FileName)
	if err != nil {
		t.Fatal(err)
	}
	var records []string
	err = ledger.Read(bytes.NewReader(text), func(line canon.Value) error {
		var parts []string
		for _, key := range []string{"method", "name", "principal", "decision", "outcome", "rule"} {
			if part, ok := line.Get(key).Text(); ok {
				parts = append(parts, part)
			}
		}
		records = append(records, strings.Join(parts, " "))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}
