package interlock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"
	"unicode/utf8"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

// An approval's file has two lines: a JSON object of all but the arguments, and the arguments, or nothing. So whoever only
// counts need not read what callers may have made large.
const (
	mostArgs = 64 << 10  // bytes of arguments that are kept
	mostHead = 256 << 10 // bytes of the first line
)

// errApproval says that a file is no approval, or none of the matter that it is named by.
var errApproval = errors.New("no approval can be read there; look at it, and remove the file")

// texts are the members of an approval's first line that are texts, in canonical order, each with its field.
func (p *Approval) texts() []textMember {
	return []textMember{
		{"by", &p.By}, {"digest", &p.Digest}, {"id", &p.ID}, {"key", &p.Key}, {"method", &p.Method}, {"note", &p.Note},
		{"policy", &p.Policy}, {"principal", &p.Principal}, {"reason", &p.Reason}, {"round", &p.Round}, {"rule", &p.Rule},
		{"tenant", &p.Tenant}, {"tool", &p.Tool}, {"upstream", &p.Upstream}, {"verdict", (*string)(&p.Verdict)},
	}
}

type textMember struct {
	key   string
	field *string
}

// encode spells an approval. A matter that cannot be kept as it is, is an error: another one would be agreed to.
func (p *Approval) encode() ([]byte, error) {
	m := p.Matter
	for _, part := range []string{m.Principal, m.Tenant, m.Upstream, m.Method, m.Tool, m.Digest, m.Key, m.Round, m.Policy} {
		if !utf8.ValidString(part) {
			return nil, errors.New("a name in the call is not UTF-8")
		}
	}
	b := []byte{'{'}
	for _, t := range p.texts() {
		switch t.key {
		case "digest":
			b = strconv.AppendInt(append(b, `"created":`...), p.Created, 10)
			b = append(b, ',')
		case "id":
			b = strconv.AppendInt(append(b, `"expires":`...), p.Expires, 10)
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), t.key...), `":`...)
		b = append(canon.AppendString(b, *t.field), ',')
	}
	b[len(b)-1] = '}'
	if len(b) > mostHead {
		return nil, fmt.Errorf("the names in the call are longer than %d bytes", mostHead)
	}
	b = append(b, '\n')
	if args := p.Args.Bytes(); len(args) <= mostArgs {
		b = append(b, args...)
	}
	return append(b, '\n'), nil
}

// parseApproval reads an approval, with its arguments or without.
func parseApproval(head, args []byte) (*Approval, error) {
	v, err := canon.Parse(head)
	if err != nil {
		return nil, errApproval
	}
	var p Approval
	for _, t := range p.texts() {
		text, ok := v.Get(t.key).Text()
		if !ok {
			return nil, errApproval
		}
		*t.field = text
	}
	var isCreated, expires bool
	p.Created, isCreated = v.Get("created").Int()
	p.Expires, expires = v.Get("expires").Int()
	if !isCreated || !expires || !isApprovalID(p.ID) || p.Verdict != Waiting && p.Verdict != Agreed && p.Verdict != Refused {
		return nil, errApproval
	}
	if len(args) > 0 {
		if p.Args, err = canon.Parse(args); err != nil {
			return nil, errApproval
		}
	}
	return &p, nil
}

// isApprovalID reports whether a text can be an approval's id.
func isApprovalID(id string) bool {
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(id) == 16
}

// locked runs do while no other writer is in the folder. Those of this process go one after the other, however many they are;
// another process is waited for as long as answerWait, by all of them together.
func (a *Approvals) locked(do func() error) error {
	if err := a.fsys.OwnDir(a.dir); err != nil {
		return err
	}
	came := time.Now()
	a.writing <- struct{}{}
	defer func() { <-a.writing }()
	if a.refused.After(came) {
		return durable.ErrLocked // which was waited for long enough
	}
	lock, err := durable.OpenLocked(a.fsys, filepath.Join(a.dir, approvalsLock), answerWait)
	if errors.Is(err, durable.ErrLocked) {
		a.refused = time.Now()
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	return do()
}

// list returns the names of the approvals in the folder.
func (a *Approvals) list() ([]string, error) {
	if err := a.fsys.IsOwnDir(a.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	all, err := a.fsys.Names(a.dir)
	names := all[:0]
	for _, name := range all {
		if isApprovalName(name) {
			names = append(names, name)
		}
	}
	return names, err
}

// read reads the approval of a name, nil if there is none.
func (a *Approvals) read(name string) (*Approval, error) {
	return a.readUpTo(name, mostHead+mostArgs+2, true)
}

// readHead is read without the arguments.
func (a *Approvals) readHead(name string) (*Approval, error) {
	return a.readUpTo(name, mostHead+1, false)
}

func (a *Approvals) readUpTo(name string, most int64, withArgs bool) (*Approval, error) {
	path := filepath.Join(a.dir, name)
	if err := a.fsys.IsOwnDir(a.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	text, err := readFile(a.fsys, path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	head, rest, found := bytes.Cut(text, []byte{'\n'})
	args, whole := bytes.CutSuffix(rest, []byte{'\n'})
	if !found || withArgs && !whole {
		return nil, fmt.Errorf("%s: %w", path, errApproval)
	}
	if !withArgs {
		args = nil
	}
	p, err := parseApproval(head, args)
	if err != nil || p.fileName() != name {
		return nil, fmt.Errorf("%s: %w", path, errApproval)
	}
	a.remember(p.ID, name)
	return p, nil
}

// readFile reads a file up to a size.
func readFile(fsys durable.FS, path string, most int64) ([]byte, error) {
	f, err := fsys.OpenRead(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(size, most))
	n, err := f.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return text[:n], nil
}

// write replaces the file of a name, durably. The folder's lock is held.
func (a *Approvals) write(name string, text []byte) error {
	temp, f, err := durable.CreateLocked(a.fsys, a.dir, ".tmp-", "")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.WriteAt(text, 0); err == nil {
		err = f.SyncAll()
	}
	if err == nil {
		err = a.fsys.Rename(temp, filepath.Join(a.dir, name))
	}
	if err != nil {
		return errors.Join(err, a.fsys.Remove(temp))
	}
	return a.fsys.SyncDir(a.dir)
}

// remember notes where an approval is, so that Await need not look through the folder.
func (a *Approvals) remember(id, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.names) >= 4*mostAsked {
		clear(a.names)
	}
	a.names[id] = name
}

// byID returns the approval of an id and the name of its file, nil if there is none.
func (a *Approvals) byID(id string) (string, *Approval, error) {
	if !isApprovalID(id) {
		return "", nil, nil
	}
	a.mu.Lock()
	name, known := a.names[id]
	a.mu.Unlock()
	if known { // it is never anywhere else
		p, err := a.read(name)
		if err != nil || p == nil || p.ID != id {
			return "", nil, err
		}
		return name, p, nil
	}
	names, err := a.list()
	if err != nil {
		return "", nil, err
	}
	for _, name := range names {
		if p, err := a.readHead(name); err == nil && p != nil && p.ID == id {
			if p, err = a.read(name); err != nil || p == nil || p.ID != id {
				return "", nil, err // it changed this moment
			}
			return name, p, nil
		}
	}
	return "", nil, nil
}
