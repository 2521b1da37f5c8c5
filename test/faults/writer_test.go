//go:build linux

package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/gate"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/notes"
	"sallyport/internal/policy"
)

// The environment that makes this test binary the writer: the ledger folder, and from where on
// its system calls are of interest: from the "start" or from the "call".
const (
	writerDir  = "FAULTS_WRITER_DIR"
	writerFrom = "FAULTS_WRITER_FROM"
)

// What the writer writes. laterID is written once the faults are over.
const (
	theID, theText     = "request-1", "the note's text"
	laterID, laterText = "request-2", "written by the same process afterwards"
)

// The marks that the writer leaves in a trace: system calls that do nothing.
const (
	markBegin = "/faults/begin"
	markEnd   = "/faults/end"
)

func mark(name string) { syscall.Access(name, 0) }

// writer does what a server does, from its start to the answer of a call and its end, on one
// thread, and prints the answers of two calls.
func writer(dir, from string) int {
	if from == "start" {
		mark(markBegin)
	}
	s, err := openStores(dir)
	if err != nil {
		fmt.Println("start: " + err.Error())
		return 1
	}
	if from == "call" {
		mark(markBegin)
	}
	fmt.Println("first: " + s.writeNote(theID, theText))
	mark(markEnd)
	fmt.Println("later: " + s.writeNote(laterID, laterText))
	return 0
}

// stores is a server without its pipes: the gate over the stores of a ledger folder.
type stores struct {
	gate   *gate.Gate
	tools  []*gate.Tool
	ledger *ledger.Ledger
	claims *mutation.Claims

	mended error // what could not be settled or swept up; a server goes on, and so does the writer
}

// openStores does what serve does when it starts, and mends what crashes left.
func openStores(dir string) (*stores, error) {
	if err := durable.OS.OwnDir(dir); err != nil {
		return nil, err
	}
	n, err := notes.Open(durable.OS, dir)
	if err != nil {
		return nil, err
	}
	claims, err := mutation.Open(durable.OS, dir, func() (bool, error) {
		held, err := ledger.HoldsMutations(filepath.Join(dir, ledger.FileName))
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return held, err
	})
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(durable.OS, dir)
	if err != nil {
		return nil, errors.Join(err, claims.Close())
	}
	s := &stores{
		gate:   gate.New(policy.Builtin(), l, claims, slog.New(slog.DiscardHandler)),
		tools:  n.Tools(),
		ledger: l,
		claims: claims,
	}
	s.gate.InTurn = true // the writer is followed on one thread
	s.mended = errors.Join(s.gate.Recover(context.Background(), s.tools), n.Sweep())
	return s, nil
}

// writeNote returns the status that a write_note was answered with, or "error: " and why.
func (s *stores) writeNote(id, text string) string {
	args, err := json.Marshal(map[string]string{"request_id": id, "text": text})
	if err != nil {
		return "error: " + err.Error()
	}
	v, err := canon.Parse(args)
	if err != nil {
		return "error: " + err.Error()
	}
	call := gate.Call{Caller: gate.Caller{Principal: "local"}, Name: "write_note", Tool: s.tools[0], Args: v}
	result, err := s.gate.Do(context.Background(), call)
	if err != nil {
		return "error: " + err.Error()
	}
	body, err := canon.Parse(result.Body)
	if err != nil {
		return "error: " + err.Error()
	}
	status, _ := body.Get("structuredContent").Get("status").Text()
	return status
}

func (s *stores) close() error { return errors.Join(s.claims.Close(), s.ledger.Close()) }
