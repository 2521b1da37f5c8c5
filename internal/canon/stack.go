package canon

// stack is a stack whose first elements are part of it, so that a short one needs no allocation. It must not be copied.
type stack[T any] struct {
	few  [24]T
	many []T // all elements, once there have been more than few
	n    int
}

func (s *stack[T]) push(x T) {
	if s.many == nil {
		if s.n < len(s.few) {
			s.few[s.n] = x
			s.n++
			return
		}
		s.many = append(make([]T, 0, 4*len(s.few)), s.few[:]...)
	}
	s.many = append(s.many[:s.n], x)
	s.n++
}

// from returns the elements from the i-th on, until the next push.
func (s *stack[T]) from(i int) []T {
	if s.many == nil {
		return s.few[i:s.n]
	}
	return s.many[i:s.n]
}

func (s *stack[T]) top() *T { return &s.from(s.n - 1)[0] }

// cut takes off all elements from the i-th on.
func (s *stack[T]) cut(i int) { s.n = i }
