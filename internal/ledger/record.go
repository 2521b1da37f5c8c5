package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"unicode/utf8"

	"sallyport/internal/canon"
)

// Outcome is what became of a call.
type Outcome string

const (
	Committed    Outcome = "committed"    // a mutation happened now
	Replay       Outcome = "replay"       // it had happened before; its answer was given again
	Observed     Outcome = "observed"     // something was read
	Forwarded    Outcome = "forwarded"    // a call without a key is about to be dispatched; or it was answered, and is not over
	Permitted    Outcome = "permitted"    // a hook's host was told that it may run the call
	NotExecuted  Outcome = "not_executed" // denied before anything was touched
	Asked        Outcome = "asked"        // a person was asked
	Conflict     Outcome = "conflict"     // the key stands for another mutation
	InFlight     Outcome = "in_flight"    // another process is at it
	Failed       Outcome = "failed"       // it definitely did not happen
	Inconclusive Outcome = "inconclusive" // nobody can know whether it happened
)

// Missing stands for a request_id where a call has none.
const Missing = "missing"

// maxText is how much of a caller's own text, in bytes, goes into a record. Longer text is cut
// and its whole SHA-256 put beside it.
const maxText = 1024

// Record is one decision. Empty optional fields are left out of the line; Append adds ts, the
// time in nanoseconds since the epoch, and the links of the chain.
type Record struct {
	RequestID    string  // "missing" where there is none
	Method       string  // JSON-RPC method, such as "tools/call"
	Name         string  // tool
	Decision     string  // allow, deny, ask
	Outcome      Outcome //
	ArgsDigest   string  // SHA-256 of the canonical arguments
	PolicyDigest string  // SHA-256 of the policy that decided
	Principal    string  // who asked
	Rule         string  // optional: which rule decided
	Attempt      string  // optional: the attempt at a mutation; unique
	Host         string  // optional: the host of a hook, such as "claude"
	Session      string  // optional: the host's session
	Effects      []byte  // optional: a canonical JSON object, the summary of what the call would do
	Observed     string  // optional: what rules in mode observe would have decided
	ObservedRule string  // optional: the first of those rules
	Corrects     bool    // the host was told this, and the record before it of this request_id says something else
	TraceID      string  // optional: W3C trace id
	Reason       string  // optional: in words, where a person decided, or a request was refused before it was a call
	Recovered    bool    // written after a crash for an effect from before it
	Tenant       string  // optional: of the principal
	Upstream     string  // optional: the server behind us that the call was for
	Origin       string  // optional: who else than a client made the call: "verify", "plan"
	Approval     string  // optional: the approval by which it may happen, or that it is about
	Verdict      string  // optional: CONTINUE, STOP or ROLLBACK, after what remained was looked at
	Expected     string  // optional: SHA-256 of what should have been observed (a condition with its values)
	ObservedSum  string  // optional: SHA-256 of what was observed
	Plan         string  // optional: SHA-256 of a plan
	Run          string  // optional: the run of it
	Scope        string  // optional: of a release: the principal whose mutations were held back
	Step         string  // optional: the step's id
	Proof        string  // optional: SHA-256 of what was rehearsed
	TornFile     string  // optional: a torn tail was set aside there, beside the ledger
	TornBytes    int64   //
}

// entry is a record's line but for the three members that only the moment of appending knows:
// prev_sha256, sha256 and ts. Each part ends with a comma, or is empty.
type entry struct {
	beforePrev, beforeHash, beforeTime, afterTime []byte
}

// encode spells a record's members in code-point order of their keys, which is the canonical one.
func (r *Record) encode() entry {
	buf := make([]byte, 0, 512)
	buf = optional(buf, "approval", r.Approval)
	buf = member(buf, "args_digest", r.ArgsDigest)
	buf = optional(buf, "attempt", r.Attempt)
	if r.Corrects {
		buf = append(buf, `"corrects":true,`...)
	}
	buf = member(buf, "decision", r.Decision)
	if len(r.Effects) > 0 {
		buf = append(buf, `"effects":`...)
		buf = append(buf, r.Effects...)
		buf = append(buf, ',')
	}
	buf = optional(buf, "expected_digest", r.Expected)
	buf = optional(buf, "host", r.Host)
	buf = member(buf, "method", r.Method)
	buf = text(buf, "name", r.Name)
	buf = optional(buf, "observed", r.Observed)
	buf = optional(buf, "observed_digest", r.ObservedSum)
	buf = optional(buf, "observed_rule", r.ObservedRule)
	buf = optional(buf, "origin", r.Origin)
	buf = member(buf, "outcome", string(r.Outcome))
	buf = optional(buf, "plan", r.Plan)
	buf = member(buf, "policy_digest", r.PolicyDigest)
	prev := len(buf)
	buf = member(buf, "principal", r.Principal)
	buf = optional(buf, "proof", r.Proof)
	if r.Reason != "" {
		buf = text(buf, "reason", r.Reason)
	}
	if r.Recovered {
		buf = append(buf, recoveredMember...)
	}
	buf = text(buf, "request_id", r.RequestID)
	buf = optional(buf, "rule", r.Rule)
	buf = optional(buf, "run", r.Run)
	buf = optional(buf, "scope", r.Scope)
	if r.Session != "" {
		buf = text(buf, "session", r.Session)
	}
	hash := len(buf)
	buf = optional(buf, "step", r.Step)
	buf = optional(buf, "tenant", r.Tenant)
	if r.TornFile != "" {
		buf = append(buf, `"torn_bytes":`...)
		buf = strconv.AppendInt(buf, r.TornBytes, 10)
		buf = append(buf, ',')
		buf = member(buf, "torn_file", r.TornFile)
	}
	buf = optional(buf, "trace_id", r.TraceID)
	time := len(buf)
	buf = optional(buf, "upstream", r.Upstream)
	buf = optional(buf, "verdict", r.Verdict)
	return entry{buf[:prev:prev], buf[prev:hash:hash], buf[hash:time:time], buf[time:]}
}

const recoveredMember = `"recovered":true,`

// Body is the record as a canonical JSON object without the members that only appending knows.
// It can be kept and given to AppendRecovered after a crash.
func (r *Record) Body() []byte {
	e := r.encode()
	body := append([]byte{'{'}, e.beforePrev...)
	body = append(append(append(body, e.beforeHash...), e.beforeTime...), e.afterTime...)
	body[len(body)-1] = '}'
	return body
}

// recoveredEntry makes an entry of a body, marked as recovered.
func recoveredEntry(body []byte) (entry, error) {
	var e entry
	marked := false
	err := canon.CheckObject(body, func(key, _ []byte, start, end int) {
		part := &e.afterTime
		switch k := string(key); {
		case k < "prev_sha256":
			part = &e.beforePrev
		case k < "sha256":
			part = &e.beforeHash
			if k > "recovered" && !marked {
				*part = append(*part, recoveredMember...)
			}
			marked = marked || k >= "recovered"
		case k < "ts":
			part = &e.beforeTime
		}
		*part = append(append(*part, body[start:end]...), ',')
	})
	if err != nil {
		return entry{}, fmt.Errorf("reading a kept record: %w", err)
	}
	return e, nil
}

// appendTo appends the record's line behind prev, the hex hash of the line before, and
// returns this line's own hash. A line is hashed without its sha256 member, after prev.
func (e entry) appendTo(dst []byte, prev hash, now int64) ([]byte, hash) {
	start := len(dst)
	dst = append(append(dst, '{'), e.beforePrev...)
	dst = append(dst, `"prev_sha256":"`...)
	dst = append(dst, prev[:]...)
	dst = append(dst, `",`...)
	dst = append(dst, e.beforeHash...)
	var last [128]byte
	end := strconv.AppendInt(append(last[:0], `"ts":`...), now, 10)
	if len(e.afterTime) > 0 {
		end = append(append(end, ','), e.afterTime[:len(e.afterTime)-1]...)
	}
	end = append(end, '}')

	h := sha256.New()
	h.Write(prev[:])
	h.Write(dst[start:])
	h.Write(e.beforeTime)
	h.Write(end)
	var sum [sha256.Size]byte
	own := hexHash(h.Sum(sum[:0]))

	dst = append(dst, `"sha256":"`...)
	dst = append(dst, own[:]...)
	dst = append(dst, `",`...)
	dst = append(dst, e.beforeTime...)
	dst = append(dst, end...)
	return append(dst, '\n'), own
}

func member(buf []byte, key, value string) []byte {
	buf = append(buf, '"')
	buf = append(buf, key...)
	buf = append(buf, `":`...)
	buf = canon.AppendString(buf, value)
	return append(buf, ',')
}

func optional(buf []byte, key, value string) []byte {
	if value == "" {
		return buf
	}
	return member(buf, key, value)
}

// text is member for a caller's own text, which may be long: it is cut and so marked by a
// second member key_sha256.
func text(buf []byte, key, value string) []byte {
	if len(value) <= maxText {
		return member(buf, key, value)
	}
	buf = member(buf, key, Cut(value))
	sum := sha256.Sum256([]byte(value))
	return member(buf, key+"_sha256", hex.EncodeToString(sum[:]))
}

// Cut returns as much of a caller's text as a record holds of it.
func Cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
