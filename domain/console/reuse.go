package console

import (
	"time"

	"onefold/domain/operation"
)

// Reuse is a request under a key of the intent that asked for something else. It changed nothing.
type Reuse struct {
	At      time.Time
	TraceID string
	Anchor  string
	Fields  []operation.Difference // none: the first request's fields aren't kept
}

// compare finds the requests that reused a key. While the first request still ran, the journal could not know its side; now that
// it can be read, it is filled in, and what turns out to be equal is left out.
func (in *Intent) compare() {
	for i := range in.Timeline {
		e := &in.Timeline[i]
		if e.Kind != "operation.key_reused" {
			continue
		}
		if in.Root != nil && e.OperationID.UUID == in.Root.ID && in.fields != nil && e.Fact("first_unseen") != "" {
			later := map[string]string{}
			for _, d := range e.Differs {
				later[d.Field] = d.Later
			}
			e.Differs = operation.Differences(in.fields, later)
			for n := range e.Differs {
				e.Differs[n].First, e.Differs[n].Later = maskText(e.Differs[n].First), maskText(e.Differs[n].Later)
			}
		}
		in.Reuses = append(in.Reuses, Reuse{At: e.At, TraceID: e.TraceID, Anchor: e.Anchor, Fields: e.Differs})
	}
}
