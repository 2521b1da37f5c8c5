package notes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/gate"
)

// A tombstone stands under a note's own name, so that there is one file for each request_id at all times: a note takes the
// name if nobody has it, and a tombstone takes the place of the note, or the name where there is none. Nothing takes the
// place of a tombstone.

// appendTombstone appends a tombstone's canonical form. digest is that of the arguments that wrote the note, "" if there was
// none. What the note said is not kept.
func appendTombstone(dst []byte, id, digest string) []byte {
	dst = append(dst, '{')
	if digest != "" {
		dst = append(canon.AppendString(append(dst, `"args_digest":`...), digest), ',')
	}
	dst = canon.AppendString(append(dst, `"erased":true,"request_id":`...), id)
	return append(dst, '}')
}

// erase closes the principal's request_id for good, durably: no note stands under it any more, and none ever will. There was
// a note, now or before an earlier erase, if had. It may be repeated, after whatever error and by several processes at once.
func (n *Notes) erase(principal, id string) (had bool, err error) {
	if err := n.fsys.IsOwnDir(n.dir); err != nil {
		return false, fmt.Errorf("looking at the notes' folder: %w", err)
	}
	found, err := n.find(principal, id)
	if err == nil && found == (standing{}) {
		err = durable.Publish(n.fsys, n.dir, fileName(principal, id), appendTombstone(nil, id, ""), n.BeforePublish)
		if !errors.Is(err, durable.ErrExists) {
			return false, err
		}
		found, err = n.find(principal, id) // somebody was quicker, and a name that is taken stays taken
	}
	if err == nil && found.digest != "" && !found.erased {
		err = n.replace(fileName(principal, id), appendTombstone(nil, id, found.digest))
	}
	return found.digest != "", err
}

// replace puts a tombstone in the place of a note: in one step, so that the name is never free.
func (n *Notes) replace(name string, tombstone []byte) error {
	temp, f, err := durable.CreateLocked(n.fsys, n.dir, ".tmp-", "") // a name that Sweep knows
	if err != nil {
		return fmt.Errorf("creating a temporary file: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteAt(tombstone, 0); err != nil {
		return errors.Join(fmt.Errorf("writing a tombstone: %w", err), n.fsys.Remove(temp))
	}
	if err := f.SyncAll(); err != nil {
		return errors.Join(fmt.Errorf("syncing a tombstone: %w", err), n.fsys.Remove(temp))
	}
	if n.BeforePublish != nil {
		if err := n.BeforePublish(); err != nil {
			return errors.Join(err, n.fsys.Remove(temp))
		}
	}
	if err := n.fsys.Rename(temp, filepath.Join(n.dir, name)); err != nil {
		n.fsys.Remove(temp) // if it is still there
		return fmt.Errorf("putting a tombstone in the place of a note: %w", err)
	}
	return n.fsys.SyncDir(n.dir)
}

// standing is what stands under a request_id: nothing, a note (with the digest of the arguments that wrote it), or a tombstone
// (with that of the note that was there, if there was one).
type standing struct {
	erased bool
	digest string
}

// find looks at what stands under the principal's request_id, and makes sure that it is durable.
func (n *Notes) find(principal, id string) (standing, error) {
	payload, there, err := n.payload(principal, id)
	if err != nil || !there {
		return standing{}, err
	}
	note, err := parse(payload)
	if err != nil {
		return standing{}, err
	}
	if note.id != id {
		return standing{}, errors.New("another request_id's note stands under this one")
	}
	if note.erased {
		return standing{erased: true, digest: note.digest}, nil
	}
	v, err := canon.Parse(payload)
	if err != nil {
		return standing{}, fmt.Errorf("damaged note: %w", err)
	}
	digest, err := v.Digest()
	return standing{digest: digest}, err
}

func (n *Notes) eraseNote() *gate.Tool {
	return &gate.Tool{
		Name:       "erase_note",
		Idempotent: true,
		Definition: []byte(`{"name":"erase_note","title":"Erase a note",` +
			`"description":"Erases the note of one request_id, and closes that request_id: nothing can be written under it any more. Repeating it is safe. Answers absent if there was no such note.",` +
			`"inputSchema":{"type":"object","properties":{` +
			`"request_id":{"type":"string","minLength":1,"description":"The request_id that the note was written with."}},` +
			`"required":["request_id"],"additionalProperties":false},` +
			`"outputSchema":{"type":"object","properties":{"request_id":{"type":"string"},` +
			`"status":{"type":"string","enum":["erased","absent"]}},` +
			`"required":["request_id","status"],"additionalProperties":false},` +
			`"annotations":{"title":"Erase a note","readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}}`),
		Check: func(args canon.Value) error { return checkNamed(args, "request_id") },
		Invoke: func(_ context.Context, p *gate.Permit) (gate.Result, error) {
			grant, err := p.Use("erase_note")
			if err != nil {
				return gate.Result{}, err
			}
			id, _ := grant.Args.Get("request_id").Text()
			had, err := n.erase(grant.Caller.Principal, id)
			if err != nil {
				return gate.Result{}, fmt.Errorf("erasing a note: %w", err)
			}
			if had {
				return structured(statusObject(id, "erased", false)), nil
			}
			return structured(statusObject(id, "absent", false)), nil
		},
	}
}
