package simulator

// schedule is a heap by time, then by number.
type schedule []delivery

func (h schedule) Len() int { return len(h) }
func (h schedule) Less(i, j int) bool {
	if h[i].NextAt.Equal(h[j].NextAt) {
		return h[i].Number < h[j].Number
	}
	return h[i].NextAt.Before(h[j].NextAt)
}
func (h schedule) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *schedule) Push(x any) {
	if d, ok := x.(delivery); ok {
		*h = append(*h, d)
	}
}

func (h *schedule) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
