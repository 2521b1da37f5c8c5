package gate

import (
	"errors"
	"fmt"
	"io"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

// originPlan is the origin of what a plan's runner does.
const originPlan = "plan"

// Step is what a plan's runner decided.
type Step struct {
	Method    string // MethodStep, or MethodUndo
	Plan      string // SHA-256 of the plan
	Run, Step string
	Tool      string // that the step calls; of MethodUndo: that undoes it
	RequestID string // the argument request_id of the call, if it has one
	Verdict   string // CONTINUE, STOP or ROLLBACK; "" of MethodUndo
	Undone    bool   // of MethodUndo: what remained is as it should be
	Args      string // SHA-256 of the call's canonical arguments
	Expected  string // SHA-256 of the condition and what it was told
	Observed  string // SHA-256 of what was observed, "" where nothing could be
	Untouched bool   // the call was certainly not carried out
	Reason    string // in words, without arguments
}

// NoteStep makes a decision of a plan's runner durable, as made for a caller.
func (g *Gate) NoteStep(c Caller, s Step) error {
	if s.Method != MethodStep && s.Method != MethodUndo {
		return fmt.Errorf("recording a step under the method %q: there is no such method for it", s.Method)
	}
	rec := g.planRecord(c, s.Method, s.Plan, s.Run, s.Step, s.Tool)
	rec.Verdict, rec.Expected, rec.ObservedSum, rec.Reason = s.Verdict, s.Expected, s.Observed, s.Reason
	if s.RequestID != "" {
		rec.RequestID = s.RequestID
	}
	if s.Args != "" {
		rec.ArgsDigest = s.Args
	}
	switch {
	case s.Method == MethodUndo && !s.Undone:
		rec.Outcome = ledger.Failed
	case s.Observed == "" && s.Untouched:
		rec.Outcome = ledger.NotExecuted
	case s.Observed == "":
		rec.Outcome = ledger.Inconclusive
	}
	return g.ledger.Append(rec)
}

// NoteProof makes durable that a step was rehearsed: call, observation, undo and observation came out as they should. The
// proof is the SHA-256 of the tool, the undo and the conditions.
func (g *Gate) NoteProof(c Caller, proof, plan, run, step, tool string) error {
	if proof == "" {
		return errors.New("recording a rehearsal without its proof")
	}
	rec := g.planRecord(c, MethodRehearse, plan, run, step, tool)
	rec.Proof = proof
	return g.ledger.Append(rec)
}

// planRecord is a record of something that a plan's runner observed.
func (g *Gate) planRecord(c Caller, method, plan, run, step, tool string) *ledger.Record {
	return &ledger.Record{
		RequestID:    ledger.Missing,
		Method:       method,
		Name:         tool,
		Decision:     policy.Allow.String(),
		Outcome:      ledger.Observed,
		ArgsDigest:   emptyDigest,
		PolicyDigest: g.policy.Load().Digest(),
		Principal:    c.Principal,
		Tenant:       c.Tenant,
		Origin:       originPlan,
		Plan:         plan,
		Run:          run,
		Step:         step,
	}
}

// Proven returns when a proof was last recorded, in a ledger that verifies; the zero time if it never was. It reads all of
// the ledger, and keeps nobody from writing meanwhile.
func (g *Gate) Proven(proof string) (time.Time, error) {
	var last time.Time
	err := g.ledger.View(func(r io.ReaderAt, end int64) error {
		var err error
		last, err = provenIn(io.NewSectionReader(r, 0, end), proof)
		return err
	})
	return last, err
}

// provenIn is Proven of a ledger's text. What a chain does not vouch for proves nothing.
func provenIn(text *io.SectionReader, proof string) (time.Time, error) {
	verdict, err := ledger.Verify(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("verifying the ledger: %w", err)
	}
	if !verdict.OK {
		return time.Time{}, fmt.Errorf("the ledger does not verify from line %d on, so it proves nothing: run sallyport verify", verdict.FirstBadLine)
	}
	if _, err := text.Seek(0, io.SeekStart); err != nil {
		return time.Time{}, err
	}
	var last time.Time
	err = ledger.Read(text, func(line canon.Value) error {
		method, _ := line.Get("method").Text()
		found, _ := line.Get("proof").Text()
		if method != MethodRehearse || found != proof || proof == "" {
			return nil
		}
		if ts, ok := line.Get("ts").Int(); ok && time.Unix(0, ts).After(last) {
			last = time.Unix(0, ts)
		}
		return nil
	})
	return last, err
}
