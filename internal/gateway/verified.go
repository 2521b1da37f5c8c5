package gateway

import (
	"strings"

	"sallyport/internal/bridge"
	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// metaVerified is the member of a result's _meta that says whether what the call left was found to be as the rules expect:
// true or false. It is ours alone: what an upstream says under this name does not go out.
const metaVerified = "sallyport/verified"

// verdicts are how that is spelt.
var verdicts = map[gate.Checks]string{gate.Held: "true", gate.Differed: "false"}

// verified is a result with what we say of its verification in its _meta, and with nothing there that only looks like it.
// All other bytes stay; where there is nothing to say and nothing to take away the text is that of result.
func verified(result canon.Value, checks gate.Checks) []byte {
	return marked(result, verdicts[checks], 0)
}

// unverified is verified for an answer about a task, in which the result of the task's call may stand. Nothing that a task
// leaves is verified.
func unverified(result canon.Value) []byte { return marked(result, "", 2) }

// maxMarked is how many members of one object may concern us before all of them are taken away.
const maxMarked = 16

// marked is an object with that verdict, "" for none. A reader may be careless with the keys of an object, or know only one
// of several that are the same: so every member that could be taken for _meta gets it. The results in it, so deep, get none.
func marked(object canon.Value, verdict string, depth int) []byte {
	text := object.Bytes()
	if object.Kind() != canon.Object {
		return text
	}
	isMeta := func(key string) bool { return lookalike(key, "_meta") != "" }
	concerns := func(key string) bool { return isMeta(key) || depth > 0 && lookalike(key, "result", "task") != "" }
	var edits []canon.Edit
	count, there := 0, false
	for key, value := range object.Members() {
		if !concerns(key) {
			continue
		}
		if count++; count > maxMarked {
			break
		}
		there = there || key == "_meta"
		var changed []byte
		if isMeta(key) {
			changed = markedMeta(value, verdict)
		} else {
			changed = marked(value, "", depth-1)
		}
		if !same(changed, value.Bytes()) {
			edits = append(edits, canon.Edit{Old: value, New: changed})
		}
	}
	switch {
	case count > maxMarked:
		text, _ = bridge.Without(object, concerns)
		there = false
	case edits != nil:
		text = canon.Splice(text, edits...)
	}
	if verdict == "" || there {
		return text
	}
	return bridge.WithFirst(text, `"_meta":{"`+metaVerified+`":`+verdict+`}`)
}

// markedMeta is marked for what stands under _meta. What is no object says nothing that anybody could read there, and gives way
// to a verdict.
func markedMeta(meta canon.Value, verdict string) []byte {
	ours := func(key string) bool { return lookalike(key, metaVerified) != "" }
	text := meta.Bytes()
	for key := range meta.Members() {
		if ours(key) {
			text, _ = bridge.Without(meta, ours)
			break
		}
	}
	switch {
	case verdict == "":
		return text
	case meta.Kind() != canon.Object:
		text = []byte(`{}`)
	}
	return bridge.WithFirst(text, `"`+metaVerified+`":`+verdict)
}

// noticed is an upstream's notification as it goes to the client: one about a task likewise says nothing of verification.
func noticed(in wire.Incoming) (wire.Incoming, error) {
	if !strings.HasPrefix(in.Method, "notifications/tasks") {
		return in, nil
	}
	text := unverified(in.Params)
	if same(text, in.Params.Bytes()) {
		return in, nil
	}
	return wire.ScanIncoming(canon.Splice(in.Line, canon.Edit{Old: in.Params, New: text}))
}
