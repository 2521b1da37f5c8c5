package pretool

import (
	"io/fs"

	"sallyport/internal/canon"
)

// Ask asks one of the nine questions without a gate.
func (c *Checks) Ask(tool string, args canon.Value) ([]byte, error) {
	for _, q := range c.questions() {
		if q.name == tool {
			if err := q.check(args); err != nil {
				return nil, err
			}
			return q.answer(args).bytes(), nil
		}
	}
	panic("no tool " + tool)
}

// ReadSpy makes the sessions tell of each file that they read.
func (s *Sessions) ReadSpy(tell func(name string)) { s.disk = spy{s.disk, tell} }

type spy struct {
	disk
	tell func(name string)
}

func (s spy) read(name string) ([]byte, fs.FileInfo, error) {
	s.tell(name)
	return s.disk.read(name)
}
