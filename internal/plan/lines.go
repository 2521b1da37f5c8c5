package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"sallyport/internal/canon"
)

// seal spells a line of a journal behind the one whose sum is prev, newline included, and returns its own sum.
func seal(dst []byte, members object, prev string) ([]byte, string) {
	members["prev"] = quoted(prev)
	delete(members, "sum")
	sum := sha256.Sum256(members.bytes())
	own := hex.EncodeToString(sum[:])
	members["sum"] = quoted(own)
	return append(append(dst, members.bytes()...), '\n'), own
}

var errLine = errors.New("the journal of the run is damaged")

// unseal checks a line, without its newline, and returns its sum. Where prev is nil anything may be before it.
func unseal(prev *string, line []byte) (string, error) {
	var before, own []byte
	var from, to int
	err := canon.CheckObject(line, func(key, value []byte, start, end int) {
		switch string(key) {
		case "prev":
			before = value
		case "sum":
			own, from, to = value, start, end
		}
	})
	if err != nil || own == nil || before == nil || prev != nil && string(before) != string(quoted(*prev)) {
		return "", errLine
	}
	if to < len(line) && line[to] == ',' {
		to++
	} else if from > 0 && line[from-1] == ',' {
		from--
	}
	hash := sha256.New()
	hash.Write(line[:from])
	hash.Write(line[to:])
	sum := hex.EncodeToString(hash.Sum(nil))
	if string(own) != string(quoted(sum)) {
		return "", errLine
	}
	return sum, nil
}

// header is the first line of a journal.
type header struct {
	run, plan, name   string
	principal, tenant string
	text              []byte    // of the plan
	begun             time.Time // of one that was read: when it was written
}

func (h *header) members(now time.Time) object {
	return object{
		"what": quoted("begin"), "ts": number(now.UnixNano()), "version": number(1),
		"run": quoted(h.run), "plan": quoted(h.plan), "name": word(h.name),
		"principal": quoted(h.principal), "tenant": word(h.tenant), "text": h.text,
	}
}

func readHeader(line []byte) (h header, err error) {
	first := ""
	if _, err := unseal(&first, line); err != nil {
		return h, err
	}
	v, err := canon.Parse(line)
	if err != nil {
		return h, errLine
	}
	if n, _ := v.Get("version").Int(); textOf(v, "what") != "begin" || n != 1 {
		return h, fmt.Errorf("%w: its first line is none that this release writes", errLine)
	}
	return header{
		run: textOf(v, "run"), plan: textOf(v, "plan"), name: textOf(v, "name"),
		principal: textOf(v, "principal"), tenant: textOf(v, "tenant"), text: v.Get("text").Bytes(), begun: timeIn(v),
	}, nil
}

// timeIn is when a line was written, the zero time where it does not say.
func timeIn(v canon.Value) time.Time {
	ts, ok := v.Get("ts").Int()
	if !ok {
		return time.Time{}
	}
	return time.Unix(0, ts)
}

func textOf(v canon.Value, key string) string {
	text, _ := v.Get(key).Text()
	return text
}

var progressWords = map[progress]string{answered: "ok", failed: "failed", lost: "lost", nothing: "nothing"}

var endWords = map[End]string{Continued: Continue, RolledBack: Rollback}

const abandonedWord = "ABANDONED"

// members spells a fact that belongs into a journal.
func (f *fact) members(p *Plan, now time.Time) object {
	o := object{"ts": number(now.UnixNano()), "reason": word(f.reason)}
	undo := ""
	if f.undo {
		undo = "undo-"
	}
	if f.step >= 0 && f.step < len(p.steps) && f.what != resumed && f.what != ended {
		o["step"] = quoted(p.steps[f.step].id)
	}
	switch f.what {
	case resumed:
		o["what"] = quoted("resume")
	case intention:
		o["what"], o["args"], o["key"], o["again"] = quoted(undo+"intend"), f.args.Bytes(), word(f.key), yes(f.again)
	case outcome:
		o["what"], o["how"], o["result"] = quoted(undo+"outcome"), quoted(progressWords[f.how]), f.result.Bytes()
		o["args"], o["differs"] = f.args.Bytes(), yes(f.differs)
	case decision:
		o["what"], o["verdict"] = quoted("decide"), quoted(f.verdict)
		o["expected"], o["observed"], o["observation"] = word(f.expected), word(f.observed), f.observation.Bytes()
	case settled:
		o["what"], o["expected"], o["observed"] = quoted("undone"), word(f.expected), word(f.observed)
	case surrender:
		o["what"], o["interrupted"] = quoted("undo-stop"), yes(f.interrupted)
	case ended:
		o["what"], o["end"] = quoted("end"), quoted(endWords[f.end])
		if f.abandoned {
			o["end"] = quoted(abandonedWord)
		}
	}
	return o
}

// readFact reads a line behind the first.
func readFact(p *Plan, line []byte) (fact, error) {
	v, err := canon.Parse(line)
	if err != nil {
		return fact{}, errLine
	}
	f := fact{step: -1, reason: textOf(v, "reason"), expected: textOf(v, "expected"), observed: textOf(v, "observed")}
	if id := textOf(v, "step"); id != "" {
		for i := range p.steps {
			if p.steps[i].id == id {
				f.step = i
			}
		}
		if f.step < 0 {
			return f, fmt.Errorf("%w: the plan has no step %q", errLine, clip(id, maxID))
		}
	}
	switch what := textOf(v, "what"); what {
	case "resume":
		f.what = resumed
	case "intend", "undo-intend":
		f.what, f.undo, f.args, f.key = intention, what != "intend", v.Get("args"), textOf(v, "key")
		f.again, _ = v.Get("again").Bool()
	case "outcome", "undo-outcome":
		f.what, f.undo, f.args, f.result = outcome, what != "outcome", v.Get("args"), v.Get("result")
		f.how = progressOf(textOf(v, "how"))
		f.differs, _ = v.Get("differs").Bool()
	case "decide":
		f.what, f.verdict, f.observation = decision, textOf(v, "verdict"), v.Get("observation")
	case "undone":
		f.what, f.undo = settled, true
	case "undo-stop":
		f.what, f.undo = surrender, true
		f.interrupted, _ = v.Get("interrupted").Bool()
	case "end":
		f.what = ended
		f.end, f.abandoned = endOf(textOf(v, "end"))
	default:
		return f, fmt.Errorf("%w: a line that says %q is none that this release writes", errLine, clip(what, maxID))
	}
	return f, nil
}

func progressOf(word string) progress {
	for p, w := range progressWords {
		if w == word {
			return p
		}
	}
	return unbegun
}

func endOf(word string) (end End, abandoned bool) {
	for e, w := range endWords {
		if w == word {
			return e, false
		}
	}
	return Stopped, word == abandonedWord
}
