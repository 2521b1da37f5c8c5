//go:build !linux

package durable

func (f osFile) StartSync() (wait func() error) { return goSync(f) }
